/* store_chores: what is to be done in a shard besides its runs. */
#include "store_private.h"

#include <string.h>

static void
begin(struct command *command, const char *function, unsigned shard)
{
	command_function(command, function,
	    arena_printf(command->arena, "%sdue", store_prefix(command->arena, shard)),
	    shard);
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
		.gone = store_number_at(reply, 4) > 0,
		.crons = store_number_at(reply, 5) > 0,
		.damaged = store_text_at(reply, 6) };
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
		*names_r = store_texts(arena, reply);
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
    const struct value *usual, const struct value **threads_r)
{
	return ask_shard(store, arena, "fl_expire", shard, limit,
	    usual != NULL ? value_array(arena, &usual, 1) : NULL, threads_r);
}

/* --- what forgotten runs have left elsewhere -------------------------------------------- */

/* A run of fl_gone's answer; or a child of one, of which only run, note and lives are there, and run is ">run". */
struct gone {
	const char *run, *note;
	const char *entry, *thread; /* of the note; entry "": none */
	const char *lives;          /* "1": its id is in use again, on thread now */
	const char *now;
};

/* "1700000000000-0" */
static bool
is_entry(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || text[digits] != '-')
		return false;
	text += digits + 1;
	digits = strspn(text, "0123456789");
	return digits > 0 && text[digits] == '\0';
}

/* False: the answer is none of ours. */
static bool
read_gone(struct arena *arena, const struct value *one, struct gone *gone)
{
	const char *space;

	*gone = (struct gone){ .run = store_text_at(one, 0),
		.note = store_text_at(one, 1),
		.lives = store_text_at(one, 2),
		.now = store_text_at(one, 3) };
	if (gone->run == NULL || gone->note == NULL || gone->lives == NULL ||
	    gone->now == NULL)
		return false;
	space = strchr(gone->note, ' ');
	gone->thread = space != NULL ? space + 1 : "";
	gone->entry = space != NULL ? arena_printf(arena, "%.*s",
					  (int)(space - gone->note), gone->note)
				    : "";
	if (!is_entry(gone->entry))
		gone->entry = "";
	return true;
}

/* It has no record: who was to submit it died when it had its name, or it was forgotten before. Nobody else has one of
 * its kind; should somebody take it now all the same, it is his. */
static enum store_status
unname_child(struct store *store, struct arena *arena, const struct gone *gone)
{
	const struct value *record;
	const char *run = gone->run + 1, *other;
	enum store_status status = store_unbind_run(store, arena, run, gone->note);

	if (status == STORE_OK)
		status = store_run(store, arena, gone->note, run, &record);
	return status == STORE_OK ? store_bind_run(store, arena, run, gone->note, &other)
				  : status;
}

/* The thread of a child that a forgotten run had for a task goes with it. *is_done_r: false: it is not free now. */
static enum store_status
erase_child(
    struct store *store, struct arena *arena, const struct gone *gone, bool *is_done_r)
{
	const struct value *record;
	struct store_pruned pruned;
	enum store_status status =
	    store_run(store, arena, gone->note, gone->run + 1, &record);

	*is_done_r = true;
	if (status == STORE_OK && value_has(record, "task"))
		status = store_erase(store, arena, gone->note, true, &pruned);
	else if (status == STORE_NONE)
		status = unname_child(store, arena, gone);
	if (status == STORE_BUSY || status == STORE_STALE)
		*is_done_r = false;
	return status == STORE_FAILED ? status : STORE_OK;
}

/* Their entries in the inbox, if whoever moved them died before he could delete them: moved again
 * they would be new runs. */
static enum store_status
delete_entries(
    struct store *store, struct arena *arena, const struct gone *all, size_t count)
{
	static const char *const verbs[2][3] = { { "XDEL", STORE_INBOX, NULL },
		{ "XACK", STORE_INBOX, STORE_INBOX_GROUP } };
	enum store_status status = STORE_OK;
	size_t verb, i;

	for (verb = 0; verb < 2 && status == STORE_OK; verb++) {
		struct command command = { .arena = arena };
		const struct value *reply;
		size_t begun;

		for (i = 0; i < 3 && verbs[verb][i] != NULL; i++)
			command_text(&command, verbs[verb][i]);
		begun = command.count;
		for (i = 0; i < count; i++)
			if (*all[i].entry != '\0')
				command_text(&command, all[i].entry);
		if (command.count > begun)
			status = store_read(store, &command, &reply);
	}
	return status;
}

/* The string that names its thread goes; that of a run that lives again stays, or comes back. One that is damaged is
 * no name, and stays. */
static enum store_status
settle(struct store *store, struct arena *arena, const struct gone *gone, bool *is_done_r)
{
	const char *other;
	enum store_status status;

	*is_done_r = true;
	if (*gone->run == '>')
		return erase_child(store, arena, gone, is_done_r);
	if (strcmp(gone->lives, "1") != 0)
		status = store_unbind_run(store, arena, gone->run, gone->thread);
	else
		status = store_bind_run(store, arena, gone->run, gone->now, &other);
	return status == STORE_KNOWN || status == STORE_DAMAGED ? STORE_OK : status;
}

static enum store_status
strike_out(struct store *store, struct arena *arena, unsigned shard,
    const struct gone *all, size_t count)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	size_t i;

	begin(&command, "fl_gone", shard);
	command_uint(&command, 0);
	for (i = 0; i < count; i++) {
		command_text(&command, all[i].run);
		command_text(&command, all[i].note);
		command_text(&command, all[i].lives);
	}
	return store_read(store, &command, &reply);
}

enum store_status
store_forget_gone(
    struct store *store, struct arena *arena, unsigned shard, unsigned limit)
{
	struct command command = { .arena = arena };
	struct gone *all = arena_alloc(arena, (limit + 1) * sizeof *all);
	const struct value *reply;
	enum store_status status;
	size_t count = 0, done = 0, i;
	bool is_done;

	begin(&command, "fl_gone", shard);
	command_uint(&command, limit);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	for (i = 0; i < value_size(reply) && count < limit; i++)
		if (read_gone(arena, value_at(reply, i), &all[count]))
			count++;
	status = delete_entries(store, arena, all, count);
	for (i = 0; i < count && status == STORE_OK; i++) {
		status = settle(store, arena, &all[i], &is_done);
		if (is_done)
			all[done++] = all[i];
	}
	/* Whose state has changed meanwhile is left for the next time: its name may have gone though
	 * it lives. */
	if (status == STORE_OK && done > 0)
		status = strike_out(store, arena, shard, all, done);
	return status;
}
