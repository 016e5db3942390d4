/* language_bench: workers in other languages. */
#include "language_bench.h"

#include <check.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"

#define WAIT_MS 30000
#define POLL_MS 20
#define NODE_MODULES "examples/workers/javascript/node_modules"

void
language_setup(struct language_bench *bench)
{
	bench->kit = kit_new();
	bench->arena = arena_new();
	bench->brokers = kit_broker(bench->kit);
	bench->middleware = "";
	bench->flotilla = (struct cli){ .program = kit_program(bench->kit, "flotilla"),
		.arena = bench->arena };
}

void
language_teardown(struct language_bench *bench)
{
	kit_destroy(&bench->kit);
	arena_destroy(&bench->arena);
}

/* --- workers -------------------------------------------------------------------------- */

void
language_require_modules(const struct language *language)
{
	ck_assert_msg(
	    strcmp(language->program, "node") != 0 || access(NODE_MODULES, F_OK) == 0,
	    NODE_MODULES " is missing: `make check-integration` installs it, or `npm ci "
			 "--prefix examples/workers/javascript`");
}

static void
start(struct language_bench *bench, struct child **worker_r,
    const struct language *language, const char *file, const char *name)
{
	const char *const argv[] = { language->program, file, NULL };
	const char *const env[] = { arena_printf(bench->arena, "FLOTILLA_BROKER=%s",
					bench->brokers),
		arena_printf(bench->arena, "FLOTILLA_NAME=%s", name), NULL };

	language_require_modules(language);
	bench->middleware = language->middleware;
	*worker_r = child_spawn(argv, env);
}

void
language_start_worker(struct language_bench *bench, struct child **worker_r,
    const struct language *language, const char *name)
{
	start(bench, worker_r, language, language->file, name);
}

void
language_start_more(struct language_bench *bench, struct child **worker_r,
    const struct language *language, const char *name)
{
	start(bench, worker_r, language, language->more, name);
}

/* --- the agent ------------------------------------------------------------------------ */

void
language_apply(struct language_bench *bench, const char *tools, const char *calls)
{
	kit_flotilla(bench->kit, "agents", "apply",
	    kit_write(bench->kit, "agent.json",
		arena_printf(bench->arena,
		    "{\"name\": \"a\", \"model\": \"scripted:m\", \"tools\": [%s], "
		    "\"middleware\": [%s], "
		    "\"state\": {\"noted\": {\"type\": \"array\", \"reducer\": "
		    "\"append\"}}, "
		    "\"script\": {\"m\": [{\"content\": \"\", "
		    "\"tool_calls\": [%s]}, {\"content\": \"Done.\"}]}}",
		    tools, bench->middleware, calls)),
	    NULL);
}

const char *
language_tools_of(struct language_bench *bench, const struct language *language)
{
	return arena_printf(bench->arena, "\"wait\", \"%s\"", language->tool);
}

const char *
language_call(
    struct language_bench *bench, const char *id, const char *tool, const char *args)
{
	return arena_printf(bench->arena,
	    "{\"id\": \"%s\", \"name\": \"%s\", \"args\": %s}", id, tool, args);
}

const char *
language_gate_call(struct language_bench *bench, const char *id, const char *name)
{
	return language_call(bench, id, "gate",
	    arena_printf(bench->arena, "{\"path\": \"%s\"}", kit_path(bench->kit, name)));
}

void
language_open_gate(struct language_bench *bench, const char *name)
{
	kit_write(bench->kit, name, "");
}

/* --- the command line ----------------------------------------------------------------- */

struct said
language_run(struct language_bench *bench, const char *const argv[])
{
	const char *all[32];
	size_t count = 0;

	while (*argv != NULL)
		all[count++] = *argv++;
	memcpy(all + count,
	    (const char *[]){ "--redis", kit_redis(bench->kit), "--broker",
		kit_broker(bench->kit), "--status", kit_status(bench->kit), NULL },
	    7 * sizeof *all);
	return cli_run(&bench->flotilla, NULL, all);
}

struct cli_job *
language_submit(struct language_bench *bench, const char *agent, const char *run)
{
	const char *const argv[] = { "submit", agent, "Go", "--run", run, "--wait",
		"--context", "{\"tone\": \"kind\"}", "--redis", kit_redis(bench->kit),
		"--broker", kit_broker(bench->kit), "--status", kit_status(bench->kit),
		NULL };

	return cli_start(&bench->flotilla, NULL, argv);
}

void
language_cancel(struct language_bench *bench, const char *run)
{
	struct said said = LANGUAGE_RUN(bench, "cancel", run);

	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(said.err, ""); /* nothing of it is left unconfirmed */
}

const struct value *
language_parse(struct language_bench *bench, const char *text)
{
	const char *error;
	const struct value *value = json_parse(bench->arena, text, strlen(text), &error);

	ck_assert_msg(value != NULL, "%s: %s", error, text);
	return value;
}

/* --- what the broker says -------------------------------------------------------------- */

/* Of a worker, nil when it is not there. */
static const struct value *
session_of(struct language_bench *bench, const char *name)
{
	const char *text = LANGUAGE_RUN(bench, "top", "--once", "--json").out;
	const struct value *broker = value_get(language_parse(bench, text), "broker");
	const struct value *rows = value_get(broker, "sessions");
	size_t i;

	for (i = 0; i < value_size(rows); i++)
		if (value_text_is(value_get(value_at(rows, i), "name"), name))
			return value_at(rows, i);
	return value_nil();
}

int64_t
language_load_of(struct language_bench *bench, const char *name)
{
	return value_get_int(session_of(bench, name), "load", -1);
}

/* Whether it has so many calls; of one that drains, with load DRAINING. */
#define DRAINING INT64_C(-2)
static bool
is_so(struct language_bench *bench, const char *name, int64_t load)
{
	if (load == DRAINING)
		return value_get_bool(session_of(bench, name), "draining", false);
	return language_load_of(bench, name) == load;
}

void
language_watch_until(
    struct language_bench *bench, const char *run, const char *words, const char *gate)
{
	const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
	struct cli_job *job =
	    CLI_START(&bench->flotilla, "watch", run, "--redis", kit_redis(bench->kit),
		"--broker", kit_broker(bench->kit), "--status", kit_status(bench->kit));
	struct said said;
	int tries;

	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		if (strstr(cli_out(job), words) != NULL)
			break;
		nanosleep(&pause, NULL);
	}
	language_open_gate(bench, gate);
	said = cli_end(&job);
	ck_assert_msg(strstr(said.out, words) != NULL, "%s%s", said.out, said.err);
}

void
language_wait_load(struct language_bench *bench, const char *name, int64_t load)
{
	const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
	int tries;

	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		if (is_so(bench, name, load))
			return;
		nanosleep(&pause, NULL);
	}
	ck_abort_msg("%s never had %d calls (-2: never drained)", name, (int)load);
}

void
language_wait_draining(struct language_bench *bench, const char *name)
{
	language_wait_load(bench, name, DRAINING);
}

/* --- what is expected ------------------------------------------------------------------ */

void
language_expect_success(struct cli_job *job)
{
	struct said said = cli_end(&job);

	ck_assert_msg(said.status == 0, "status %d: %s", said.status, said.err);
}

void
language_expect_message(
    const struct value *state, size_t index, const char *status, const char *words)
{
	const struct value *message = value_at(value_get(state, "messages"), index);
	const char *content = value_get_text(message, "content");

	ck_assert_str_eq(value_get_text(message, "status"), status);
	ck_assert_msg(strstr(content, words) != NULL, "%s", content);
}
