/* store_children: runs that belong to a run, and end with it. */
#include "store_private.h"

/* The thread is looked for before the run: the other way round, both may come in between. */
enum store_status
store_first_run(struct store *store, struct arena *arena, const char *run,
    const struct value **record_r)
{
	enum store_status status = store_has_thread(store, arena, run);

	if (status != STORE_OK)
		return status;
	status = store_run(store, arena, run, run, record_r);
	return status == STORE_NONE ? STORE_KNOWN : status;
}

enum store_status
store_adopt(struct store *store, struct arena *arena, const char *parent_thread,
    const char *parent, const char *child, const char *child_thread, bool *late_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_function(&command, "fl_adopt", store_thread_key(arena, parent_thread),
	    store_shard(parent_thread));
	command_text(&command, parent);
	command_text(&command, child);
	command_text(&command, child_thread);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (store_answers(reply, "UNKNOWN"))
		return STORE_NONE;
	*late_r = store_answers(reply, "LATE");
	return *late_r || store_answers(reply, "OK") ? STORE_OK : store_odd(store, reply);
}

enum store_status
store_children(struct store *store, struct arena *arena, const char *thread,
    const char *run, const struct value **children_r)
{
	struct command command = { .arena = arena };
	struct value_fields children = { .arena = arena };
	const struct value *reply, *pairs;
	enum store_status status;
	size_t i;

	command_text(&command, "HGETALL");
	command_text(
	    &command, arena_printf(arena, "%s:k", store_run_key(arena, thread, run)));
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	pairs = store_pairs(arena, reply, false);
	for (i = 0; i < value_size(pairs); i++)
		value_fields_set(&children, pairs->pairs[i].key->text,
		    value_str(arena, redis_reply_text(pairs->pairs[i].value)));
	*children_r = value_fields_end(&children);
	return STORE_OK;
}
