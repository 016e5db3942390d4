/* store_webhooks: the ends of runs that somebody wants to be told. */
#include "store_webhooks.h"

#include "store_private.h"

static const char *
hooks_key(struct arena *arena, unsigned shard)
{
	return arena_printf(arena, "%shooks", store_prefix(arena, shard));
}

enum store_status
store_take_webhooks(struct store *store, struct arena *arena, unsigned shard,
    uint64_t lease_ms, unsigned limit, const struct value **taken_r)
{
	struct command command = { .arena = arena };

	command_function(&command, "fl_hooks_take", hooks_key(arena, shard), shard);
	command_uint(&command, lease_ms);
	command_uint(&command, limit);
	return store_send(store, &command, taken_r, NULL);
}

enum store_status
store_end_webhook(struct store *store, struct arena *arena, const struct store_told *told,
    uint64_t *seq_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_function(
	    &command, "fl_hooks_end", hooks_key(arena, told->shard), told->shard);
	command_text(&command, told->run);
	command_uint(&command, told->attempt);
	command_text(&command, told->outcome);
	command_uint(&command, told->wait_ms);
	command_text(&command, told->text);
	command_uint(&command, told->waited_ms);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (store_answers(reply, "GONE"))
		return STORE_NONE;
	if (!store_answers(reply, "OK"))
		return store_odd(store, reply);
	*seq_r = (uint64_t)store_number_at(reply, 1);
	return STORE_OK;
}
