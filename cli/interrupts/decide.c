#include "decide.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "find.h"
#include "json.h"
#include "schema.h"
#include "show.h"
#include "tame.h"

#define TAKEN_WAIT_MS 5000u /* until the answer is said to wait itself */
#define BLOCK_MS 500u

/* What waits on a thread, and what becomes of it. */
struct ballot {
	struct session *session;
	const struct decide_settings *settings;
	const char *thread;
	const struct value *head;
	const struct value *items; /* [actions_of] */
	size_t actions;
	const struct value *const *decisions; /* of the items, NULL: none */
};

/* --- which actions ------------------------------------------------------------------ */

/* The item that text names, by number or tool call id; NULL, and says so: none. */
static long
find_action(const struct ballot *ballot, const char *text)
{
	char *end;
	int64_t number = strtoll(text, &end, 10);
	long found = -1;
	size_t i;

	for (i = 0; i < value_size(ballot->items); i++) {
		const struct value *item = value_at(ballot->items, i);

		if (!actions_is_one(item))
			continue;
		if (value_text_is(value_get(item, "tool_call_id"), text))
			return (long)i;
		if (*end == '\0' && value_get_int(item, "index", 0) == number)
			found = (long)i;
	}
	return found;
}

static void
say_actions(const struct ballot *ballot)
{
	struct arena *arena = session_arena(ballot->session);
	size_t i;

	for (i = 0; i < value_size(ballot->items); i++) {
		const struct value *item = value_at(ballot->items, i);
		const char *id = value_get_text(item, "tool_call_id");

		if (actions_is_one(item))
			complain("  %" PRId64 "  %s%s%s", value_get_int(item, "index", 0),
			    show_line(arena,
				arena_printf(arena, "%s %s", value_get_text(item, "name"),
				    tame_json(arena, value_get(item, "args"))),
				150),
			    id != NULL ? "  " : "", id != NULL ? id : "");
	}
}

/* Nothing that can be decided: says what there is, and how that is answered. */
static enum status
say_none(const struct ballot *ballot)
{
	struct arena *arena = session_arena(ballot->session);
	size_t i;

	complain(
	    "no action waits for a decision on thread '%s'; what does is answered by",
	    ballot->thread);
	for (i = 0; i < value_size(ballot->items); i++)
		complain("  %s",
		    actions_command(arena, ballot->thread, value_at(ballot->items, i)));
	return STATUS_FAILED;
}

/* --- one decision ------------------------------------------------------------------- */

/* Whether the item may be decided so; says why not. */
static bool
check_decision(
    const struct ballot *ballot, const struct value *item, const struct value *decision)
{
	struct arena *arena = session_arena(ballot->session);
	const struct value *allowed = value_get(item, "allowed_decisions");
	const char *type = value_get_text(decision, "type");

	if (value_contains(allowed, type))
		return true;
	complain("action %" PRId64 " (%s) cannot be decided so: %s; allowed: %s",
	    value_get_int(item, "index", 0), value_get_text(item, "name"), type,
	    actions_words(arena, allowed));
	return false;
}

/* An edit is of this item: what was not given stays as it is. */
static const struct value *
decision_for(
    const struct ballot *ballot, const struct value *item, const struct value *decision)
{
	struct arena *arena = session_arena(ballot->session);
	const struct value *action = value_get(decision, "edited_action");

	if (action == NULL)
		return decision;
	action = value_map_merge(arena,
	    value_map(arena, "name", value_get(item, "name"), "args",
		value_get(item, "args"), NULL),
	    action);
	return value_map_with(arena, decision, "edited_action", action);
}

/* Marks the items that are named, all without a name. */
static enum status
mark(struct ballot *ballot, const struct value **marks, const char *const *names,
    const struct value *decision, bool alone)
{
	size_t i;
	long at;

	if (*names == NULL && alone && ballot->actions > 1) {
		complain("%zu actions wait on thread '%s': which ACTION?",
		    ballot->actions, ballot->thread);
		say_actions(ballot);
		return STATUS_USAGE;
	}
	for (i = 0; *names == NULL && i < value_size(ballot->items); i++)
		if (actions_is_one(value_at(ballot->items, i)))
			marks[i] = decision;
	for (; *names != NULL; names++) {
		at = find_action(ballot, *names);
		if (at == -1) {
			complain("no action '%s' waits on thread '%s'; these do", *names,
			    ballot->thread);
			say_actions(ballot);
			return STATUS_NOT_FOUND;
		}
		marks[at] = decision;
	}
	return STATUS_OK;
}

