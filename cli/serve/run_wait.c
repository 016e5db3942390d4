/* run_wait: a run's outcome, when it has one: the answer begins at once, with a line break now and then, so that nobody on
 * the way takes the connection for dead. */
#include "blueprint.h"
#include "json.h"
#include "runs.h"
#include "shape.h"

static int
beat(void *arg)
{
	struct exchange *exchange = arg;

	return exchange_write(exchange, "\n", 1);
}

static const struct value *
failed(struct call *call, const char *type, const char *message)
{
	struct arena *arena = call->arena;

	return value_map(arena, "__error__",
	    value_map(arena, "error", value_str(arena, type), "message",
		value_str(arena, message), NULL),
	    NULL);
}

/* The same of what Redis did not say. */
static const struct value *
not_read(struct call *call, enum store_status status)
{
	return status == STORE_NONE
		   ? failed(call, "NotFoundError", "the run was deleted meanwhile")
		   : failed(call, "ConnectionError", reply_trouble(call, status));
}

/* The state that the run has left, with what it asks, or {__error__}. *is_told_r: that is not of what Redis did not say. */
static const struct value *
outcome(struct call *call, const struct run_begun *begun, const struct value *last,
    bool *is_told_r)
{
	struct arena *arena = call->arena;
	const struct value *error = value_get(last, "error"), *state, *values = NULL;
	enum store_status status;

	*is_told_r = true;
	if (value_is(error, VALUE_MAP))
		return value_map(arena, "__error__",
		    value_map(arena, "error", value_get(error, "type"), "message",
			value_get(error, "message"), NULL),
		    NULL);
	status =
	    blueprint_thread(call, arena, begun->thread, begun->run, &state, &values);
	*is_told_r = status == STORE_OK;
	if (status != STORE_OK)
		return not_read(call, status);
	if (value_text_is(value_get(last, "status"), "interrupted"))
		values = value_map_with(arena, values, "__interrupt__",
		    shape_interrupts(arena, value_get(state, "asks")));
	return values;
}

const struct value *
runs_await_end(struct call *call, const struct run_begun *begun)
{
	/* Else a proxy keeps the beat's lines to itself, and takes the connection for dead. */
	exchange_add_header(call->exchange, "X-Accel-Buffering", "no");
	exchange_stream(call->exchange, 200, "application/json");
	return feed_end(begun->feed, call->arena, BEAT_MS, beat, call->exchange);
}

const struct value *
runs_await(struct call *call, const struct run_begun *begun, bool *has_ended_r)
{
	const struct value *last = runs_await_end(call, begun);
	enum store_status status = feed_status(begun->feed);

	*has_ended_r = false;
	if (last != NULL)
		return outcome(call, begun, last, has_ended_r);
	return status != STORE_OK && status != STORE_CANCELLED ? not_read(call, status)
							       : NULL;
}

int
runs_write(struct call *call, const struct value *value)
{
	struct packet packet = { 0 };
	int written;

	json_write(&packet, value);
	written = exchange_write(call->exchange, packet.data, packet.size);
	packet_release(&packet);
	return written;
}

/* Waits for its end, and lets it go. A client whose connection breaks may ask on where Location says, as LangGraph's for
 * Python does by itself. */
static void
wait_for(struct call *call, struct run_begun *begun)
{
	bool has_ended;
	const struct value *said;

	exchange_add_header(call->exchange, "Location",
	    arena_printf(call->arena, "/threads/%s/runs/%s/join",
		runs_segment(call->arena, begun->thread),
		runs_segment(call->arena, begun->run)));
	said = runs_await(call, begun, &has_ended);
	/* Who comes back finds its end. */
	if (said != NULL && runs_write(call, said) == -1)
		has_ended = false;
	feed_destroy(&begun->feed);
	runs_leave(call, begun, has_ended);
}

void
call_run_wait(struct call *call)
{
	struct run_begun begun;

	if (!runs_begin(call, call->body, FEED_END, &begun))
		return;
	runs_say_where(call, &begun);
	wait_for(call, &begun);
}

void
call_run_join(struct call *call)
{
	struct run_begun begun = { 0 };
	const struct value *record = runs_find(call);

	if (record == NULL)
		return;
	begun.thread = call->params[0];
	begun.run = call->params[1];
	begun.body.cancels_on_disconnect = call_flag(call, "cancel_on_disconnect");
	begun.feed = feed_new(call, begun.thread, begun.run, 0, FEED_END);
	feed_was_there(begun.feed, record);
	wait_for(call, &begun);
}
