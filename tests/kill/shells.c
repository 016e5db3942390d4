#include "shells.h"

#include <check.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "everything.h"
#include "json.h"
#include "ledger.h"
#include "verdict.h"

static const char agent[] =
    "name: all\n"
    "model: scripted:clerk\n"
    "tools: [calculate]\n"
    "script:\n"
    "%s"
    "  spare: [{content: Never.}]\n"
    "  clerk:\n"
    "    - delay_ms: 200\n"
    "      tool_calls: [{id: a, name: shell, args: {command: . %s}}]\n"
    "    - tool_calls:\n"
    "        - {id: b, name: calculate, args: {expression: 6 * 7}}\n"
    "        - {id: c, name: shell, args: {command: '. %s; note held; %s gone "
    "%s; echo $X'}}\n"
    "    - tool_calls: [{id: d, name: shell, args: {command: 'echo again $X'}}]\n"
    "    - tool_calls: [{id: e, name: shell, args: {restart: true}}]\n"
    "    - delay_ms: 200\n"
    "      tool_calls: [{id: f, name: shell, args: {command: '. %s; note fresh; sleep "
    "1000 & echo fresh $X'}}]\n"
    "    - content: All is done.\n";

/* What everything.c says of the shell, and what is said instead: nothing may time out here. */
static const char usual[] = "{startup_commands: ['BEGUN=yes'], command_timeout: 20}";
static const char ours[] = "{startup_commands: ['BEGUN=yes'], command_timeout: 500, env: "
			   "{SHELLS_TEST: %s}}";

/* A line "what home worker": above a shell there are its minder, the starter, the worker. */
static const char note[] = "note() {\n"
			   "  read -r _ _ _ starter _ </proc/$PPID/stat\n"
			   "  read -r _ _ _ worker _ </proc/$starter/stat\n"
			   "  echo \"$1 $HOME $worker\" >> %s\n"
			   "}\n";
static const char begin[] = ". %s\n"
			    "note begun\n"
			    "X=kept\n"
			    "sleep 1000 &\n"
			    "setsid sleep 1000 &\n"
			    "echo begun\n";

static const char tool[] =
    "name: calculate\n"
    "description: works something out\n"
    "parameters: {properties: {expression: {type: string}}}\n"
    "idempotent: false\n"
    "input: none\n"
    "command: |\n"
    "  read -r _ _ _ starter _ </proc/$PPID/stat\n"
    "  read -r _ _ _ worker _ </proc/$starter/stat\n"
    "  echo \"calculated $FLOTILLA_IDEMPOTENCY_KEY $worker\" >> %s\n"
    "  exec await-file gone %s 0 42\n";

/* --- the fleet ------------------------------------------------------------------------- */

static const char *
with_our_shell(struct arena *arena, const char *middleware, const char *mark)
{
	const char *at = strstr(middleware, usual);

	ck_assert_msg(at != NULL, "everything.c has another shell_tool");
	return arena_printf(arena, "%.*s%s%s", (int)(at - middleware), middleware,
	    arena_printf(arena, ours, mark), at + strlen(usual));
}

static void
write_files(struct shells *shells)
{
	struct storm *storm = &shells->storm;
	struct fleet_kit *kit = storm->kit;
	struct arena *arena = storm->arena;
	const char *noting, *beginning;

	storm->ledger = kit_path(kit, "ledger");
	shells->hold = kit_path(kit, "hold");
	shells->mark = kit_path(kit, "mark");
	noting = kit_write(kit, "note.sh", arena_printf(arena, note, storm->ledger));
	beginning = kit_write(kit, "begin.sh", arena_printf(arena, begin, noting));
	kit_flag(kit, KIT_TOOLS, "--builtin", "none");
	kit_flag(kit, KIT_TOOLS, "--tools",
	    kit_write(kit, "tools.yaml",
		arena_printf(arena, tool, storm->ledger, shells->hold)));
	kit_env(kit, KIT_TOOLS, arena_printf(arena, "TMPDIR=%s", kit_path(kit, ".")));
	kit_write(kit, "agent.yaml",
	    arena_printf(arena, "%s%s",
		arena_printf(arena, agent, everything_script, beginning, noting,
		    kit_built(kit, "await-file"), shells->hold, noting),
		with_our_shell(arena, everything_middleware(arena, kit_path(kit, ".")),
		    shells->mark)));
}

