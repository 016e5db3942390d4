#include "crons.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "schedule.h"
#include "service.h"
#include "store_private.h"
#include "submission.h"
#include "wire.h"

#define CRON_THREAD_TTL_MS "3600000" /* an hour, for who wants to see how it went */

/* --- pure ----------------------------------------------------------------------------- */

bool
cron_is_id(const char *id)
{
	return strlen(id) <= CRON_ID_BYTES_MAX && wire_is_run_id(id);
}

int
cron_next(struct arena *arena, const struct cron *cron, int64_t after_ms, int64_t *next_r,
    const char **error_r)
{
	const struct zone *zone = NULL;
	struct schedule schedule;
	int64_t next;

	if (schedule_parse(arena, cron->schedule, &schedule, error_r) == -1 ||
	    (cron->timezone != NULL &&
		zone_open(arena, cron->timezone, &zone, error_r) == -1))
		return -1;
	next = cron->is_paused ? CRON_NEVER : schedule_next(&schedule, zone, after_ms);
	*next_r = cron->end_ms > 0 && next > cron->end_ms ? CRON_NEVER : next;
	return 0;
}

const char *
cron_run_id(struct arena *arena, const char *id, int64_t at_ms)
{
	time_t seconds = (time_t)(at_ms / 1000);
	char text[32] = "";
	struct tm when;

	if (gmtime_r(&seconds, &when) != NULL)
		strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &when);
	return arena_printf(arena, "%s-%s", id, text);
}

const struct value *
cron_entry(struct arena *arena, const struct cron *cron, const struct value *fields)
{
	const struct value *metadata = NULL, *ttl = NULL;
	const char *text = value_get_text(fields, "metadata"), *error;

	if (text != NULL)
		metadata = json_parse(arena, text, strlen(text), &error);
	metadata = value_map_with(arena, metadata, "cron_id", value_str(arena, cron->id));
	if (cron->thread == NULL && !cron->keeps && !value_has(fields, "ttl_ms"))
		ttl = value_map(arena, "ttl_ms", VALUE_TEXT(CRON_THREAD_TTL_MS),
		    "ttl_action", VALUE_TEXT("delete"), NULL);
	return value_map_merge(arena,
	    value_map_with(
		arena, fields, "metadata", value_str(arena, json_text(arena, metadata))),
	    ttl);
}

const char *
cron_wrong(struct arena *arena, const struct cron *cron)
{
	const char *run = cron_run_id(arena, cron->id, 0);
	const char *thread = cron->thread != NULL ? cron->thread : run;
	struct submission submission;

	submission_read(arena, "0-0",
	    value_map_merge(arena, cron->entry,
		value_map(arena, "run", value_str(arena, run), "thread",
		    value_str(arena, thread), NULL)),
	    &submission);
	return submission.error;
}

const char *
cron_last_thread(const struct cron *cron)
{
	return cron->last_run != NULL && cron->thread != NULL ? cron->thread
							      : cron->last_run;
}

/* --- reading -------------------------------------------------------------------------- */

/* A text of what HMGET answered, NULL for none and for "". */
static const char *
text_at(const struct value *fields, size_t index)
{
	const char *text = store_text_at(fields, index);

	return text != NULL && *text != '\0' ? text : NULL;
}

