/* crons: `crons VERB` (cron_make.c has `create`). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "cron_command.h"
#include "show.h"
#include "show_table.h"
#include "tame.h"
#include "verb.h"

#define SETTING(field) offsetof(struct crons_settings, field)
static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "schedule", SETTING_TEXT, SETTING(schedule), NULL, 0, 0, NULL,
	    "create: when, as in crontab(5): minute, hour, day of month, month, day of "
	    "week; or @hourly, @daily, @weekly, @monthly, @yearly",
	    0 },
	{ "timezone", SETTING_TEXT, SETTING(timezone), NULL, 0, 0, NULL,
	    "create: whose clocks count: Europe/Berlin (default: UTC)", 0 },
	{ "id", SETTING_TEXT, SETTING(id), NULL, 0, 0, NULL,
	    "create: its name (default: a fresh one)", 0 },
	{ "end", SETTING_TEXT, SETTING(end), NULL, 0, 0, NULL,
	    "create: the time behind which it is over: 2030-01-31T09:30:00Z, or ms since "
	    "1970",
	    0 },
	{ "paused", SETTING_BOOL, SETTING(paused), NULL, 0, 0, NULL,
	    "create: not due until it is resumed", 0 },
	{ "thread", SETTING_TEXT, SETTING(submit.thread), NULL, 0, 0, NULL,
	    "create: the conversation that its runs go on with (default: a new one each)",
	    't' },
	{ "keep", SETTING_BOOL, SETTING(keep), NULL, 0, 0, NULL,
	    "create: keep the new threads, which otherwise go an hour after the run", 0 },
	RUN_SETTINGS,
	SETTINGS_END,
};

enum status
crons_failed(struct session *session, enum store_status status, const char *id)
{
	switch (status) {
	case STORE_NONE:
		complain("there is no cron '%s'; `flotilla crons` lists them", id);
		return STATUS_NOT_FOUND;
	case STORE_KNOWN:
		complain("there is a cron '%s' already; give this one another --id, or "
			 "delete that",
		    id);
		return STATUS_REFUSED;
	case STORE_REJECTED:
		complain("not kept: %s", store_error(session_store(session)));
		return STATUS_REFUSED;
	case STORE_STALE:
		complain("cron '%s' was changed by somebody else at the same time, and "
			 "stays as that has left it; the same once more may do",
		    id);
		return STATUS_FAILED;
	default:
		return (enum status)session_store_failed(session, status);
	}
}

/* --- printing ----------------------------------------------------------------------- */

static const struct value *
text_or_none(struct arena *arena, const char *text)
{
	return text != NULL ? value_str(arena, text) : NULL;
}

static const struct value *
time_or_none(struct arena *arena, int64_t ms)
{
	return ms > 0 ? value_int(arena, ms) : NULL;
}

/* As --json has it; times in ms since 1970. */
static const struct value *
describe(struct arena *arena, const struct cron *cron)
{
	return value_map(arena, "cron", value_str(arena, cron->id), "agent",
	    value_str(arena, cron->agent), "assistant",
	    text_or_none(arena, cron->assistant), "schedule",
	    value_str(arena, cron->schedule), "timezone",
	    value_str(arena, cron->timezone != NULL ? cron->timezone : "UTC"), "next",
	    time_or_none(arena, cron->next_ms), "paused", value_bool(cron->is_paused),
	    "end", time_or_none(arena, cron->end_ms), "thread",
	    text_or_none(arena, cron->thread), "keep",
	    cron->thread == NULL ? value_bool(cron->keeps) : NULL, "last",
	    time_or_none(arena, cron->last_ms), "last_run",
	    text_or_none(arena, cron->last_run), "error",
	    text_or_none(arena, cron->error), "created",
	    time_or_none(arena, cron->created_ms), "updated",
	    time_or_none(arena, cron->updated_ms), "metadata",
	    value_size(cron->metadata) > 0 ? cron->metadata : NULL, "entry", cron->entry,
	    NULL);
}

/* The record of its last run, or NULL: there was none, or it is gone. */
static const struct value *
last_record(struct session *session, const struct cron *cron)
{
	const struct value *record;

	return cron->last_run != NULL && session_store(session) != NULL &&
		       store_run(session_store(session), session_arena(session),
			   cron_last_thread(cron), cron->last_run, &record) == STORE_OK
		   ? record
		   : NULL;
}

static const char *
next_text(struct arena *arena, const struct cron *cron)
{
	if (cron->next_ms != CRON_NEVER)
		return show_date(arena, cron->next_ms);
	return cron->is_paused ? "paused" : "over";
}

