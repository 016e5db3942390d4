/* run_wait: a run's outcome, when it has one: the answer begins at once, with a line break now and then, so that nobody on
 * the way takes the connection for dead. */
#include "blueprint.h"
#include "json.h"
#include "runs.h"
#include "shape.h"

#define BEAT_MS 5000u

static int
beat(void *arg)
{
	struct exchange *exchange = arg;

	return exchange_write(exchange, "\n", 1);
}

/* The state that the run has left, with what it asks, or {__error__}. */
static const struct value *
outcome(struct call *call, const char *thread, const struct value *last)
{
	struct arena *arena = call->arena;
	const struct value *error = value_get(last, "error"), *state, *values = NULL;

	if (value_is(error, VALUE_MAP))
		return value_map(arena, "__error__",
		    value_map(arena, "error", value_get(error, "type"), "message",
			value_get(error, "message"), NULL),
		    NULL);
	if (blueprint_thread(call->api, arena, thread, &state, &values) != STORE_OK)
		return value_map(arena, "__error__",
		    value_map(arena, "error", value_str(arena, "ConnectionError"),
			"message", value_str(arena, store_error(api_store(call->api))),
			NULL),
		    NULL);
	if (value_text_is(value_get(last, "status"), "interrupted"))
		values = value_map_with(arena, values, "__interrupt__",
		    shape_interrupts(arena, value_get(state, "asks")));
	return values;
}

/* Returns whether the run has ended. */
static bool
wait_and_write(struct call *call, const char *thread, struct feed *feed)
{
	struct packet packet = { 0 };
	const struct value *last;

	exchange_stream(call->exchange, 200, "application/json");
	last = feed_end(feed, call->arena, BEAT_MS, beat, call->exchange);
	if (last != NULL) {
		json_write(&packet, outcome(call, thread, last));
		exchange_write(call->exchange, packet.data, packet.size);
		packet_release(&packet);
	}
	return last != NULL;
}

void
call_run_wait(struct call *call)
{
	struct run_begun begun;
	bool has_ended;

	if (!runs_begin(call, call->body, false, &begun))
		return;
	runs_say_where(call, &begun);
	has_ended = wait_and_write(call, begun.thread, begun.feed);
	feed_destroy(&begun.feed);
	runs_leave(call, &begun, has_ended);
}

void
call_run_join(struct call *call)
{
	struct run_begun begun = { .thread = call->params[0], .run = call->params[1] };
	bool has_ended;

	if (runs_find(call) == NULL)
		return;
	begun.body.cancels_on_disconnect = call_flag(call, "cancel_on_disconnect");
	begun.feed = feed_new(call->api, begun.thread, begun.run, 0, false);
	has_ended = wait_and_write(call, begun.thread, begun.feed);
	feed_destroy(&begun.feed);
	runs_leave(call, &begun, has_ended);
}
