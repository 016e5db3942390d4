#include "entry.h"

#include "store_runs.h"

bool
entry_add(struct call *call, const struct value *fields, struct feed *feed)
{
	struct store *store = api_store(call->api);
	const struct value *said = NULL;
	enum redis_status status =
	    store_add_entry(store, call->arena, fields, call->api->redis_wait_ms, &said);

	if (status == REDIS_ERROR)
		reply_error(call, 503, "not submitted: %s%s", redis_reply_text(said),
		    session_remedy(redis_reply_text(said)));
	else if (status != REDIS_OK)
		reply_error(call, 503, "not submitted, as far as can be told: %s",
		    redis_trouble(store_redis(store)));
	else
		feed_expect(feed, redis_reply_text(said));
	return status == REDIS_OK;
}

static void
reply_refused(struct call *call, const struct value *finished)
{
	const struct value *error = value_get(finished, "error");
	const char *message = value_get_text(error, "message");

	reply_error(call,
	    value_text_is(value_get(error, "type"), "ThreadBusyError") ? 409 : 422, "%s",
	    message != NULL ? message : "the run was refused");
}

bool
entry_was_taken(struct call *call, struct feed *feed)
{
	const struct value *event = NULL;
	int found = feed_next(feed, call->arena, ENTRY_TAKEN_MS, &event);

	/* It is in the inbox also when we end, or Redis has gone: who asks again would begin another one. */
	if (found == -1 &&
	    (feed_status(feed) == STORE_NONE || exchange_is_gone(call->exchange))) {
		reply_failed(call, feed_status(feed), "run");
		return false;
	}
	if (found == 1 && value_text_is(value_get(event, "kind"), "finished") &&
	    value_text_is(value_get(event, "status"), "refused")) {
		reply_refused(call, event);
		return false;
	}
	return true;
}

bool
entry_do(struct call *call, const struct run_entry *entry)
{
	struct feed *feed = feed_new(call, entry->thread, entry->run, 0, FEED_END);
	const struct value *last = NULL, *error;

	if (entry_add(call, entry->fields, feed) && entry_was_taken(call, feed)) {
		last = feed_end(feed, call->arena, ENTRY_TAKEN_MS, NULL, NULL);
		error = value_get(last, "error");
		if (last == NULL)
			reply_failed(call, feed_status(feed), "run");
		else if (!value_text_is(value_get(last, "status"), "success"))
			reply_error(call, 422, "%s",
			    value_get_text(error, "message") != NULL
				? value_get_text(error, "message")
				: "that was not done");
	}
	feed_destroy(&feed);
	return !exchange_is_answered(call->exchange);
}