static void
play_main(struct fleet_client *client, void *arg)
{
	struct shells *shells = arg;

	shells->storm.client = client;
	shells->play(shells);
}

void
shells_play(struct shells shells)
{
	static const struct storm_plan plan = { .coordinators = 2 };
	struct storm *storm = &shells.storm;

	*storm = (struct storm){ .plan = &plan, .arena = arena_new(), .kit = kit_new() };
	write_files(&shells);
	kit_start_all(storm->kit, 2, 2, plan.coordinators);
	kit_flotilla(
	    storm->kit, "agents", "apply", kit_path(storm->kit, "agent.yaml"), NULL);
	client_run(kit_redis(storm->kit), play_main, &shells);
	kit_destroy(&storm->kit);
	arena_destroy(&storm->arena);
}

/* --- questions and answers ------------------------------------------------------------ */

static const struct value *
wait_end(struct storm *storm, unsigned number, const char *status)
{
	const char *thread = storm_thread(storm, number), *run = storm_run(storm, number);
	const struct value *record = NULL;

	ck_assert_msg(client_wait_end(storm->client, thread, run, STORM_WAIT_MS),
	    "%s never ended", run);
	store_run(storm->client->store, storm->arena, thread, run, &record);
	ck_assert_msg(value_text_is(value_get(record, "status"), status),
	    "%s is not %s: %s", run, status, json_text(storm->arena, record));
	return record;
}

static void
submit(struct storm *storm, unsigned number, const char *what, const char *text)
{
	struct arena *arena = storm->arena;

	client_submit(storm->client, arena,
	    value_map(arena, "agent", value_str(arena, "all"), "run",
		value_str(arena, storm_run(storm, number)), "thread",
		value_str(arena, storm_thread(storm, number)), what,
		value_str(arena, text), NULL));
}

void
shells_ask(struct shells *shells)
{
	struct storm *storm = &shells->storm;
	unsigned i;

	for (i = 1; i <= SHELLS_RUNS; i++)
		submit(storm, i, "input", "\"Go on.\"");
	storm->runs = SHELLS_RUNS;
	for (i = 1; i <= SHELLS_RUNS; i++)
		ck_assert_uint_eq(value_size(value_get(
				      wait_end(storm, i, "interrupted"), "interrupts")),
		    1);
}

#define EXIT_NO_REDIS 4 /* docs/cli.md */

/* As people do it, who are told that there is no Redis, and do it again. */
static void
approve(struct storm *storm, unsigned number)
{
	const struct cli flotilla = { .program = kit_program(storm->kit, "flotilla"),
		.arena = storm->arena };
	struct said said;

	do {
		said = CLI(&flotilla, "approve", storm_thread(storm, number), "--run-id",
		    storm_run(storm, number), "--redis", kit_redis(storm->kit));
	} while (said.status == EXIT_NO_REDIS);
	ck_assert_msg(said.status == 0, "approve: %d: %s", said.status, said.err);
}

void
shells_approve(struct shells *shells)
{
	struct storm *storm = &shells->storm;
	unsigned i;

	storm->prefix = "a";
	for (i = 1; i <= SHELLS_RUNS; i++) {
		if (i % 8 != 0)
			submit(storm, i, "resume",
			    "{\"decisions\":[{\"type\":\"approve\"}]}");
		else
			approve(storm, i);
	}
}

