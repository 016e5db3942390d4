/* Structured output around one call of a model. */
#include "output.h"

#include <string.h>

#include "chain_link.h"
#include "json.h"
#include "model_profile.h"
#include "schema.h"

#define INVALID "StructuredOutputValidationError"
#define MULTIPLE "MultipleStructuredOutputsError"

static bool
has_strategy(const struct value *format, const char *strategy)
{
	return value_text_is(value_get(format, "strategy"), strategy);
}

/* --- the strategy ------------------------------------------------------------------- */

/* What the agent says of its own model comes before what the worker knows. */
static bool
gives_structured_output(const struct model_request *request)
{
	const struct model_run *run = request->run;
	const struct value *own = value_get(run->profile, "model_profile");
	bool with_tools = value_size(request->tools) > 0;

	if (value_has(own, "structured_output") && request->model != NULL &&
	    value_text_is(value_get(run->profile, "model"), request->model))
		return model_profile_gives_output(own, with_tools);
	return run->backend->gives_structured_output != NULL && request->model != NULL &&
	       run->backend->gives_structured_output(
		   run->backend->arg, request->model, with_tools);
}

/* A provider takes one schema: a union is for tools. */
static const struct value *
decided(const struct model_request *request, const struct value *format)
{
	bool provider;

	if (!has_strategy(format, "auto"))
		return format;
	provider = value_size(value_get(format, "schemas")) == 1 &&
		   gives_structured_output(request);
	return value_map_with(request->run->arena, format, "strategy",
	    value_str(request->run->arena, provider ? "provider" : "tool"));
}

/* --- the request -------------------------------------------------------------------- */

static const struct value *
titles_of(struct arena *arena, const struct value *format)
{
	const struct value *schemas = value_get(format, "schemas");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(schemas); i++)
		value_list_add(&list, value_get(value_at(schemas, i), "title"));
	return value_list_end(&list);
}

static const struct fault *
refusal(struct arena *arena, const char *text)
{
	struct fault *fault = fault_new(arena, "ValueError", "%s", text);

	fault->retryable = false;
	fault->fatal = true;
	return fault;
}

/* The agent's own format, if it has output tools; of a hook's own call as the hook wrote it. */
static const struct value *
declared_format(const struct model_run *run)
{
	const struct value *given = value_get(run->profile, "response_format");
	const struct value *format = NULL;
	const char *path, *error;

	if (!value_is_nil(given) && !output_is_own(given))
		format = output_format(run->arena, given, NULL, &path, &error);
	return has_strategy(format, "provider") ? NULL : format;
}

/* The way out of the loop knows the output tools that the agent has declared. */
static const struct fault *
undeclared(const struct model_request *request, const struct value *format)
{
	struct arena *arena = request->run->arena;
	const struct value *declared = declared_format(request->run);
	const struct value *titles = titles_of(arena, format);
	struct value_list unknown = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(titles); i++) {
		const struct value *title = value_at(titles, i);

		if (output_schema(declared, title->text) == NULL)
			value_list_add(&unknown, title);
	}
	if (unknown.count == 0)
		return NULL;
	return refusal(arena,
	    arena_printf(arena,
		"a request's response_format has output tools that the agent's has not: "
		"%s (it has: %s). Declare their schemas in the agent's response_format",
		chain_join(arena, value_list_end(&unknown)),
		declared == NULL ? "none"
				 : chain_join(arena, titles_of(arena, declared))));
}

static const struct value *
output_tool(struct arena *arena, const struct value *schema)
{
	const struct value *title = value_get(schema, "title");
	const struct value *text = value_get(schema, "description");
	const struct value *parameters = value_map_with(
	    arena, value_map_with(arena, schema, "title", NULL), "description", NULL);

	if (!value_has(parameters, "type"))
		parameters =
		    value_map_with(arena, parameters, "type", value_str(arena, "object"));
	return value_map(arena, "name", title, "description",
	    value_is(text, VALUE_STR) ? text : value_str(arena, ""), "parameters",
	    parameters, NULL);
}

