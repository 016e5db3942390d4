/* store_submit: how runs come: submitted, refused; or somebody wants one cancelled. */
#include "store_private.h"

#include <string.h>

#define REFUSED_KEPT "10000"
#define DEALT_MS 0u /* only on a connection that is up: behind it may be another Redis */

static const char *
name_key(struct arena *arena, const char *run)
{
	return arena_printf(arena, "fl:run:%s", run);
}

enum redis_status
store_add_entry(struct store *store, struct arena *arena, const struct value *fields,
    uint64_t ms, const struct value **said_r)
{
	uint64_t now_us = loop_now_us(), until_us = now_us + ms * 1000;
	struct command command = { .arena = arena };
	enum redis_status status;

	command_text(&command, "XADD");
	command_text(&command, STORE_INBOX);
	command_text(&command, "*");
	command_fields(&command, fields);
	do {
		status = redis_call(store->redis, arena, (until_us - now_us) / 1000,
		    command.args, command.count, said_r);
		now_us = loop_now_us();
	} while (status == REDIS_LOST && now_us < until_us);
	return status;
}

enum store_status
store_bind(struct store *store, struct arena *arena, const char *run, const char *thread,
    const char **other_r, bool *is_new_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	*is_new_r = false;
	command_text(&command, "SET");
	command_text(&command, name_key(arena, run));
	command_text(&command, thread);
	command_text(&command, "NX");
	command_text(&command, "GET");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	*is_new_r = value_is_nil(reply);
	if (*is_new_r)
		return STORE_OK;
	if (redis_reply_text(reply) == NULL)
		return store_odd(store, reply);
	if (strcmp(redis_reply_text(reply), thread) == 0)
		return STORE_OK;
	*other_r = redis_reply_text(reply);
	return STORE_KNOWN;
}

enum store_status
store_bind_run(struct store *store, struct arena *arena, const char *run,
    const char *thread, const char **other_r)
{
	bool is_new;

	return store_bind(store, arena, run, thread, other_r, &is_new);
}

enum store_status
store_unbind_run(
    struct store *store, struct arena *arena, const char *run, const char *thread)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_function(
	    &command, "fl_unname", name_key(arena, run), store_shard(thread));
	command_text(&command, thread);
	return store_read(store, &command, &reply);
}

enum store_status
store_run_thread(
    struct store *store, struct arena *arena, const char *run, const char **thread_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "GET");
	command_text(&command, name_key(arena, run));
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (value_is_nil(reply))
		return STORE_NONE;
	if (redis_reply_text(reply) == NULL)
		return store_odd(store, reply);
	*thread_r = redis_reply_text(reply);
	return STORE_OK;
}

void
command_arrival(struct command *command, const struct store_newcomer *comer)
{
	struct arena *arena = command->arena;

	command_text(command, "FCALL");
	command_text(command, "fl_arrive");
	command_text(command, "3");
	command_text(command, store_thread_key(arena, comer->thread));
	command_text(command, name_key(arena, comer->run));
	command_text(command, STORE_AGENTS);
	command_text(command, store_prefix(arena, store_shard(comer->thread)));
}

enum store_status
store_submitted(struct store *store, const struct value *reply)
{
	const char *reason;

	if (value_is(reply, VALUE_INT) || store_answers(reply, "DELAYED"))
		return STORE_OK;
	if (store_answers(reply, "KNOWN"))
		return STORE_KNOWN;
	if (store_answers(reply, "FORGOTTEN"))
		return STORE_NONE;
	if (store_answers(reply, "OUTDATED")) {
		store_fail(store, "its agent is being changed");
		return STORE_OUTDATED;
	}
	reason = store_text_at(reply, 1);
	if (store_answers(reply, "TAKEN") && reason != NULL) {
		store_fail(store, "%s", reason);
		return STORE_TAKEN;
	}
	if (!store_answers(reply, "REJECTED"))
		return store_odd(store, reply);
	store_fail(store, "%s", reason != NULL ? reason : "the thread is busy");
	return STORE_REJECTED;
}