struct tally {
	const struct storm *storm;
	unsigned begun, held, calculated, fresh;
	unsigned at_victim; /* begun at that worker */
	int victim;
	char keys[4 * SHELLS_RUNS][256]; /* "what home", each once */
	unsigned count;
};

static void
count_line(const char *what, const char *key, int worker, void *arg)
{
	static const char *const names[] = { "begun", "held", "calculated", "fresh" };
	struct tally *tally = arg;
	unsigned *counts[] = { &tally->begun, &tally->held, &tally->calculated,
		&tally->fresh };
	char line[sizeof tally->keys[0]];
	unsigned i;

	snprintf(line, sizeof line, "%.20s %.200s", what, key);
	for (i = 0; i < tally->count; i++)
		ck_assert_msg(
		    strcmp(tally->keys[i], line) != 0, "was done twice: %s", line);
	ck_assert_uint_lt(tally->count, sizeof tally->keys / sizeof *tally->keys);
	memcpy(tally->keys[tally->count++], line, sizeof line);
	for (i = 0; i < sizeof names / sizeof *names; i++)
		*counts[i] += strcmp(names[i], what) == 0;
	tally->at_victim += strcmp(what, "begun") == 0 && worker == tally->victim;
}

static void
take_tally(struct tally *tally)
{
	*tally = (struct tally){ .storm = tally->storm, .victim = tally->victim };
	ledger_read(tally->storm->ledger, count_line, tally);
}

static bool
are_held(void *arg)
{
	struct tally *tally = arg;

	take_tally(tally);
	return tally->held == SHELLS_RUNS && tally->calculated == SHELLS_RUNS;
}

void
shells_approve_until_held(struct shells *shells)
{
	struct tally tally = { .storm = &shells->storm };

	kit_write(shells->storm.kit, "hold", "");
	shells_approve(shells);
	ck_assert_msg(client_wait(shells->storm.client, are_held, &tally, STORM_WAIT_MS),
	    "only %u commands and %u approved calls have begun", tally.held,
	    tally.calculated);
}

void
shells_let_go_on(struct shells *shells)
{
	remove(shells->hold);
}

void
shells_kill_worker(struct shells *shells)
{
	struct fleet_kit *kit = shells->storm.kit;
	struct tally tally = { .storm = &shells->storm,
		.victim = (int)kit_pid(kit, KIT_TOOLS, 0) };

	take_tally(&tally);
	ck_assert_uint_gt(tally.at_victim, 0);
	shells->lost = tally.at_victim;
	storm_replace(&shells->storm, KIT_TOOLS, 0);
}

/* --- what must hold: runs ---------------------------------------------------------------- */

#define GONE "The shell is gone"

static bool
is_uncertain(const struct value *message)
{
	return value_get_bool(value_get(message, "artifact"), "uncertain", false);
}

static void
check_answer(const struct value *message, const char *call, const char *text)
{
	const char *said = value_get_text(message, "content");

	ck_assert_str_eq(value_get_text(message, "tool_call_id"), call);
	ck_assert_msg(
	    said != NULL && (strcmp(said, text) == 0 ||
				(strcmp(text, GONE) == 0 && strstr(said, GONE))),
	    "of %s: \"%s\" instead of \"%s\"", call, said, text);
}

/* A message each of the human's and the model's, and behind the latter those of its tools. Returns
 * whether the run was told that its shell is lost. */