static const char *
last_text(struct arena *arena, const struct cron *cron, const struct value *record)
{
	const char *status = value_get_text(record, "status");

	if (cron->last_run == NULL)
		return "-";
	return arena_printf(arena, "%s %s", show_date(arena, cron->last_ms),
	    status != NULL ? status : "");
}

static const struct value *
make_row(struct session *session, const struct cron *cron)
{
	struct arena *arena = session_arena(session);
	const struct value *record = last_record(session, cron);
	const struct value *fault = value_get(record, "fault");
	const char *error = cron->error;

	if (value_is(fault, VALUE_MAP))
		error = arena_printf(arena, "%s: %s", show_cell(fault, "type"),
		    show_cell(fault, "message"));
	return value_map(arena, "cron", value_str(arena, cron->id), "schedule",
	    value_str(arena, cron->schedule), "timezone",
	    value_str(arena, cron->timezone != NULL ? cron->timezone : "UTC"), "next",
	    value_str(arena, next_text(arena, cron)), "last",
	    value_str(arena, last_text(arena, cron, record)), "agent",
	    value_str(arena, cron->agent), "error", text_or_none(arena, error), NULL);
}

static void
print_rows(struct arena *arena, const struct value *rows)
{
	static const char *const keys[][2] = { { "cron", "CRON" },
		{ "schedule", "SCHEDULE" }, { "timezone", "TIMEZONE" },
		{ "next", "NEXT" }, { "last", "LAST" }, { "agent", "AGENT" } };
	enum { COLUMNS = sizeof keys / sizeof *keys };
	int widths[COLUMNS];
	size_t all = 2 * ((size_t)COLUMNS - 1), i, row;

	for (i = 0; i < COLUMNS; i++) {
		widths[i] = show_column(rows, keys[i][0], keys[i][1]);
		all += (size_t)widths[i];
	}
	for (row = 0; row <= value_size(rows); row++) {
		const struct value *one = row > 0 ? value_at(rows, row - 1) : NULL;
		const char *cells[COLUMNS], *rest = "";

		for (i = 0; i < COLUMNS; i++)
			cells[i] = one != NULL ? show_cell(one, keys[i][0]) : keys[i][1];
		for (i = 1; i < COLUMNS; i++)
			rest = arena_printf(arena, "%s%-*s%s", rest,
			    i + 1 < COLUMNS ? widths[i] : 0, cells[i],
			    i + 1 < COLUMNS ? "  " : "");
		show_row(
		    arena, all, arena_printf(arena, "%-*s", widths[0], cells[0]), rest);
		if (value_has(one, "error"))
			printf("    %s\n",
			    show_line(arena, show_cell(one, "error"), show_rest(4)));
	}
}

static void
print(struct session *session, const struct cron *crons, size_t count)
{
	struct arena *arena = session_arena(session);
	struct value_list rows = { .arena = arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(&rows, make_row(session, &crons[i]));
	print_rows(arena, value_list_end(&rows));
}

void
crons_print_one(struct session *session, const struct cron *cron)
{
	if (session_json(session))
		printf("%s\n", tame_json(session_arena(session),
				   describe(session_arena(session), cron)));
	else
		print(session, cron, 1);
}

/* --- verbs -------------------------------------------------------------------------- */

static enum status
list(struct session *session, const struct crons_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);
	struct value_list all = { .arena = arena };
	struct cron_list found;
	enum store_status status;
	size_t i;

	(void)settings;
	if (rest[0] != NULL) {
		complain("usage: flotilla crons list");
		return STATUS_USAGE;
	}
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status =
	    crons_find(session_store(session), arena, &(struct cron_wish){ 0 }, &found);
	if (status != STORE_OK)
		return crons_failed(session, status, "");
	if (session_json(session)) {
		for (i = 0; i < found.count; i++)
			value_list_add(&all, describe(arena, &found.items[i]));
		printf("%s\n", tame_json(arena, value_list_end(&all)));
	} else {
		print(session, found.items, found.count);
	}
	return STATUS_OK;
}

static bool
check_ids(const char *const *ids)
{
	if (*ids == NULL) {
		complain("which CRON? `flotilla crons` lists them");
		return false;
	}
	for (; *ids != NULL; ids++)
		if (!cron_is_id(*ids)) {
			complain("'%s': " CRON_ID_RULE, *ids, CRON_ID_BYTES_MAX);
			return false;
		}
	return true;
}

/* What its runs are submitted with, a line each. */
static void
print_entry(struct arena *arena, const struct value *entry)
{
	size_t i;

	for (i = 0; i < value_size(entry); i++) {
		const char *name = value_text(entry->pairs[i].key);
		const char *text = value_text(entry->pairs[i].value);

		if (strcmp(name, "agent") != 0 && text != NULL)
			printf("    %-12s %s\n", name,
			    show_line(arena, text, show_rest(17)));
	}
}