/* above: the key of another one's record, to which it belongs; or NULL. */
static enum store_status
submit(struct store *store, struct arena *arena, const char *above, const char *thread,
    const char *run, const struct value *fields, int64_t *before_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "FCALL");
	command_text(&command, "fl_submit");
	command_text(&command, above != NULL ? "2" : "1");
	command_text(&command, store_thread_key(arena, thread));
	if (above != NULL)
		command_text(&command, above);
	command_text(&command, store_prefix(arena, store_shard(thread)));
	command_text(&command, thread);
	command_text(&command, run);
	command_fields(&command, fields);
	status = store_read(store, &command, &reply);
	if (status == STORE_OK && store_answers(reply, "LATE"))
		return STORE_FENCED;
	if (status == STORE_OK)
		status = store_submitted(store, reply);
	if (status == STORE_OK)
		*before_r = value_is(reply, VALUE_INT) ? reply->integer : 0;
	return status;
}

enum store_status
store_submit(struct store *store, struct arena *arena, const char *thread,
    const char *run, const struct value *fields, int64_t *before_r)
{
	return submit(store, arena, NULL, thread, run, fields, before_r);
}

enum store_status
store_submit_child(struct store *store, struct arena *arena, const char *parent_thread,
    const char *parent, const char *thread, const char *run, const struct value *fields)
{
	int64_t before;

	return submit(store, arena, store_run_key(arena, parent_thread, parent), thread,
	    run, fields, &before);
}

enum store_status
store_refuse(struct store *store, struct arena *arena, const char *thread,
    const char *run, const char *type, const char *reason, const struct value *fields)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_function(
	    &command, "fl_refuse", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, thread);
	command_text(&command, run);
	command_text(&command, type);
	command_text(&command, reason);
	command_fields(&command, fields);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK || store_answers(reply, "REFUSED"))
		return status;
	if (store_answers(reply, "FORGOTTEN"))
		return STORE_NONE;
	return store_answers(reply, "KNOWN") ? STORE_KNOWN : store_odd(store, reply);
}

enum store_status
store_keep_refused(
    struct store *store, struct arena *arena, const struct store_refusal *refusal)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_text(&command, "XADD");
	command_text(&command, STORE_REFUSED);
	command_text(&command, "MAXLEN");
	command_text(&command, "~");
	command_text(&command, REFUSED_KEPT);
	command_text(&command, "*");
	command_text(&command, "entry");
	command_text(&command, refusal->entry);
	command_text(&command, "run");
	command_text(&command, refusal->run);
	command_text(&command, "reason");
	command_text(&command, refusal->reason);
	command_text(&command, "agent");
	command_raw(&command, refusal->agent);
	command_text(&command, "input");
	command_raw(&command, refusal->input);
	return store_send(store, &command, &reply, NULL);
}

static void
command_inbox(struct command *command, const char *function)
{
	command_text(command, "FCALL");
	command_text(command, function);
	command_text(command, "1");
	command_text(command, STORE_INBOX);
	command_text(command, STORE_INBOX_GROUP);
}

enum store_status
store_tidy_inbox(
    struct store *store, struct arena *arena, const char *name, uint64_t idle_ms)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_inbox(&command, "fl_tidy");
	command_uint(&command, idle_ms);
	command_text(&command, name);
	return store_read(store, &command, &reply);
}

enum store_status
store_inbox_dealt(struct store *store, struct arena *arena,
    const struct value *const *ids, size_t count)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	size_t i;

	command_inbox(&command, "fl_dealt");
	for (i = 0; i < count; i++)
		command_text(&command, redis_reply_text(ids[i]));
	return redis_call(store_redis(store), arena, DEALT_MS, command.args,
		   command.count, &reply) == REDIS_OK
		   ? STORE_OK
		   : STORE_FAILED;
}

enum store_status
store_has_entry(struct store *store, struct arena *arena, const char *entry)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "XRANGE");
	command_text(&command, STORE_INBOX);
	command_text(&command, entry != NULL ? entry : "-");
	command_text(&command, entry != NULL ? entry : "+");
	command_text(&command, "COUNT");
	command_text(&command, "1");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	return value_size(reply) > 0 ? STORE_OK : STORE_NONE;
}

/* The newest entry before that id, as Redis answers XREVRANGE; before: "+", or "(" and an id. */
static enum store_status
read_entry(struct store *store, struct arena *arena, const char *before,
    const struct value **entry_r)
{
	const char *const words[] = { "XREVRANGE", STORE_INBOX, before, "-", "COUNT",
		"1" };
	struct command command = { .arena = arena };
	const struct value *entries = NULL;
	enum store_status status;
	size_t i;

	for (i = 0; i < sizeof words / sizeof *words; i++)
		command_text(&command, words[i]);
	status = store_read(store, &command, &entries);
	*entry_r = value_at(entries, 0);
	return status == STORE_OK && *entry_r == NULL ? STORE_NONE : status;
}