static int64_t
number_at(const struct value *fields, size_t index)
{
	const char *text = text_at(fields, index);

	return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* A score is "inf", or what command_time wrote. */
static int64_t
time_of(double score)
{
	return score >= 0 && score <= (double)AT_MS_MAX && (double)(int64_t)score == score
		   ? (int64_t)score
		   : CRON_NEVER;
}

/* Reads what stands in answer from index first on: cron, when it is due, its fields in the order of CRON_FIELDS
 * (crons.lua). Returns false when it is none of ours. */
static bool
read_cron(
    struct arena *arena, const struct value *answer, size_t first, struct cron *cron)
{
	const struct value *fields = value_at(answer, first + 2);
	const char *due = store_text_at(answer, first + 1);
	double at = due != NULL ? strtod(due, NULL) : 0;

	*cron = (struct cron){ .id = store_text_at(answer, first),
		.version = (uint64_t)number_at(fields, 0),
		.agent = text_at(fields, 1),
		.schedule = text_at(fields, 2),
		.timezone = text_at(fields, 3),
		.end_ms = number_at(fields, 4),
		.thread = text_at(fields, 5),
		.is_paused = text_at(fields, 6) != NULL,
		.keeps = text_at(fields, 7) != NULL,
		.metadata = store_decode(arena, value_at(fields, 8)),
		.created_ms = number_at(fields, 9),
		.updated_ms = number_at(fields, 10),
		.last_ms = number_at(fields, 11),
		.last_run = text_at(fields, 12),
		.error = text_at(fields, 13),
		.assistant = text_at(fields, 14),
		.next_ms = time_of(at) };
	return cron->id != NULL && cron->version > 0 && cron->agent != NULL &&
	       cron->schedule != NULL;
}

/* --- steps ---------------------------------------------------------------------------- */

static void
begin(struct command *command, const char *function, unsigned shard)
{
	command_function(command, function,
	    arena_printf(command->arena, "%scrons", store_prefix(command->arena, shard)),
	    shard);
}

static void
command_time(struct command *command, int64_t ms)
{
	if (ms == CRON_NEVER)
		command_text(command, "inf");
	else
		command_uint(command, (uint64_t)ms);
}

static enum store_status
full(struct store *store, const char *whose, unsigned most)
{
	store_fail(store,
	    "of ids that belong together with its own (one of %u shards) there are %u "
	    "crons%s, as many as may be: another id may have room",
	    SHARDS, most, whose);
	return STORE_REJECTED;
}

/* What a step's answer means, by its first word. */
static enum store_status
meaning(struct store *store, const struct value *reply)
{
	if (store_answers(reply, "OK"))
		return STORE_OK;
	if (store_answers(reply, "KNOWN"))
		return STORE_KNOWN;
	if (store_answers(reply, "STALE"))
		return STORE_STALE;
	if (store_answers(reply, "NONE"))
		return STORE_NONE;
	if (store_answers(reply, "DAMAGED")) {
		store_fail(store, "what it submits cannot be read");
		return STORE_REJECTED;
	}
	if (store_answers(reply, "FULL"))
		return full(store, "", CRONS_SHARD_MAX);
	if (store_answers(reply, "TENANT_FULL"))
		return full(store, " of the tenant", CRONS_TENANT_SHARD_MAX);
	return store_odd(store, reply);
}

static enum store_status
answered(struct store *store, const struct command *command)
{
	const struct value *reply;
	enum store_status status = store_read(store, command, &reply);

	return status == STORE_OK ? meaning(store, reply) : status;
}

enum store_status
crons_now(struct store *store, struct arena *arena, int64_t *now_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "TIME");
	status = store_read(store, &command, &reply);
	if (status == STORE_OK)
		*now_r = number_at(reply, 0) * 1000 + number_at(reply, 1) / 1000;
	return status;
}

static void
add_text(struct command *command, const char *name, const char *text)
{
	command_text(command, name);
	command_text(command, text);
}

/* What it is, as fields of its hash; "" for what it has not. */
static void
add_fields(struct command *command, const struct cron *cron)
{
	add_text(command, "agent", cron->agent);
	add_text(command, "assistant", cron->assistant);
	add_text(command, "schedule", cron->schedule);
	add_text(command, "timezone", cron->timezone);
	add_text(command, "end",
	    cron->end_ms > 0 ? arena_printf(command->arena, "%" PRId64, cron->end_ms)
			     : NULL);
	add_text(command, "thread", cron->thread);
	add_text(command, "paused", cron->is_paused ? "1" : NULL);
	add_text(command, "keep", cron->keeps ? "1" : NULL);
	add_text(command, "error", NULL);
	command_text(command, "metadata");
	command_value(command, cron->metadata);
	if (cron->entry != NULL) {
		command_text(command, "entry");
		command_value(command, cron->entry);
	}
}

enum store_status
crons_create(struct store *store, struct arena *arena, const struct cron *cron)
{
	struct command command = { .arena = arena };
	char made[33];

	service_session(made);
	begin(&command, "fl_cron_create", store_shard(cron->id));
	command_text(&command, cron->id);
	command_time(&command, cron->next_ms);
	command_text(&command, arena_strdup(arena, made));
	command_uint(&command, CRONS_SHARD_MAX);
	add_fields(&command, cron);
	return answered(store, &command);
}

enum store_status
crons_change(
    struct store *store, struct arena *arena, const struct cron *cron, bool moves)
{
	struct command command = { .arena = arena };

	begin(&command, "fl_cron_change", store_shard(cron->id));
	command_text(&command, cron->id);
	command_uint(&command, cron->version);
	if (moves)
		command_time(&command, cron->next_ms);
	else
		command_text(&command, "");
	add_fields(&command, cron);
	return answered(store, &command);
}

enum store_status
crons_put_off(struct store *store, struct arena *arena, const struct cron *cron,
    int64_t next_ms, const char *error)
{
	struct command command = { .arena = arena };

	begin(&command, "fl_cron_put_off", store_shard(cron->id));
	command_text(&command, cron->id);
	command_time(&command, cron->next_ms);
	command_uint(&command, cron->version);
	command_time(&command, next_ms);
	command_text(&command, error);
	return answered(store, &command);
}

enum store_status
crons_delete(struct store *store, struct arena *arena, const char *id)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	bool again;

	begin(&command, "fl_cron_delete", store_shard(id));
	command_text(&command, id);
	status = store_ask(store, &command, &reply, &again);
	if (status == STORE_OK)
		status = meaning(store, reply);
	return again && status == STORE_NONE ? STORE_OK : status;
}

enum store_status
crons_read(struct store *store, struct arena *arena, const char *id, struct cron *cron_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	begin(&command, "fl_cron_get", store_shard(id));
	command_text(&command, id);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (store_answers(reply, "NONE"))
		return STORE_NONE;
	if (!read_cron(arena, reply, 1, cron_r))
		return store_damaged(store, "what the cron is cannot be read");
	cron_r->entry = store_decode(arena, value_at(reply, 4));
	return value_is(cron_r->entry, VALUE_MAP)
		   ? STORE_OK
		   : store_damaged(store, "what the cron submits cannot be read");
}