static enum status
show(struct session *session, const struct crons_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);
	enum store_status status;
	struct cron cron;

	(void)settings;
	if (!check_ids(rest))
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	for (; *rest != NULL; rest++) {
		status = crons_read(session_store(session), arena, *rest, &cron);
		if (status != STORE_OK)
			return crons_failed(session, status, *rest);
		crons_print_one(session, &cron);
		if (session_json(session))
			continue;
		if (cron.thread != NULL)
			printf("    %-12s %s\n", "thread", cron.thread);
		if (cron.end_ms > 0)
			printf("    %-12s %s\n", "end", show_date(arena, cron.end_ms));
		if (cron.last_run != NULL)
			printf("    %-12s %s\n", "last run", cron.last_run);
		print_entry(arena, cron.entry);
	}
	return STATUS_OK;
}

/* Pauses or resumes it, as it was read. */
static enum status
set_paused(struct session *session, struct cron *cron, bool is_paused)
{
	struct arena *arena = session_arena(session);
	enum store_status status;
	const char *error;
	int64_t now;

	status = crons_now(session_store(session), arena, &now);
	if (status != STORE_OK)
		return crons_failed(session, status, cron->id);
	cron->is_paused = is_paused;
	cron->entry = NULL; /* stays */
	if (cron_next(arena, cron, now, &cron->next_ms, &error) == -1) {
		complain("%s", error);
		return STATUS_FAILED;
	}
	status = crons_change(session_store(session), arena, cron, true);
	return status == STORE_OK ? STATUS_OK : crons_failed(session, status, cron->id);
}

static enum status
change_all(struct session *session, const char *const *rest, bool is_paused)
{
	if (!check_ids(rest))
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	for (; *rest != NULL; rest++) {
		enum store_status stored;
		enum status status = STATUS_OK;
		struct cron cron;

		stored = crons_read(
		    session_store(session), session_arena(session), *rest, &cron);
		if (stored != STORE_OK)
			return crons_failed(session, stored, *rest);
		if (cron.is_paused != is_paused)
			status = set_paused(session, &cron, is_paused);
		if (status != STATUS_OK)
			return status;
		crons_print_one(session, &cron);
	}
	return STATUS_OK;
}

static enum status
pause_all(struct session *session, const struct crons_settings *settings,
    const char *const *rest)
{
	(void)settings;
	return change_all(session, rest, true);
}

static enum status
resume_all(struct session *session, const struct crons_settings *settings,
    const char *const *rest)
{
	(void)settings;
	return change_all(session, rest, false);
}

static enum status
delete_all(struct session *session, const struct crons_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);

	(void)settings;
	if (!check_ids(rest))
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	for (; *rest != NULL; rest++) {
		enum store_status status =
		    crons_delete(session_store(session), arena, *rest);

		if (status != STORE_OK)
			return crons_failed(session, status, *rest);
		if (session_json(session))
			printf(
			    "%s\n", tame_json(arena, value_map(arena, "deleted",
							 value_str(arena, *rest), NULL)));
		else
			printf("deleted %s\n", *rest);
	}
	return STATUS_OK;
}

static const struct verb {
	const char *name;
	enum status (*run)(struct session *session, const struct crons_settings *settings,
	    const char *const *rest);
} verbs[] = {
	{ "list", list },
	{ "show", show },
	{ "create", crons_make },
	{ "pause", pause_all },
	{ "resume", resume_all },
	{ "delete", delete_all },
};
#define VERB_COUNT (sizeof verbs / sizeof *verbs)

static enum status
run_crons(struct session *session, const void *settings, const char *const *rest)
{
	static const char *const none[] = { NULL };
	size_t i;

	if (rest[0] == NULL)
		return list(session, settings, none);
	i = verb_find("crons", rest[0], verbs, VERB_COUNT, sizeof *verbs);
	return i < VERB_COUNT ? verbs[i].run(session, settings, rest + 1) : STATUS_USAGE;
}

const struct command command_crons = {
	.name = "crons",
	.usage =
	    "list | show CRON... | create AGENT [TEXT...] --schedule '0 9 * * mon-fri' "
	    "| pause CRON... | resume CRON... | delete CRON...",
	.summary = "runs that recur: lists, makes, pauses, deletes them",
	.text =
	    "create has a run of AGENT submitted each time it is due, with TEXT as the "
	    "user's message (or --input, or stdin), by any coordinator; times missed "
	    "while none was there are made up for once. A cron that is deleted or "
	    "paused ends no run.",
	.table = table,
	.settings_size = sizeof(struct crons_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_crons,
};