/* Who looks for the entry of one of runs, from the newest on; thread: only one that is for that, or NULL. */
struct inbox_search {
	const char *const *runs;
	size_t count;
	const char *thread, *before;
	size_t bytes; /* of inputs that were looked at */
	bool is_found;
};

static const char *
field_of(struct arena *arena, const struct value *fields, const char *name)
{
	const char *text = redis_reply_text(value_get(fields, name));

	return text != NULL ? arena_strdup(arena, text) : "";
}

static bool
is_sought(const struct inbox_search *search, const struct store_untaken *entry)
{
	size_t i;

	if (search->thread != NULL && strcmp(entry->thread, search->thread) != 0)
		return false;
	for (i = 0; i < search->count; i++)
		if (strcmp(entry->run, search->runs[i]) == 0)
			return true;
	return false;
}

/* Looks at the next one. What it holds besides may be large, and is not kept. */
static enum store_status
look_at_entry(struct store *store, struct arena *arena, struct inbox_search *search,
    struct store_untaken *untaken_r)
{
	struct arena *scratch = arena_new();
	const struct value *entry, *fields;
	enum store_status status = read_entry(store, scratch, search->before, &entry);

	if (status == STORE_OK) {
		fields = store_pairs(scratch, value_at(entry, 1), false);
		search->before = arena_printf(arena, "(%s", store_text_at(entry, 0));
		search->bytes += value_size(value_get(fields, "input"));
		untaken_r->run = field_of(arena, fields, "run");
		untaken_r->thread = field_of(arena, fields, "thread");
		untaken_r->agent = field_of(arena, fields, "agent");
		untaken_r->assistant = field_of(arena, fields, "assistant");
		search->is_found = is_sought(search, untaken_r);
	}
	arena_destroy(&scratch);
	return status;
}

static enum store_status
search_inbox(struct store *store, struct arena *arena, struct inbox_search *search,
    struct store_untaken *untaken_r)
{
	enum store_status status = STORE_OK;
	unsigned looks;

	search->before = "+";
	for (looks = 0; looks < INBOX_LOOKS_MAX && search->bytes < INPUT_BYTES_MAX;
	     looks++) {
		status = look_at_entry(store, arena, search, untaken_r);
		if (status != STORE_OK || search->is_found)
			return status;
	}
	return STORE_NONE;
}

enum store_status
store_inbox_find(struct store *store, struct arena *arena, const char *run,
    struct store_untaken *untaken_r)
{
	struct inbox_search search = { .runs = &run, .count = 1 };

	return search_inbox(store, arena, &search, untaken_r);
}

enum store_status
store_inbox_find_any(struct store *store, struct arena *arena, const char *thread,
    const char *const *runs, size_t count, struct store_untaken *untaken_r)
{
	struct inbox_search search = { .runs = runs, .count = count, .thread = thread };

	return search_inbox(store, arena, &search, untaken_r);
}

enum store_status
store_inbox_ahead(struct store *store, struct arena *arena, const char *const *own,
    size_t count, const struct value **ahead_r)
{
	struct command command = { .arena = arena };
	size_t i;

	command_inbox(&command, "fl_ahead");
	for (i = 0; i < count; i++)
		command_text(&command, own[i]);
	return store_read(store, &command, ahead_r);
}

static enum store_status
cancel(struct store *store, struct arena *arena, const char *thread, const char *run,
    const char *how, const char **answer_r, const char **status_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_function(
	    &command, "fl_cancel", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, thread);
	command_text(&command, run);
	if (how != NULL)
		command_text(&command, how);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	*answer_r = store_text_at(reply, 0);
	if (*answer_r == NULL || strlen(*answer_r) == 0)
		return store_odd(store, reply);
	*status_r = store_text_at(reply, 1);
	return STORE_OK;
}

enum store_status
store_cancel(struct store *store, struct arena *arena, const char *thread,
    const char *run, const char **answer_r, const char **status_r)
{
	return cancel(store, arena, thread, run, NULL, answer_r, status_r);
}

enum store_status
store_cancel_back(struct store *store, struct arena *arena, const char *thread,
    const char *run, const char **answer_r, const char **status_r)
{
	return cancel(store, arena, thread, run, "rollback", answer_r, status_r);
}
