/* store_lease: what an owner asks of a whole shard: to renew its lease, and what somebody should claim; and whether a run of it is
 * wanted ended. */
#include "store_private.h"

bool
store_cancel_wanted(
    struct store *store, struct arena *arena, const char *thread, const char *run)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_text(&command, "HEXISTS");
	command_text(&command, store_run_key(arena, thread, run));
	command_text(&command, "cancelling");
	return store_read(store, &command, &reply) == STORE_OK &&
	       value_is(reply, VALUE_INT) && reply->integer == 1;
}

static enum store_status
call_shard(struct store *store, struct command *command, const struct value **texts_r)
{
	const struct value *reply;
	enum store_status status = store_send(store, command, &reply, NULL);

	if (status == STORE_OK)
		*texts_r = store_texts(command->arena, reply);
	return status;
}

enum store_status
store_renew(struct store *store, struct arena *arena, unsigned shard, uint64_t lease_ms,
    struct store_renewed *renewed_r)
{
	struct command command = { .arena = arena };
	const struct value *words;
	enum store_status status;

	command_function(&command, "fl_renew",
	    arena_printf(arena, "%sdue", store_prefix(arena, shard)), shard);
	command_text(&command, store->session);
	command_uint(&command, lease_ms);
	status = call_shard(store, &command, &words);
	if (status != STORE_OK)
		return status;
	renewed_r->lapsed = value_text_is(value_at(words, 0), "LAPSED");
	renewed_r->cancels = value_array_slice(arena, words, 1, value_size(words));
	return STORE_OK;
}

enum store_status
store_sweep(struct store *store, struct arena *arena, unsigned shard, unsigned limit,
    const struct value **threads_r)
{
	struct command command = { .arena = arena };

	command_function(&command, "fl_sweep",
	    arena_printf(arena, "%sdue", store_prefix(arena, shard)), shard);
	command_text(&command, store->session);
	command_uint(&command, limit);
	return call_shard(store, &command, threads_r);
}