/* Those not named. */
static enum status
mark_rest(struct ballot *ballot, const struct value **marks)
{
	struct arena *arena = session_arena(ballot->session);
	const char *rest = ballot->settings->rest;
	size_t i;

	for (i = 0; rest != NULL && i < value_size(ballot->items); i++)
		if (marks[i] == NULL && actions_is_one(value_at(ballot->items, i)))
			marks[i] = value_map(arena, "type", value_str(arena, rest), NULL);
	for (i = 0; i < value_size(ballot->items); i++) {
		const struct value *item = value_at(ballot->items, i);

		if (marks[i] == NULL)
			continue;
		marks[i] = decision_for(ballot, item, marks[i]);
		if (!check_decision(ballot, item, marks[i]))
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

/* --- the answer --------------------------------------------------------------------- */

/* The decisions on the actions of one question, from item first on; NULL, and says so: some are
 * missing. */
static const struct value *
answer_batch(const struct ballot *ballot, size_t first, size_t parts)
{
	struct arena *arena = session_arena(ballot->session);
	struct value_list decisions = { .arena = arena };
	const char *missing = "";
	size_t i;

	for (i = first; i < first + parts; i++) {
		if (ballot->decisions[i] != NULL)
			value_list_add(&decisions, ballot->decisions[i]);
		else
			missing = arena_printf(arena, "%s%s%" PRId64, missing,
			    *missing != '\0' ? ", " : "",
			    value_get_int(value_at(ballot->items, i), "index", 0));
	}
	if (decisions.count == parts)
		return value_map(arena, "decisions", value_list_end(&decisions), NULL);
	complain("%zu actions of thread '%s' are answered together, and nothing is "
		 "decided yet on %s: --rest approve or --rest reject decides those, "
		 "`flotilla resume %s --file FILE` each on its own",
	    parts, ballot->thread, missing, ballot->thread);
	say_actions(ballot);
	return NULL;
}

static bool
any_decided(const struct ballot *ballot, size_t first, size_t count)
{
	size_t i;

	for (i = first; i < first + count; i++)
		if (ballot->decisions[i] != NULL)
			return true;
	return false;
}

/* {interrupt id: answer} as JSON; NULL after saying why not. */
static const char *
compose(const struct ballot *ballot)
{
	struct arena *arena = session_arena(ballot->session);
	struct value_fields answers = { .arena = arena };
	size_t i, parts;

	for (i = 0; i < value_size(ballot->items); i += parts) {
		const struct value *item = value_at(ballot->items, i), *answer;

		parts = (size_t)value_get_int(item, "parts", 1);
		if (!any_decided(ballot, i, parts))
			continue;
		answer = value_has(item, "parts") ? answer_batch(ballot, i, parts)
						  : ballot->decisions[i];
		if (answer == NULL)
			return NULL;
		value_fields_set(&answers, value_get_text(item, "interrupt"), answer);
	}
	return json_text(arena, value_fields_end(&answers));
}

/* --- being taken -------------------------------------------------------------------- */

static bool
stays(const struct ballot *ballot)
{
	return ballot->settings->submit.wait || ballot->settings->submit.follow;
}

/* Who stays until the end has been told what went wrong. */
static enum status
say_refused(const struct ballot *ballot, const char *run, const struct value *event)
{
	const struct value *error = value_get(event, "error");
	const char *message = value_get_text(error, "message");

	if (!stays(ballot))
		complain(
		    "not taken: %s", message != NULL ? message : "the run was refused");
	complain("%s`flotilla approvals` lists what waits; run %s has changed nothing on "
		 "thread '%s'",
	    stays(ballot) ? "not taken: " : "", run, ballot->thread);
	return STATUS_REFUSED;
}

/* Looks at new events behind *seen; block_ms is for the first to come. A commit's events are read
 * together: an answer that was refused has its `finished` beside its `decided`. Returns true when it
 * is known, with the status. */
static bool
look(const struct ballot *ballot, const char *run, uint64_t *seen, uint32_t block_ms,
    enum status *status_r)
{
	struct arena *arena = session_arena(ballot->session);
	const struct value *events;
	enum store_status found = store_events(session_events_store(ballot->session),
	    arena, ballot->thread, run, *seen, block_ms, &events);
	bool decided = false;
	size_t i;

	if (found != STORE_OK) {
		*status_r = (enum status)session_events_failed(ballot->session, found);
		return true;
	}
	*status_r = STATUS_OK;
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);
		const char *kind = value_get_text(event, "kind");

		*seen = (uint64_t)value_get_int(event, "seq", 0);
		decided = decided || strcmp(kind, "decided") == 0;
		if (strcmp(kind, "step") == 0)
			return true;
		if (strcmp(kind, "finished") == 0) {
			if (value_has(event, "error"))
				*status_r = say_refused(ballot, run, event);
			return true;
		}
	}
	return decided;
}

