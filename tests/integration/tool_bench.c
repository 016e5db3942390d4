#include "tool_bench.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chat.h"
#include "fiber.h"
#include "json.h"
#include "socket.h"

#define LOOK_MS 5

/* --- files ------------------------------------------------------------------------------ */

const char *
tool_bench_path(struct tool_bench *bench, const char *name)
{
	return arena_printf(bench->arena, "%s/%s", bench->folder, name);
}

const char *
tool_bench_endpoint(struct tool_bench *bench)
{
	return arena_printf(bench->arena, "ipc://%s/b", bench->folder);
}

const char *
tool_bench_plugin(struct tool_bench *bench, const char *name)
{
	char *program = realpath("/proc/self/exe", NULL);
	const char *path;

	ck_assert_ptr_nonnull(program);
	path = arena_printf(bench->arena, "%.*s/plugins/%s",
	    (int)(strrchr(program, '/') - program), program, name);
	free(program);
	return path;
}

void
tool_bench_write(struct tool_bench *bench, const char *name, const char *text)
{
	FILE *file = fopen(tool_bench_path(bench, name), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

bool
tool_bench_exists(struct tool_bench *bench, const char *name)
{
	return access(tool_bench_path(bench, name), F_OK) == 0;
}

const char *
tool_bench_text(struct tool_bench *bench, const char *name)
{
	char *text = arena_alloc(bench->arena, 4096);
	FILE *file = fopen(tool_bench_path(bench, name), "r");

	ck_assert_msg(file != NULL, "no file %s", name);
	text[fread(text, 1, 4095, file)] = '\0';
	fclose(file);
	return text;
}

bool
tool_bench_is_gone(struct tool_bench *bench, const char *name)
{
	FILE *file = fopen(arena_printf(bench->arena, "/proc/%d/stat",
			       atoi(tool_bench_text(bench, name))),
	    "r");
	char state = 'X';

	if (file == NULL)
		return true;
	if (fscanf(file, "%*d %*s %c", &state) != 1)
		state = 'X';
	fclose(file);
	return state == 'Z' || state == 'X';
}

void
tool_bench_offer(struct tool_bench *bench, const char *text)
{
	tool_bench_write(bench, "tools/t.yaml",
	    arena_printf(
		bench->arena, "name: t\ndescription: d\nenvironment: [HERE]\n%s", text));
}

/* --- processes -------------------------------------------------------------------------- */

static void
on_up(void *arg, uint32_t link)
{
	struct tool_bench *bench = arg;

	caller_up(bench->caller, link);
}

static void
on_down(void *arg, uint32_t link, const char *reason)
{
	struct tool_bench *bench = arg;

	(void)reason;
	caller_down(bench->caller, link);
}

static void
on_message(void *arg, uint32_t link, const struct header *header, struct parts *bodies)
{
	struct tool_bench *bench = arg;

	caller_message(bench->caller, link, header, bodies);
}

void
tool_bench_start(struct tool_bench *bench)
{
	const char *endpoints[2] = { NULL }, *wrong, *allowed;

	*bench = (struct tool_bench){ .arena = arena_new(), .folder = folder_new() };
	ck_assert_int_eq(mkdir(tool_bench_path(bench, "tools"), 0755), 0);
	bench->broker = child_start(
	    (const char *[]){ "broker", "--bind", tool_bench_endpoint(bench),
		"--status-bind", arena_printf(bench->arena, "ipc://%s/s", bench->folder),
		NULL },
	    NULL);
	bench->loop = loop_new();
	endpoints[0] = tool_bench_endpoint(bench);
	bench->links = links_new(bench->loop,
	    &(struct links_options){ .endpoints = endpoints,
		.role = ROLE_COORDINATOR,
		.name = "test",
		.on_up = on_up,
		.on_down = on_down,
		.on_message = on_message,
		.arg = bench },
	    &wrong, &allowed);
	ck_assert_ptr_nonnull(bench->links);
	bench->caller = caller_new(bench->loop, bench->links);
}

static void
say_stored(struct tool_bench *bench)
{
	size_t i;

	for (i = 0; i < bench->call_count; i++)
		caller_stored(bench->caller, bench->calls[i].request.id);
}

void
tool_bench_stop(struct tool_bench *bench)
{
	size_t i;

	say_stored(bench);
	caller_destroy(&bench->caller);
	links_destroy(&bench->links);
	socket_shutdown(); /* while its peer lives (socket.c) */
	loop_destroy(&bench->loop);
	for (i = 0; i < TOOL_BENCH_WORKERS; i++)
		child_stop(&bench->workers[i]);
	child_stop(&bench->broker);
	folder_remove(&bench->folder);
	arena_destroy(&bench->arena);
}

void
tool_bench_worker(struct tool_bench *bench, size_t index, const char *more)
{
	const char *argv[] = { "worker-tools", "--broker", tool_bench_endpoint(bench),
		"--tools", tool_bench_path(bench, "tools"), "--slots", "16", more, NULL };
	const char *env[] = { arena_printf(bench->arena, "HERE=%s", bench->folder),
		"OPENAI_API_KEY=secret", NULL };

	bench->workers[index] = child_start(argv, env);
}

void
tool_bench_await_end(struct tool_bench *bench, size_t index)
{
	int status;

	say_stored(bench);
	status = child_wait(&bench->workers[index]);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* --- calls ------------------------------------------------------------------------------ */

static const struct value *
from_json(struct arena *arena, const char *text)
{
	const char *error;
	const struct value *value = json_parse(arena, text, strlen(text), &error);

	ck_assert_msg(value != NULL, "%s: %s", text, error);
	return value;
}

/* What call_main works on. */
struct start {
	struct tool_bench *bench;
	struct tool_call *call;
};

static void
call_main(void *arg)
{
	struct start *start = arg;
	struct tool_bench *bench = start->bench;
	struct tool_call *call = start->call;

	call->was_cancelled = caller_call(bench->caller, bench->arena, &call->request,
				  &call->outcome) == -1;
	call->fiber = NULL;
}

static const struct value *
request_of(struct arena *arena, const char *id, const char *tool, const char *args)
{
	const struct value *definition =
	    from_json(arena, "{\"name\": \"t\", \"parameters\": "
			     "{\"properties\": {\"n\": {\"type\": \"integer\"}}}}");
	const struct value *call = value_map(arena, "name", value_str(arena, tool),
	    "args", from_json(arena, args), "id", value_str(arena, id), "type",
	    value_str(arena, "tool_call"), NULL);

	return value_map(arena, "run", value_str(arena, "run_1"), "tenant",
	    value_str(arena, "acme"), "thread", value_str(arena, "thread_1"), "tool_call",
	    call, "tool", strcmp(tool, "nix") == 0 ? NULL : definition, NULL);
}

struct tool_call *
tool_bench_begin_of(struct tool_bench *bench, const char *service, const char *tool,
    const char *args, const char *middleware)
{
	struct arena *arena = bench->arena;
	struct tool_call *call = &bench->calls[bench->call_count++];
	const char *id = arena_printf(arena, "run_1.2.c%zu", bench->call_count);
	struct start *start = arena_alloc(arena, sizeof *start);

	ck_assert_uint_le(bench->call_count, TOOL_BENCH_CALLS);
	call->request = (struct call_request){
		.id = id,
		.run = "run_1",
		.service = service,
		.step = 2,
		.epoch = 1,
		.deadline_ms = 60000,
		.priority = 2,
		.idempotency_key = arena_printf(arena, "run_1/2/%zu", bench->call_count),
		.profile = value_freeze(
		    arena, value_map(arena, "agent", value_str(arena, "a"), "version",
			       value_str(arena, "1"), "tools",
			       from_json(arena, "[\"t\", \"u\"]"), "middleware",
			       from_json(arena, middleware), NULL)),
		.request = request_of(arena, id, tool, args),
	};
	*start = (struct start){ bench, call };
	call->fiber = fiber_start(bench->loop, "call", call_main, start);
	return call;
}

struct tool_call *
tool_bench_begin(struct tool_bench *bench, const char *args)
{
	return tool_bench_begin_of(bench, "tool:t", "t", args, "[]");
}

struct awaited {
	struct tool_bench *bench;
	bool (*happened)(struct tool_bench *bench);
};

static bool
has_come(void *arg)
{
	struct awaited *awaited = arg;

	return awaited->happened(awaited->bench);
}

static void
look(void *arg)
{
	(void)arg;
}

/* Files and processes wake no loop: look at them often. */
void
tool_bench_await(struct tool_bench *bench, bool (*happened)(struct tool_bench *bench))
{
	struct timer *timer = timer_start(bench->loop, LOOK_MS, LOOK_MS, look, NULL);
	struct awaited awaited = { bench, happened };

	loop_run_until(bench->loop, has_come, &awaited);
	timer_stop(&timer);
}

static bool
all_have_ended(struct tool_bench *bench)
{
	size_t i;

	for (i = 0; i < bench->call_count; i++)
		if (bench->calls[i].fiber != NULL)
			return false;
	return true;
}

void
tool_bench_await_all(struct tool_bench *bench)
{
	tool_bench_await(bench, all_have_ended);
}

const struct tool_call *
tool_bench_call(struct tool_bench *bench, const char *args)
{
	struct tool_call *call = tool_bench_begin(bench, args);

	tool_bench_await_all(bench);
	return call;
}

const char *
tool_bench_content(
    struct tool_bench *bench, const struct tool_call *call, const char *status)
{
	const struct value *body = call->outcome.body;
	const struct value *command = value_at(value_get(body, "commands"), 0);
	const struct value *message =
	    value_at(value_get(value_get(command, "update"), "messages"), 0);

	ck_assert_int_eq(call->outcome.code, CODE_OK);
	ck_assert_msg(message != NULL, "no answer: %s", json_text(bench->arena, body));
	ck_assert_str_eq(value_get_text(message, "status"), status);
	return chat_text(bench->arena, message);
}

const struct fault *
tool_bench_fault(struct tool_bench *bench, const struct tool_call *call)
{
	const struct value *body = call->outcome.body, *fault = value_get(body, "fault");

	ck_assert_msg(fault != NULL, "no fault: %s", json_text(bench->arena, body));
	return fault_from_value(bench->arena, fault);
}