enum store_status
crons_put_away(struct store *store, struct arena *arena, unsigned shard, const char *id)
{
	struct command command = { .arena = arena };

	begin(&command, "fl_cron_put_away", shard);
	command_text(&command, id);
	return answered(store, &command);
}

/* Those of a shard that are due until then; of what is no cron the id alone. */
static enum store_status
look_in(struct store *store, struct arena *arena, unsigned shard, const char *until,
    unsigned limit, struct cron_list *list_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	*list_r = (struct cron_list){ 0 };
	begin(&command, "fl_crons", shard);
	command_text(&command, until);
	command_uint(&command, limit);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	list_r->now_ms = store_number_at(reply, 0);
	list_r->items =
	    arena_alloc(arena, (value_size(reply) / 3 + 1) * sizeof *list_r->items);
	for (i = 1; i + 2 < value_size(reply); i += 3) {
		struct cron *cron = &list_r->items[list_r->count];

		if (!read_cron(arena, reply, i, cron))
			*cron = (struct cron){ .id = store_text_at(reply, i) };
		list_r->count += cron->id != NULL;
	}
	return STORE_OK;
}

enum store_status
crons_due(struct store *store, struct arena *arena, unsigned shard, unsigned limit,
    struct cron_list *list_r)
{
	return look_in(store, arena, shard, "now", limit, list_r);
}

static int
by_id(const void *a, const void *b)
{
	const struct cron *left = a, *right = b;

	return strcmp(left->id, right->id);
}

/* The cron in arena, without its entry. */
static struct cron
copy_of(struct arena *arena, const struct cron *cron, bool spares_metadata)
{
	const char *const texts[] = { cron->id, cron->agent, cron->schedule,
		cron->timezone, cron->thread, cron->last_run, cron->error,
		cron->assistant };
	const char *copies[sizeof texts / sizeof *texts];
	struct cron copy = *cron;
	size_t i;

	for (i = 0; i < sizeof texts / sizeof *texts; i++)
		copies[i] = texts[i] != NULL ? arena_strdup(arena, texts[i]) : NULL;
	copy.id = copies[0];
	copy.agent = copies[1];
	copy.schedule = copies[2];
	copy.timezone = copies[3];
	copy.thread = copies[4];
	copy.last_run = copies[5];
	copy.error = copies[6];
	copy.assistant = copies[7];
	copy.metadata = cron->metadata != NULL && !spares_metadata
			    ? value_copy(arena, cron->metadata)
			    : NULL;
	copy.entry = NULL;
	return copy;
}

/* Adds the wanted ones of a shard's. */
static void
choose(struct arena *arena, const struct cron_wish *wish, const struct cron_list *found,
    struct cron_list *list)
{
	struct cron *items;
	size_t i;

	if (found->count == 0)
		return;
	items = arena_alloc(arena, (list->count + found->count) * sizeof *items);
	if (list->count > 0)
		memcpy(items, list->items, list->count * sizeof *items);
	list->items = items;
	for (i = 0; i < found->count; i++) {
		const struct cron *cron = &found->items[i];

		if (cron->agent != NULL &&
		    (wish->is_wanted == NULL || wish->is_wanted(cron, wish->arg)))
			items[list->count++] =
			    copy_of(arena, cron, wish->spares_metadata);
	}
}

enum store_status
crons_find(struct store *store, struct arena *arena, const struct cron_wish *wish,
    struct cron_list *list_r)
{
	enum store_status status = STORE_OK;
	struct cron_list found;
	unsigned shard;

	*list_r = (struct cron_list){ 0 };
	for (shard = 0; shard < SHARDS && status == STORE_OK; shard++) {
		struct arena *own = arena_new();

		status = look_in(store, own, shard, "+inf", CRONS_SHARD_MAX, &found);
		if (status == STORE_OK) {
			list_r->now_ms = found.now_ms;
			choose(arena, wish, &found, list_r);
		}
		arena_destroy(&own);
	}
	if (list_r->count > 0)
		qsort(list_r->items, list_r->count, sizeof *list_r->items, by_id);
	return status;
}

enum store_status
crons_fire(struct store *store, struct arena *arena, const struct cron *cron,
    const char *run, int64_t next_ms, const char *error)
{
	struct command command = { .arena = arena };

	command_text(&command, "FCALL");
	command_text(&command, "fl_cron_fire");
	command_text(&command, "2");
	command_text(&command,
	    arena_printf(arena, "%scrons", store_prefix(arena, store_shard(cron->id))));
	command_text(&command, STORE_INBOX);
	command_text(&command, store_prefix(arena, store_shard(cron->id)));
	command_text(&command, cron->id);
	command_time(&command, cron->next_ms);
	command_uint(&command, cron->version);
	command_time(&command, next_ms);
	command_text(&command, run);
	command_text(&command, error);
	command_fields(&command, cron->given);
	return answered(store, &command);
}
