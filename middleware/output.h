/* output: structured output (semantics.md, section 5): a response_format in its one form, the
 * request that is sent under it, and what becomes of the model's answer.
 *
 * The one form: {strategy: auto|tool|provider, schemas: [JSON Schema], handle_errors,
 * tool_message_content?, strict?}; each schema is an object's and has the title that is its
 * output tool's name. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "model_request.h"

/* What a title may be, beside what every response_format asks: returns why not, or NULL. */
struct output_titles {
	const char *(*flaw)(void *arg, const char *strategy, const struct value *title);
	void *arg;
};

/* Returns given (the one form, {strategy, schema | schemas, ...}, or a JSON Schema, which
 * stands for {schema: it}) in its one form; NULL with *path_r (JSON pointer below given) and
 * *error_r. titles may be NULL. All in arena. */
const struct value *output_format(struct arena *arena, const struct value *given,
    const struct output_titles *titles, const char **path_r, const char **error_r);

/* True for a response_format that is the provider's own ({type: json_schema, ...}): it goes
 * out as it is and nothing is read from the answer. */
bool output_is_own(const struct value *format);

/* The schema of that title, or NULL. */
const struct value *output_schema(const struct value *format, const char *title);

/* Returns request as it goes to the provider under its response_format, whose strategy is
 * then `tool` (with the output tools among its tools, one of which must be called) or
 * `provider`; request itself when it has none. NULL with *fault_r: the format is none, or
 * has output tools that the agent has not declared. */
struct model_request *output_request(
    struct model_request *request, const struct fault **fault_r);

/* Returns what the answer to sent, which output_request gave, is: with its
 * structured_response, with messages that tell the model what was wrong, or failed. */
struct model_response *output_response(
    struct model_request *sent, struct model_response *response);

#endif
