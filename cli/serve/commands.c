/* commands: LangGraph's thread protocol: what a client asks of a thread, as one call; what happens there it hears by
 * thread_stream.c. */
#include <string.h>

#include "assistant_find.h"
#include "blueprint.h"
#include "runs.h"
#include "shape.h"
#include "store_past.h"

static void
succeed(struct call *call, const struct value *result)
{
	reply(call, 200,
	    value_map(call->arena, "type", value_str(call->arena, "success"), "id",
		value_get(call->body, "id"), "result", result, "meta",
		value_map(call->arena, "thread_id",
		    value_str(call->arena, call->params[0]), NULL),
		NULL));
}

static void
fail(struct call *call, const char *code, const char *message)
{
	reply(call, 200,
	    value_map(call->arena, "type", value_str(call->arena, "error"), "id",
		value_get(call->body, "id"), "error", value_str(call->arena, code),
		"message", value_str(call->arena, message), NULL));
}

/* Begins what body, as of a run's creation, asks for, and answers with result or the run's id. */
static void
begin(struct call *call, const struct value *body, const struct value *result)
{
	struct arena *arena = call->arena;
	struct run_begun begun;

	body = value_map_merge(arena, body,
	    value_map(arena, "if_not_exists", value_str(arena, "create"), "stream_mode",
		value_str(arena, "messages-tuple"), NULL));
	if (!runs_begin(call, body, FEED_END, &begun))
		return;
	feed_destroy(&begun.feed);
	succeed(call, result != NULL ? result
				     : value_map(arena, "run_id",
					   value_str(arena, begun.run), NULL));
}

static void
start_run(struct call *call, const struct value *params)
{
	const struct value *fork = value_get(params, "forkFrom");
	const struct value *strategy = value_get(params, "multitask_strategy");

	if (value_is_nil(strategy))
		strategy = value_get(params, "multitaskStrategy");
	if (value_get_text(params, "assistant_id") == NULL) {
		fail(call, "invalid_argument", "run.start requires an assistant_id.");
		return;
	}
	begin(call,
	    value_map(call->arena, "assistant_id", value_get(params, "assistant_id"),
		"input", value_get(params, "input"), "config",
		value_get(params, "config"), "context", value_get(params, "context"),
		"metadata", value_get(params, "metadata"), "multitask_strategy", strategy,
		"checkpoint_id",
		value_is(fork, VALUE_MAP) ? value_get(fork, "checkpoint_id") : fork,
		NULL),
	    NULL);
}

/* {id: answer} of one answer or of several. */
static const struct value *
answers_of(struct arena *arena, const struct value *params)
{
	const struct value *list = value_get(params, "responses");
	const struct value *one = value_array_add(arena, value_empty_array(), params);
	struct value_fields answers = { .arena = arena };
	size_t i;

	list = value_is(list, VALUE_ARRAY) ? list : one;
	for (i = 0; i < value_size(list); i++) {
		const char *id = value_get_text(value_at(list, i), "interrupt_id");
		const struct value *answer = value_get(value_at(list, i), "response");

		if (id != NULL)
			value_fields_set(
			    &answers, id, answer != NULL ? answer : value_nil());
	}
	return value_fields_end(&answers);
}

/* Who is to go on with the thread of head: the assistant that it is of; where that was deleted, or has another agent now, the agent
 * that asks. */
static const struct value *
assistant_of(struct call *call, const struct value *head)
{
	const char *id = value_get_text(head, "assistant");
	struct assistant assistant = { 0 };
	enum store_status status = STORE_NONE;

	if (id != NULL)
		status = assistant_find(call, call->arena, id, &assistant);
	return status == STORE_NONE ||
		       (status == STORE_OK &&
			   !value_text_is(value_get(head, "agent"), assistant.agent))
		   ? value_get(head, "agent")
		   : value_get(head, "assistant");
}

static void
respond(struct call *call, const struct value *params)
{
	struct arena *arena = call->arena;
	const struct value *answers = answers_of(arena, params), *head = NULL;
	enum store_status status =
	    store_head(api_store(call->api), arena, call->params[0], &head);

	if (status != STORE_OK && status != STORE_NONE)
		reply_failed(call, status, "such thread");
	else if (value_size(answers) == 0)
		fail(call, "invalid_argument",
		    "input.respond requires interrupt_id and response.");
	else if (!value_text_is(value_get(head, "status"), "interrupted"))
		fail(call, "no_such_run", "Nothing waits for an answer on this thread.");
	else
		begin(call,
		    value_map(arena, "assistant_id", assistant_of(call, head), "command",
			value_map(arena, "resume", answers, NULL), "config",
			value_get(params, "config"), "metadata",
			value_get(params, "metadata"), NULL),
		    value_empty_map());
}

static void
get_state(struct call *call, const struct value *params)
{
	struct arena *arena = call->arena;
	const struct value *thread, *values, *last = NULL;
	enum store_status status =
	    blueprint_thread(call, arena, call->params[0], NULL, &thread, &values);

	(void)params;
	if (status == STORE_OK)
		status =
		    store_standing(api_store(call->api), arena, call->params[0], &last);
	if (status != STORE_OK && status != STORE_NONE) {
		reply_failed(call, status, "such thread");
		return;
	}
	succeed(call,
	    value_map(arena, "values", last != NULL ? values : value_empty_map(),
		"checkpoint",
		last == NULL ? value_nil()
			     : value_map(arena, "id",
				   value_get(shape_checkpoint(arena, call->params[0],
						 value_get_int(last, "version", 0)),
				       "checkpoint_id"),
				   "ns", value_str(arena, ""), NULL),
		NULL));
}

static const struct {
	const char *name;
	void (*run)(struct call *call, const struct value *params);
} methods[] = {
	{ "run.start", start_run },
	{ "input.respond", respond },
	{ "state.get", get_state },
};

void
call_thread_command(struct call *call)
{
	const char *method = value_get_text(call->body, "method");
	const struct value *params = value_get(call->body, "params");
	size_t i;

	if (method == NULL || value_is_nil(value_get(call->body, "id"))) {
		reply_error(call, 422, "id and method: are missing");
		return;
	}
	for (i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i].name, method) == 0) {
			methods[i].run(call, params);
			return;
		}
	fail(call, "unknown_command",
	    "run.start, input.respond and state.get are known here.");
}
