/* cron_make: `crons create`. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent_file.h"
#include "bounds.h"
#include "cron_command.h"
#include "json.h"
#include "run_options.h"

/* What the flags say of the cron itself; false after saying what is wrong with them. */
static bool
read_flags(struct arena *arena, const struct crons_settings *settings, struct cron *cron)
{
	*cron = (struct cron){ .id = settings->id,
		.schedule = settings->schedule,
		.timezone = settings->timezone,
		.thread = settings->submit.thread,
		.is_paused = settings->paused,
		.keeps = settings->keep,
		.next_ms = CRON_NEVER };
	if (cron->id == NULL)
		cron->id =
		    arena_printf(arena, "cron%s", strchr(submit_run_id(arena), '-'));
	if (!cron_is_id(cron->id)) {
		complain("--id '%s': " CRON_ID_RULE, cron->id, CRON_ID_BYTES_MAX);
		return false;
	}
	if (cron->schedule == NULL) {
		complain("when? --schedule '0 9 * * mon-fri', say: minute, hour, day of "
			 "month, month, day of week");
		return false;
	}
	if (settings->end != NULL &&
	    run_options_time(settings->end, &cron->end_ms) == -1) {
		complain("--end '%s': must be a time such as 2030-01-31T09:30:00Z, or "
			 "milliseconds since 1970",
		    settings->end);
		return false;
	}
	return submit_check_id("--thread", cron->thread);
}

/* What its runs are to do; false after saying what is wrong. */
static bool
make_entry(struct session *session, const struct crons_settings *settings,
    struct cron *cron, const char *const *texts)
{
	struct arena *arena = session_arena(session);
	const struct submit_settings *submit = &settings->submit;
	const struct value *options, *about_thread, *entry;
	const char *input, *error;

	if (!submit_check_json(arena, "input", submit->input) ||
	    !submit_check_json(arena, "context", submit->context) ||
	    (about_thread = submit_thread_fields(arena, submit)) == NULL ||
	    (options = submit_options_fields(arena, &submit->options)) == NULL ||
	    (input = submit_input(session, submit, texts)) == NULL)
		return false;
	entry = value_map(arena, "agent", value_str(arena, cron->agent), "input",
	    value_str(arena, input), "context",
	    submit->context != NULL ? value_str(arena, submit->context) : NULL, NULL);
	entry =
	    value_map_merge(arena, value_map_merge(arena, entry, options), about_thread);
	cron->entry = cron_entry(arena, cron, entry);
	error = cron_wrong(arena, cron);
	if (error == NULL)
		return true;
	complain("%s", error);
	return false;
}

/* When it is due first; STATUS_OK, or why it never is, which has been said. */
static enum status
find_first(struct session *session, struct cron *cron)
{
	struct arena *arena = session_arena(session);
	enum store_status status;
	const char *error;
	int64_t now;

	/* Redis's clock decides, but what is wrong is said without it. */
	if (cron_next(arena, cron, 0, &now, &error) == -1) {
		complain("%s", error);
		return STATUS_USAGE;
	}
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = crons_now(session_store(session), arena, &now);
	if (status != STORE_OK)
		return crons_failed(session, status, cron->id);
	cron_next(arena, cron, now, &cron->next_ms, &error);
	if (cron->next_ms != CRON_NEVER || cron->is_paused)
		return STATUS_OK;
	complain("--end: it would be over before it is due for the first time");
	return STATUS_USAGE;
}

enum status
crons_make(struct session *session, const struct crons_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);
	const char *version;
	struct cron cron;
	enum store_status stored;
	enum status status;

	if (rest[0] == NULL) {
		complain("which AGENT? `flotilla agents list` shows them");
		return STATUS_USAGE;
	}
	if (!read_flags(arena, settings, &cron))
		return STATUS_USAGE;
	cron.agent = rest[0];
	status = find_first(session, &cron);
	if (status != STATUS_OK)
		return status;
	cron.metadata = submit_metadata(
	    arena, (const char *const *)settings->submit.options.metadata);
	if (!make_entry(session, settings, &cron, rest + 1))
		return STATUS_USAGE;
	status = (enum status)agent_version(session, cron.agent, &version);
	if (status != STATUS_OK)
		return status;
	stored = crons_create(session_store(session), arena, &cron);
	if (stored != STORE_OK)
		return crons_failed(session, stored, cron.id);
	crons_print_one(session, &cron);
	return STATUS_OK;
}
