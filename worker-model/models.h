/* models: what models are known to do, by their names: a table of ours (models.def), and in
 * front of it the one of a user's file:
 *
 *	"gpt-4o*": {structured_output: true}
 *	"local:*": {structured_output: true, except_with_tools: true}
 *
 * A pattern is a shell's (*, ?, [...]), without regard to case. With a colon it is compared
 * with "provider:name"; without, with the name behind its last slash ("openai/gpt-4o" is a
 * gateway's gpt-4o; "ft:gpt-4o:org" is one as well). The first that fits counts. */
#ifndef MODELS_H
#define MODELS_H

#include "value.h"

struct models {
	struct arena *arena;
	const struct value
	    *given; /* {pattern: profile} of the file, in its order, or NULL */
};

/* file: a YAML or JSON file, or NULL. Returns 0, or -1 with "file:line:column: reason" in
 * *error_r, in arena. */
int models_init(
    struct models *models_r, const char *file, struct arena *arena, const char **error_r);
void models_release(struct models *models);

/* True when model ("provider:name") gives structured output by itself, with_tools: in a
 * request that offers tools. */
bool models_give_output(const struct models *models, const char *model, bool with_tools);

#endif