static enum status
wait_taken(const struct ballot *ballot, const char *run)
{
	struct loop *loop = session_loop(ballot->session);
	uint64_t deadline = loop_now_ms(loop) + TAKEN_WAIT_MS, seen = 0;
	enum status status = STATUS_OK;

	if (session_events_store(ballot->session) == NULL)
		return STATUS_UNREACHABLE;
	while (!session_interrupted(ballot->session)) {
		if (look(ballot, run, &seen, BLOCK_MS, &status))
			return status;
		if (loop_now_ms(loop) >= deadline) {
			complain("no coordinator has taken the answer yet; it is not "
				 "lost: `flotilla watch %s`",
			    run);
			return STATUS_OK;
		}
	}
	return STATUS_FAILED;
}

/* Whether the thread's newest checkpoint is of run: one whose answer was not taken makes none. */
static bool
is_at_head(const struct ballot *ballot, const char *run)
{
	const struct value *head;
	enum store_status status = store_head(session_store(ballot->session),
	    session_arena(ballot->session), ballot->thread, &head);

	return status == STORE_OK && value_text_is(value_get(head, "run"), run);
}

/* An answer that was not taken is another matter than a run that took it and failed. */
static enum status
wait_end(const struct ballot *ballot, const char *run, const struct value *fields)
{
	struct session *session = ballot->session;
	const struct submit_settings *settings = &ballot->settings->submit;
	enum status taken = STATUS_OK, status;
	uint64_t seen = 0;

	status = submit_entry(session, settings, run, ballot->thread, fields);
	if (status == STATUS_FAILED && !session_interrupted(session) &&
	    !is_at_head(ballot, run) && look(ballot, run, &seen, 0, &taken) &&
	    taken == STATUS_REFUSED)
		status = taken;
	return status;
}

static void
print_taken(const struct ballot *ballot, const char *run)
{
	struct arena *arena = session_arena(ballot->session);
	struct value_list decided = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(ballot->items); i++) {
		const struct value *item = value_at(ballot->items, i);
		const struct value *decision = ballot->decisions[i];
		const struct value *call = value_get(decision, "edited_action");

		if (decision == NULL)
			continue;
		call = call != NULL ? call : item;
		value_list_add(
		    &decided, value_map_with(arena, item, "decision", decision));
		if (!session_json(ballot->session))
			printf("%-8s %s\n", value_get_text(decision, "type"),
			    show_line(arena,
				arena_printf(arena, "%s %s", value_get_text(call, "name"),
				    tame_json(arena, value_get(call, "args"))),
				show_rest(9)));
	}
	if (session_json(ballot->session))
		printf("%s\n",
		    tame_json(arena, value_map(arena, "run", value_str(arena, run),
					 "thread", value_str(arena, ballot->thread),
					 "decided", value_list_end(&decided), NULL)));
	else
		printf("run %s goes on\n", run);
}

