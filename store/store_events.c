/* store_events: what has happened in a run, as its log has it; and whether that is all. */
#include "store_private.h"

#include <inttypes.h>
#include <stdlib.h>

/* One stream entry [id, [name, bytes]] as the event with its number. */
static const struct value *
event(struct arena *arena, const struct value *entry)
{
	const char *id = redis_reply_text(value_at(entry, 0));
	const struct value *body = store_decode(arena, value_at(value_at(entry, 1), 1));

	if (id == NULL || !value_is(body, VALUE_MAP))
		return NULL;
	return value_map_with(
	    arena, body, "seq", value_int(arena, strtoll(id, NULL, 10)));
}

/* Begins to read at most limit of them. */
static void
ask(struct command *command, unsigned limit)
{
	command_text(command, "XREAD");
	command_text(command, "COUNT");
	command_uint(command, limit);
}

/* Reads those of the run of that key with seq > after. */
static enum store_status
read_events(struct store *store, struct command *command, const char *key, uint64_t after,
    const struct value **events_r)
{
	struct arena *arena = command->arena;
	struct value_list list = { .arena = arena };
	const struct value *reply, *entries;
	enum store_status status;
	size_t i;

	command_text(command, "STREAMS");
	command_text(command, arena_printf(arena, "%s:e", key));
	command_text(command, arena_printf(arena, "%" PRIu64 "-0", after));
	status = store_read(store, command, &reply);
	if (status != STORE_OK)
		return status;
	entries = value_at(value_at(value_at(reply, 0), 1), 0) != NULL
		      ? value_at(value_at(reply, 0), 1)
		      : NULL;
	for (i = 0; i < value_size(entries); i++) {
		const struct value *one = event(arena, value_at(entries, i));

		if (one != NULL)
			value_list_add(&list, one);
	}
	*events_r = value_list_end(&list);
	return STORE_OK;
}

enum store_status
store_events(struct store *store, struct arena *arena, const char *thread,
    const char *run, uint64_t after, uint64_t block_ms, const struct value **events_r)
{
	struct command command = { .arena = arena };

	ask(&command, STORE_EVENTS_MAX);
	if (block_ms > 0) {
		command_text(&command, "BLOCK");
		command_uint(&command, block_ms);
	}
	return read_events(
	    store, &command, store_run_key(arena, thread, run), after, events_r);
}

enum store_status
store_some_events(struct store *store, struct arena *arena, const char *thread,
    const char *run, uint64_t after, unsigned limit, const struct value **events_r)
{
	struct command command = { .arena = arena };

	ask(&command, limit);
	return read_events(
	    store, &command, store_run_key(arena, thread, run), after, events_r);
}

enum store_status
store_last_event(struct store *store, struct arena *arena, const char *thread,
    const char *run, uint64_t *seq_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	const char *id;
	enum store_status status;

	command_text(&command, "XREVRANGE");
	command_text(
	    &command, arena_printf(arena, "%s:e", store_run_key(arena, thread, run)));
	command_text(&command, "+");
	command_text(&command, "-");
	command_text(&command, "COUNT");
	command_text(&command, "1");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	id = redis_reply_text(value_at(value_at(reply, 0), 0));
	*seq_r = id != NULL ? strtoull(id, NULL, 10) : 0;
	return STORE_OK;
}

enum store_status
store_has_ended(struct store *store, struct arena *arena, const char *thread,
    const char *run, bool *ended_r, bool *queued_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "HMGET");
	command_text(&command, store_run_key(arena, thread, run));
	command_text(&command, "status");
	command_text(&command, "ended");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	*ended_r = !value_is_nil(value_at(reply, 1));
	*queued_r = store_answers(reply, "queued");
	return value_is_nil(value_at(reply, 0)) ? STORE_NONE : STORE_OK;
}
