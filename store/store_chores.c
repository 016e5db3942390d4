/* store_chores: what is to be done in a shard besides its runs. */
#include "store_private.h"

static void
begin(struct command *command, const char *function, unsigned shard)
{
	command_function(command, function,
	    arena_printf(command->arena, "%sdue", store_prefix(command->arena, shard)),
	    shard);
}

/* The texts of an answer. */
static const struct value *
texts_of(struct arena *arena, const struct value *reply)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(reply); i++)
		if (store_text_at(reply, i) != NULL)
			value_list_add(&list, value_str(arena, store_text_at(reply, i)));
	return value_list_end(&list);
}

enum store_status
store_chores(struct store *store, struct arena *arena, unsigned shard,
    struct store_chores *chores_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	begin(&command, "fl_chores", shard);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	*chores_r = (struct store_chores){ .orphans = store_number_at(reply, 0) > 0,
		.webhooks = store_number_at(reply, 1) > 0,
		.items = store_number_at(reply, 2) > 0,
		.threads = store_number_at(reply, 3) > 0,
		.gone = store_number_at(reply, 4) > 0 };
	return STORE_OK;
}

static enum store_status
ask_shard(struct store *store, struct arena *arena, const char *function, unsigned shard,
    unsigned limit, const struct value *done, const struct value **names_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	begin(&command, function, shard);
	command_uint(&command, limit);
	for (i = 0; i < value_size(done); i++)
		command_raw(&command, value_at(done, i));
	status = store_read(store, &command, &reply);
	if (status == STORE_OK)
		*names_r = texts_of(arena, reply);
	return status;
}

enum store_status
store_orphans(struct store *store, struct arena *arena, unsigned shard, unsigned limit,
    const struct value *done, const struct value **runs_r)
{
	return ask_shard(store, arena, "fl_orphans", shard, limit, done, runs_r);
}

enum store_status
store_expire(struct store *store, struct arena *arena, unsigned shard, unsigned limit,
    const struct value **threads_r)
{
	return ask_shard(store, arena, "fl_expire", shard, limit, NULL, threads_r);
}

enum store_status
store_forget_gone(
    struct store *store, struct arena *arena, unsigned shard, unsigned limit)
{
	const struct value *runs = value_empty_array(), *reply;
	enum store_status status =
	    ask_shard(store, arena, "fl_gone", shard, limit, NULL, &runs);
	size_t i;

	for (i = 0; i < value_size(runs) && status == STORE_OK; i++) {
		struct command command = { .arena = arena };

		command_text(&command, "DEL");
		command_text(&command,
		    arena_printf(arena, "fl:run:%s", value_text(value_at(runs, i))));
		status = store_read(store, &command, &reply);
	}
	if (status == STORE_OK && value_size(runs) > 0)
		status = ask_shard(store, arena, "fl_gone", shard, 0, runs, &runs);
	return status;
}
