/* models: what this process knows of models, by their names: a table of ours (models.def), and in
 * front of it that of a user's file:
 *
 *	"gpt-4o*": {structured_output: true}
 *	"local:*": {max_input_tokens: 32768, cost: {input: 0.1, output: 0.2}}
 *
 * A pattern is a shell's (*, ?, [...]), without regard to case. With a colon it is compared
 * with "provider:name"; without, with the name behind its last slash ("openai/gpt-4o" is a
 * gateway's gpt-4o; "ft:gpt-4o:org" is one as well). Each key of a profile (model_profile.h) is
 * that of the first row of the file that fits and has it; what none has is that of the first row
 * of ours that fits.
 *
 * Coordinators, model workers and the command line read the file of their --models, at start-up.
 * What a middleware was told when the coordinator loaded its spec travels with its settings
 * (middleware_use.models), so that workers see the same. */
#ifndef MODELS_H
#define MODELS_H

#include "value.h"

/* Reads file (YAML or JSON; NULL: none) instead of the one before. Returns 0, or -1 with
 * "file:line:column: reason" in *error_r, in arena, and nothing changed. */
int models_load(const char *file, struct arena *arena, const char **error_r);
/* Forgets the file: for leak-clean exits. */
void models_unload(void);

/* Returns the profile of model ("provider:name") in arena: a map, empty when nothing is known. */
const struct value *models_profile(struct arena *arena, const char *model);

#endif