static struct model_request *
with_output_tools(struct model_request *request, const struct value *schemas)
{
	struct arena *arena = request->run->arena;
	struct value_list tools = { .arena = arena };
	size_t i;

	value_list_add_all(&tools, request->tools);
	for (i = 0; i < value_size(schemas); i++)
		value_list_add(&tools, output_tool(arena, value_at(schemas, i)));
	request->tools = value_list_end(&tools);
	request->tool_choice = value_str(arena, "any");
	return request;
}

struct model_request *
output_request(struct model_request *request, const struct fault **fault_r)
{
	struct arena *arena = request->run->arena;
	const struct value *format = request->response_format;
	struct model_request *sent;
	const char *path, *error;

	if (value_is_nil(format) || output_is_own(format))
		return request;
	format = output_format(arena, format, NULL, &path, &error);
	if (format == NULL) {
		*fault_r = refusal(
		    arena, arena_printf(arena, "response_format%s: %s", path, error));
		return NULL;
	}
	format = decided(request, format);
	sent = model_request_for(request, request->use);
	sent->response_format = format;
	if (!has_strategy(format, "tool"))
		return sent;
	/* A call that a middleware makes by itself is no part of the loop. */
	*fault_r = request->use == NULL ? undeclared(request, format) : NULL;
	if (*fault_r != NULL)
		return NULL;
	return with_output_tools(sent, value_get(format, "schemas"));
}

/* --- the answer of a model that was given output tools ------------------------------ */

/* An answer under judgement. */
struct answer {
	struct arena *arena;
	const struct value *format;
	const struct value *ai;
	struct value_list calls; /* of output tools */
};

static const struct value *
last_ai(const struct model_response *response)
{
	long last = chat_last_ai(response->messages);

	return last == -1 ? NULL : value_at(response->messages, (size_t)last);
}

static void
gather(struct answer *answer, const char *key)
{
	const struct value *calls = value_get(answer->ai, key);
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		if (output_schema(answer->format,
			value_get_text(value_at(calls, i), "name")) != NULL)
			value_list_add(&answer->calls, value_at(calls, i));
	}
}

/* Why the calls are no structured response, or NULL. */
static const struct fault *
flaw_of(const struct answer *answer)
{
	const struct value *call = answer->calls.items[0],
			   *args = value_get(call, "args");
	const char *name = value_get_text(call, "name"), *reason = NULL;
	struct value_list names = { .arena = answer->arena };
	size_t i;

	if (answer->calls.count > 1) {
		for (i = 0; i < answer->calls.count; i++)
			value_list_add(&names, value_get(answer->calls.items[i], "name"));
		return fault_new(answer->arena, MULTIPLE,
		    "Model incorrectly returned multiple structured responses (%s) when "
		    "only one is expected.",
		    chain_join(answer->arena, value_list_end(&names)));
	}
	if (!value_is(args, VALUE_MAP))
		reason = "the arguments are not valid JSON";
	else if (schema_check(answer->arena, output_schema(answer->format, name), args,
		     &reason) == 0)
		return NULL;
	return fault_new(answer->arena, INVALID,
	    "Failed to parse structured output for tool '%s': %s.", name, reason);
}

/* The text that tells the model what was wrong, or NULL: the run is to fail. */
static const char *
told(const struct answer *answer, const struct fault *flaw)
{
	const struct value *handle = value_get(answer->format, "handle_errors");

	if (value_is(handle, VALUE_STR))
		return handle->text;
	if (value_is(handle, VALUE_BOOL) && !handle->boolean)
		return NULL;
	if (value_is(handle, VALUE_ARRAY) && !fault_matches(flaw, handle))
		return NULL;
	return arena_printf(
	    answer->arena, "Error: %s\nPlease fix your mistakes.", flaw->message);
}

