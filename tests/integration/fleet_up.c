#include "fleet_up.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "children.h"
#include "json.h"

#define WAIT_MS 30000
#define POLL_MS 10
#define ARGUMENTS_MAX 40u
#define LOG_BYTES_MAX 16384u

static const char agents_text[] =
    "name: quick\n"
    "description: answers at once\n"
    "model: scripted:m\n"
    "script:\n"
    "  m: [{content: First.}, {content: Second.}, {content: Third.}, {content: "
    "Fourth.}]\n"
    "---\n"
    "name: counted\n"
    "model: scripted:counted\n"
    "script:\n"
    "  counted: [{content: Yes., usage: {input_tokens: 700, output_tokens: 30}}]\n"
    "---\n"
    "name: slow\n"
    "model: scripted:m\n"
    "script:\n"
    "  m: [{content: Late., delay_ms: 600000}, {content: Late., delay_ms: 600000}]\n"
    "---\n"
    "name: steady\n"
    "description: takes a moment for each answer\n"
    "model: scripted:m\n"
    "script:\n"
    "  m: [{content: '1', delay_ms: 150}, {content: '2', delay_ms: 150},\n"
    "      {content: '3', delay_ms: 150}, {content: '4', delay_ms: 150}]\n"
    "---\n"
    "name: unlucky\n"
    "model: scripted:m\n"
    "tools: [hang_once]\n"
    "script:\n"
    "  m:\n"
    "    - {content: '', tool_calls: [{id: h, name: hang_once, args: {}}]}\n"
    "    - {content: Somebody else did it.}\n"
    "---\n"
    "name: hanger\n"
    "model: scripted:m\n"
    "tools: [hang]\n"
    "script:\n"
    "  m:\n"
    "    - {content: '', tool_calls: [{id: h, name: hang, args: {}}]}\n"
    "    - {content: Never.}\n"
    "---\n"
    "name: careful\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "interrupt_before: [tools]\n"
    "script:\n"
    "  m:\n"
    "    - {content: May I?, tool_calls: [{id: n, name: note, args: {text: hello}}]}\n"
    "    - {content: Thank you.}\n"
    "---\n"
    "name: broken\n"
    "model: scripted:m\n"
    "script:\n"
    "  m: [{http_error: 401, message: no such key}]\n";

/* hang leaves a child of its own behind it, as a build or a browser would. */
static const char tools_text[] =
    "name: note\n"
    "description: notes a text\n"
    "parameters: {properties: {text: {type: string}}}\n"
    "input: none\n"
    "command: echo \"noted $ARG_TEXT\"\n"
    "---\n"
    "name: tell\n"
    "description: tells how far it is, until there is a file\n"
    "parameters: {properties: {path: {type: string}}}\n"
    "streams: true\n"
    "input: none\n"
    "command: |\n"
    "  until test -e \"$ARG_PATH\"; do\n"
    "    echo '{\"done\": 0.5}' >&$FLOTILLA_STREAM_FD; sleep 0.02\n"
    "  done\n"
    "  echo told\n"
    "---\n"
    "name: hang_once\n"
    "description: does not end the first time\n"
    "input: none\n"
    "command: mkdir %s/begun 2>%s/why && sleep 600; echo done\n"
    "---\n"
    "name: hang\n"
    "description: never ends\n"
    "input: none\n"
    "command: |\n"
    "  sleep 600 &\n"
    "  echo $! > %s/child.tmp && mv %s/child.tmp %s/child\n"
    "  echo $$ > %s/parent.tmp && mv %s/parent.tmp %s/parent\n"
    "  wait\n";