static enum status
submit(const struct ballot *ballot, const char *answer, const struct value *options)
{
	struct session *session = ballot->session;
	struct arena *arena = session_arena(session);
	const struct submit_settings *settings = &ballot->settings->submit;
	const char *run = settings->run != NULL ? settings->run : submit_run_id(arena);
	const struct value *fields = value_map(arena, "agent",
	    value_get(ballot->head, "agent"), "run", value_str(arena, run), "thread",
	    value_str(arena, ballot->thread), "resume", value_str(arena, answer),
	    "stream", settings->follow ? value_str(arena, "1") : NULL, NULL);
	const char *entry;
	enum status status;

	fields = value_map_merge(arena, fields, options);
	if (stays(ballot))
		return wait_end(ballot, run, fields);
	status = submit_add(session, settings, run, ballot->thread, fields, &entry);
	if (status == STATUS_OK)
		status = wait_taken(ballot, run);
	if (status == STATUS_OK)
		print_taken(ballot, run);
	return status;
}

/* --- all of it ---------------------------------------------------------------------- */

static bool
check_rest(const char *rest)
{
	if (rest == NULL || strcmp(rest, "approve") == 0 || strcmp(rest, "reject") == 0)
		return true;
	complain("--rest '%s': approve or reject", rest);
	return false;
}

/* The pause of the run or thread of that name. A run that has been answered since is refused: what
 * waits there now is not what its reader has seen. */
static enum status
find_pause(struct ballot *ballot, const char *name)
{
	struct arena *arena = session_arena(ballot->session);
	const struct value *state;
	enum status status =
	    find_pause_of(ballot->session, name, &ballot->thread, &state);
	size_t i;

	if (status != STATUS_OK)
		return status;
	ballot->head = value_get(state, "head");
	ballot->items = actions_of(arena, ballot->head);
	if (value_size(ballot->items) == 0) {
		complain("thread '%s' waits for nothing", ballot->thread);
		return STATUS_REFUSED;
	}
	if (strcmp(name, ballot->thread) != 0 &&
	    !value_text_is(value_get(ballot->head, "run"), name)) {
		complain("run '%s' waits for nothing any more; on its thread '%s' run "
			 "'%s' does",
		    name, ballot->thread, value_get_text(ballot->head, "run"));
		return STATUS_REFUSED;
	}
	for (i = 0; i < value_size(ballot->items); i++)
		ballot->actions += actions_is_one(value_at(ballot->items, i));
	return ballot->actions > 0 ? STATUS_OK : say_none(ballot);
}

/* For whom the run that asks is, unless another is named. */
static const struct value *
with_tenant(const struct ballot *ballot, const struct value *options)
{
	struct arena *arena = session_arena(ballot->session);
	const char *run = value_get_text(ballot->head, "run");
	const struct value *record = NULL;

	if (run != NULL && !value_has(options, "tenant"))
		store_run(
		    session_store(ballot->session), arena, ballot->thread, run, &record);
	return value_get_text(record, "tenant") == NULL
		   ? options
		   : value_map_with(
			 arena, options, "tenant", value_get(record, "tenant"));
}

enum status
decide(struct session *session, const struct decide_settings *settings,
    const char *const *rest, const struct value *decision, bool alone)
{
	struct arena *arena = session_arena(session);
	struct ballot ballot = { .session = session, .settings = settings };
	const struct value *options, **marks;
	const char *answer;
	enum status status;

	if (find_argument(rest[0], "RUN or THREAD") != STATUS_OK)
		return STATUS_USAGE;
	options = submit_options_fields(arena, &settings->submit.options);
	if (options == NULL || !check_rest(settings->rest) ||
	    !submit_check_id("--run-id", settings->submit.run))
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = find_pause(&ballot, rest[0]);
	if (status != STATUS_OK)
		return status;
	marks = arena_alloc(arena, value_size(ballot.items) * sizeof *marks);
	ballot.decisions = marks;
	status = mark(&ballot, marks, rest + 1, decision, alone);
	if (status == STATUS_OK)
		status = mark_rest(&ballot, marks);
	if (status != STATUS_OK)
		return status;
	answer = compose(&ballot);
	return answer == NULL ? STATUS_USAGE
			      : submit(&ballot, answer, with_tenant(&ballot, options));
}