/* messages with one more for each call of an output tool behind them. */
static const struct value *
answered(const struct answer *answer, const struct value *messages, const char *text,
    const char *status)
{
	struct value_list list = { .arena = answer->arena };
	size_t i;

	value_list_add_all(&list, messages);
	for (i = 0; i < answer->calls.count; i++) {
		const struct value *call = answer->calls.items[i];

		value_list_add(
		    &list, chat_tool(answer->arena, text, value_get_text(call, "id"),
			       value_get_text(call, "name"), status));
	}
	return value_list_end(&list);
}

static struct model_response *
judge_calls(struct answer *answer, struct model_response *response)
{
	const struct value *content = value_get(answer->format, "tool_message_content");
	const struct value *value;
	const struct fault *flaw;
	const char *text;

	answer->calls.arena = answer->arena;
	gather(answer, "tool_calls");
	/* A malformed one beside others is answered as any malformed call. */
	if (answer->calls.count == 0)
		gather(answer, "invalid_tool_calls");
	if (answer->calls.count == 0)
		return response;
	flaw = flaw_of(answer);
	if (flaw != NULL) {
		text = told(answer, flaw);
		if (text == NULL)
			return model_response_failed(answer->arena, flaw);
		response->messages = answered(answer, response->messages, text, "error");
		return response;
	}
	value = value_get(answer->calls.items[0], "args");
	text = value_is(content, VALUE_STR) && content->size > 0
		   ? content->text
		   : arena_printf(answer->arena, "Returning structured response: %s",
			 json_text(answer->arena, value));
	response->messages = answered(answer, response->messages, text, "success");
	response->structured_response = value;
	return response;
}

/* --- the answer of a provider that was asked for JSON ------------------------------- */

/* What else an answer may say about why it is none. */
static const char *
excuse(struct arena *arena, const struct value *ai)
{
	const char *refused =
	    value_get_text(value_get(ai, "additional_kwargs"), "refusal");
	const struct value *metadata = value_get(ai, "response_metadata");
	const struct value *details = value_get(metadata, "incomplete_details");

	if (refused != NULL)
		return arena_printf(arena, "; the model refused: %s", refused);
	if (value_text_is(value_get(metadata, "stop_reason"), "refusal"))
		return "; the model refused";
	if (value_text_is(value_get(metadata, "finish_reason"), "length") ||
	    value_text_is(value_get(metadata, "stop_reason"), "max_tokens") ||
	    value_text_is(value_get(metadata, "stopReason"), "max_tokens") ||
	    value_text_is(value_get(details, "reason"), "max_output_tokens"))
		return "; the answer was cut off at its greatest length";
	return "";
}

static struct model_response *
judge_text(struct answer *answer, struct model_response *response)
{
	struct arena *arena = answer->arena;
	const struct value *schema = value_at(value_get(answer->format, "schemas"), 0);
	const char *text = chat_text(arena, answer->ai), *reason = NULL;
	const struct value *value;

	if (value_size(value_get(answer->ai, "tool_calls")) > 0 ||
	    value_size(value_get(answer->ai, "invalid_tool_calls")) > 0)
		return response;
	value = json_parse(arena, text, strlen(text), &reason);
	if (value != NULL && !value_is(value, VALUE_MAP))
		reason = "it is not a JSON object";
	else if (value == NULL)
		reason = arena_printf(arena, "it is not JSON: %s", reason);
	else
		schema_check(arena, schema, value, &reason);
	if (reason != NULL)
		return model_response_failed(arena,
		    fault_new(arena, INVALID,
			"Failed to parse structured output for '%s' from the model's "
			"answer: %s%s.",
			value_get_text(schema, "title"), reason,
			excuse(arena, answer->ai)));
	response->structured_response = value;
	return response;
}

struct model_response *
output_response(struct model_request *sent, struct model_response *response)
{
	struct answer answer = { .arena = sent->run->arena,
		.format = sent->response_format,
		.ai = last_ai(response) };

	if (value_is_nil(answer.format) || output_is_own(answer.format) ||
	    answer.ai == NULL)
		return response;
	return has_strategy(answer.format, "tool") ? judge_calls(&answer, response)
						   : judge_text(&answer, response);
}