void
fleet_up_write(struct fleet_up *fleet, const char *name, const char *text)
{
	FILE *file =
	    fopen(arena_printf(fleet->arena, "%s/%s", fleet->folder, name), "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

const char *
fleet_up_program(struct arena *arena)
{
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

	ck_assert_int_gt(size, 0);
	path[size] = '\0';
	*strrchr(path, '/') = '\0';
	return arena_printf(arena, "%s/bin/flotilla", path);
}

static void
add_flags(const char **argv, size_t *count, const char *const *flags)
{
	for (; flags != NULL && *flags != NULL; flags++) {
		ck_assert_uint_lt(*count, ARGUMENTS_MAX);
		argv[(*count)++] = *flags;
	}
}

void
fleet_up_start_with(
    struct fleet_up *fleet, const char *coordinators, const char *const *flags)
{
	const char *argv[ARGUMENTS_MAX + 1] = { NULL }, *f;
	size_t count = 0;
	struct said said;

	*fleet = (struct fleet_up){ .arena = arena_new(), .folder = folder_new() };
	f = fleet->folder;
	fleet->flotilla = (struct cli){ fleet_up_program(fleet->arena), f, fleet->arena };
	fleet_up_write(fleet, "agents.yaml", agents_text);
	fleet_up_write(fleet, "tools.yaml",
	    arena_printf(fleet->arena, tools_text, f, f, f, f, f, f, f, f));
	/* What it says is kept; the shell is no more when `up` runs. */
	add_flags(argv, &count,
	    (const char *const[]){ "sh", "-c", "exec \"$0\" \"$@\" 2>\"$LOG\"",
		fleet->flotilla.program, "up", "--folder", f, "--agents",
		arena_printf(fleet->arena, "%s/agents.yaml", f), "--tools",
		arena_printf(fleet->arena, "%s/tools.yaml", f), "--coordinators",
		coordinators, "--log-level", "error", "--embed", "scripted:words",
		NULL });
	add_flags(argv, &count, flags);
	fleet->up = child_start(
	    argv, (const char *const[]){ arena_printf(fleet->arena, "LOG=%s/up.log", f),
		      /* Some tests leave calls behind that never end. */
		      "FLOTILLA_DRAIN_MS=10000", NULL });
	said = cli_run(&(struct cli){ "cat", f, fleet->arena }, NULL,
	    (const char *const[]){ ".flotilla/fleet.json", NULL });
	fleet->redis = value_get_text(fleet_up_json(fleet, said.out), "redis");
	ck_assert_ptr_nonnull(fleet->redis);
}

void
fleet_up_start(struct fleet_up *fleet, const char *coordinators)
{
	fleet_up_start_with(fleet, coordinators, NULL);
}

void
fleet_up_stop(struct fleet_up *fleet)
{
	child_stop(&fleet->up);
	fputs(fleet_up_said(fleet), stderr); /* for who looks why a test has failed */
	folder_remove(&fleet->folder);
	arena_destroy(&fleet->arena);
}

const struct value *
fleet_up_json(struct fleet_up *fleet, const char *text)
{
	const char *error;
	const struct value *value = json_parse(fleet->arena, text, strlen(text), &error);

	ck_assert_msg(value != NULL, "%s: %s", error, text);
	return value;
}

static void
pause_a_little(void)
{
	const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };

	nanosleep(&pause, NULL);
}

void
fleet_up_wait(struct fleet_up *fleet, const char *const argv[],
    int (*holds)(const struct value *said, void *arg), void *arg)
{
	struct said said = { .out = "" };
	int tries;

	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		said = cli_run(&fleet->flotilla, NULL, argv);
		if (said.status == 0 && holds(fleet_up_json(fleet, said.out), arg))
			return;
		pause_a_little();
	}
	ck_abort_msg("%s %s says %s%s for ever", argv[0], argv[1], said.out, said.err);
}

/* --- processes ---------------------------------------------------------------------------- */

static const char *
read_small(struct arena *arena, const char *path)
{
	char text[4096];
	FILE *file = fopen(path, "re");
	size_t size;

	if (file == NULL)
		return NULL;
	size = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	return arena_copy(arena, text, size);
}

size_t
fleet_up_children(struct fleet_up *fleet, pid_t *pids, size_t max)
{
	int up = (int)child_pid(fleet->up);
	const char *list = read_small(fleet->arena,
	    arena_printf(fleet->arena, "/proc/%d/task/%d/children", up, up));
	size_t count = 0;
	char *end;

	ck_assert_ptr_nonnull(list);
	while (count < max) {
		long pid = strtol(list, &end, 10);

		if (end == list)
			break;
		pids[count++] = (pid_t)pid;
		list = end;
	}
	return count;
}

pid_t
fleet_up_pid_of(struct fleet_up *fleet, const char *name)
{
	pid_t pids[32];
	size_t count = fleet_up_children(fleet, pids, 32), i, at;

	for (i = 0; i < count; i++) {
		char line[4096] = "";
		FILE *file = fopen(
		    arena_printf(fleet->arena, "/proc/%d/cmdline", (int)pids[i]), "re");
		size_t size = file == NULL ? 0 : fread(line, 1, sizeof line - 1, file);

		if (file != NULL)
			fclose(file);
		for (at = 0; at < size; at += strlen(line + at) + 1)
			if (strcmp(line + at, name) == 0)
				return pids[i];
	}
	return 0;
}

int
process_is_gone(pid_t pid)
{
	struct arena *arena = arena_new();
	const char *stat =
	    read_small(arena, arena_printf(arena, "/proc/%d/stat", (int)pid));
	const char *state = stat != NULL ? strrchr(stat, ')') : NULL;
	int gone = state == NULL || strncmp(state, ") Z", 3) == 0;

	arena_destroy(&arena);
	return gone;
}

pid_t
fleet_up_pid_in(struct fleet_up *fleet, const char *name)
{
	const char *path = arena_printf(fleet->arena, "%s/%s", fleet->folder, name);
	int tries;

	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		const char *text = read_small(fleet->arena, path);

		if (text != NULL && isdigit((unsigned char)*text)) {
			unlink(path);
			return (pid_t)strtol(text, NULL, 10);
		}
		pause_a_little();
	}
	ck_abort_msg("%s was never written", path);
	return 0;
}

const char *
fleet_up_said(struct fleet_up *fleet)
{
	const char *path = arena_printf(fleet->arena, "%s/up.log", fleet->folder);
	FILE *file = fopen(path, "re");
	char *text;
	size_t size;

	ck_assert_ptr_nonnull(file);
	text = arena_alloc(fleet->arena, LOG_BYTES_MAX + 1);
	size = fread(text, 1, LOG_BYTES_MAX, file);
	text[size] = '\0';
	fclose(file);
	return text;
}

void
fleet_up_wait_said(struct fleet_up *fleet, const char *text)
{
	int tries;

	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		if (strstr(fleet_up_said(fleet), text) != NULL)
			return;
		pause_a_little();
	}
	ck_abort_msg("'%s' was never said, but: %s", text, fleet_up_said(fleet));
}