static bool
check_messages(const struct shells *shells, const struct value *messages)
{
	static const char types[] = "hatattatatata";
	bool lost;
	size_t i;

	ck_assert_msg(value_size(messages) == sizeof types - 1, "messages are %s",
	    json_text(shells->storm.arena, messages));
	for (i = 0; i < sizeof types - 1; i++)
		ck_assert_int_eq(
		    value_get_text(value_at(messages, i), "type")[0], types[i]);
	check_answer(value_at(messages, 2), "a", "begun");
	if (!is_uncertain(value_at(messages, 4)))
		check_answer(value_at(messages, 4), "b", "42");
	else
		ck_assert_uint_gt(shells->lost, 0);
	lost = strstr(value_get_text(value_at(messages, 5), "content"), GONE) != NULL;
	check_answer(value_at(messages, 5), "c", lost ? GONE : "kept");
	check_answer(value_at(messages, 7), "d", lost ? GONE : "again kept");
	check_answer(value_at(messages, 9), "e", "Shell session restarted.");
	check_answer(value_at(messages, 11), "f", "fresh");
	ck_assert_str_eq(
	    value_get_text(value_at(messages, 12), "content"), "All is done.");
	return lost;
}

static bool
check_run(struct shells *shells, unsigned number)
{
	struct storm *storm = &shells->storm;
	const struct value *state = NULL;

	wait_end(storm, number, "success");
	ck_assert_int_eq(store_thread(storm->client->store, storm->arena,
			     storm_thread(storm, number), &state),
	    STORE_OK);
	ck_assert_str_eq(value_get_text(state, "run"), "");
	verdict_history(storm, number, state);
	return check_messages(shells, value_get(state, "messages"));
}

/* --- what must hold: what is left -------------------------------------------------------- */

static bool
has_mark(const char *process, const char *mark)
{
	char path[300], text[8192];
	FILE *file;
	size_t size;

	snprintf(path, sizeof path, "/proc/%s/environ", process);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	size = fread(text, 1, sizeof text, file);
	fclose(file);
	return memmem(text, size, mark, strlen(mark)) != NULL;
}

/* Entries of a folder, of which visit says true. */
static unsigned
count_entries(
    const char *path, bool (*is_one)(const char *name, const void *arg), const void *arg)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	unsigned count = 0;

	ck_assert_ptr_nonnull(folder);
	while ((entry = readdir(folder)) != NULL)
		count += is_one(entry->d_name, arg);
	closedir(folder);
	return count;
}

static bool
is_of_shells(const char *name, const void *arg)
{
	return isdigit((unsigned char)name[0]) && has_mark(name, arg);
}

static bool
is_workspace(const char *name, const void *arg)
{
	(void)arg;
	return strncmp(name, "flotilla-shell-", strlen("flotilla-shell-")) == 0;
}

struct left {
	struct shells *shells;
	unsigned processes, folders;
};

static bool
is_nothing_left(void *arg)
{
	struct left *left = arg;

	left->processes = count_entries("/proc", is_of_shells, left->shells->mark);
	left->folders =
	    count_entries(kit_path(left->shells->storm.kit, "."), is_workspace, NULL);
	return left->processes == 0 && left->folders == 0;
}

static void
check_leftovers(struct shells *shells)
{
	struct left left = { .shells = shells };

	ck_assert_msg(
	    client_wait(shells->storm.client, is_nothing_left, &left, STORM_WAIT_MS),
	    "%u processes and %u folders of shells are left", left.processes,
	    left.folders);
	verdict_leftovers(&shells->storm);
}

/* Of a shell that was lost the command may have begun or not; nobody asked another one. */
static void
check_ledger(struct shells *shells)
{
	struct tally tally = { .storm = &shells->storm };

	take_tally(&tally);
	ck_assert_uint_eq(tally.begun, SHELLS_RUNS);
	ck_assert_uint_eq(tally.fresh, SHELLS_RUNS);
	ck_assert_uint_ge(tally.held + shells->lost, SHELLS_RUNS);
	if (shells->lost == 0)
		ck_assert_uint_eq(tally.calculated, SHELLS_RUNS);
}

void
shells_check(struct shells *shells)
{
	unsigned lost = 0, i;

	for (i = 1; i <= SHELLS_RUNS; i++)
		lost += check_run(shells, i);
	ck_assert_uint_eq(lost, shells->lost);
	check_ledger(shells);
	check_leftovers(shells);
}
