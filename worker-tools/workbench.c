#include "workbench.h"

#include <stdio.h>
#include <string.h>

#include "bodies.h"
#include "chat.h"
#include "fault.h"
#include "fiber.h"
#include "job.h"
#include "json.h"
#include "nearest.h"
#include "yaml_paths.h"
#include "tools.h"
#include "uncertain.h"

#define SETTLED_LOOK_MS 5u
#define WHO "by-hand" /* run, thread and agent of such a call */

/* --- check -------------------------------------------------------------------------- */

static const char *
command_text(struct arena *arena, const struct command_tool *tool)
{
	const char *text = tool->shell;
	size_t i, j;

	if (text != NULL)
		return arena_printf(arena, "/bin/sh: %.*s%s", (int)strcspn(text, "\n"),
		    text, strchr(text, '\n') == NULL ? "" : " ...");
	text = "";
	for (i = 0; i < tool->item_count; i++) {
		const struct template *item = &tool->items[i];

		text = arena_printf(arena, "%s%s", text, i == 0 ? "" : " ");
		for (j = 0; j < item->count; j++)
			text =
			    item->parts[j].is_argument
				? arena_printf(arena, "%s{%s}", text, item->parts[j].text)
				: arena_printf(arena, "%s%s", text, item->parts[j].text);
	}
	return text;
}

static void
print_tool(struct arena *arena, const struct command_tool *tool)
{
	const char *unset = tool_file_unset(tool);

	printf("%-24s %s\n", tool->name, command_text(arena, tool));
	printf("%-24s %s, timeout %llu ms, output %llu bytes", "", tool->place,
	    (unsigned long long)tool->timeout_ms,
	    (unsigned long long)tool->output_bytes_max);
	if (tool->max_parallel > 0)
		printf(", %llu at a time", (unsigned long long)tool->max_parallel);
	if (!value_get_bool(tool->definition, "idempotent", true))
		printf(", never run twice, uncertain: %s",
		    uncertain_name(uncertain_of(tool->definition)));
	if (value_get_bool(tool->definition, "return_direct", false))
		printf(", ends the run");
	printf("\n");
	if (unset != NULL)
		printf("%-24s note: the variable %s is not set here\n", "", unset);
}

static void
print_server(struct arena *arena, const struct mcp_options *server)
{
	const char *unset =
	    server->program != NULL ? tool_file_unset(server->program) : NULL;

	printf("%-24s MCP: %s\n", server->name,
	    server->program == NULL ? server->url : command_text(arena, server->program));
	printf("%-24s %s, timeout %llu ms; --list asks it for its tools\n", "",
	    server->place, (unsigned long long)server->timeout_ms);
	if (unset != NULL)
		printf("%-24s note: the variable %s is not set here\n", "", unset);
}

static int
check_file(struct arena *arena, const char *path)
{
	const char *error;
	const struct tool_file *file = tool_file_load(arena, path, &error);
	const struct command_tool *const *tool;
	const struct mcp_options *const *server;

	if (file == NULL) {
		fprintf(stderr, "%s\n", error);
		return -1;
	}
	for (tool = file->tools; *tool != NULL; tool++)
		print_tool(arena, *tool);
	for (server = file->servers; *server != NULL; server++)
		print_server(arena, *server);
	return 0;
}

/* What no file shows alone: a name that is taken. */
static int
check_together(const struct worker_tools_settings *settings, struct arena *arena,
    const char *const *files)
{
	const char *error;
	struct tool_source *source = tool_source_load(files, arena, &error);
	struct tool_table *table = NULL;
	int failed;

	if (source != NULL)
		table = tool_table_new(settings->builtin, source, NULL, arena, &error);
	failed = table == NULL ? -1 : 0;
	if (failed == -1)
		fprintf(stderr, "%s\n", error);
	tool_table_release(&table);
	tool_source_release(&source);
	return failed;
}

static int
check_files(const struct worker_tools_settings *settings, struct arena *arena,
    const char *const *files)
{
	const char *const *path;
	int failed = 0;

	for (path = files; *path != NULL; path++)
		if (check_file(arena, *path) == -1)
			failed = -1;
	if (failed == 0)
		failed = check_together(settings, arena, files);
	return failed == 0 ? WORKBENCH_OK : WORKBENCH_FAILED;
}

int
workbench_check(const struct worker_tools_settings *settings, const char *const *files)
{
	struct arena *arena = arena_new();
	const char *error = "--check: name tool files, or folders of them";
	int status = WORKBENCH_USAGE;

	files = yaml_paths_expand(
	    arena, files[0] == NULL ? settings->tools : files, yaml_endings, &error);
	if (files == NULL || files[0] == NULL)
		fprintf(stderr, "%s\n", error);
	else
		status = check_files(settings, arena, files);
	arena_destroy(&arena);
	return status;
}

/* --- call --------------------------------------------------------------------------- */

struct bench {
	struct arena *arena;
	struct service *service;
	struct fiber *fiber;
	struct job_world world;
	struct tool_source *source;
	struct mcp_servers *servers;
	const struct value *args, *answers;
	struct tool_entry *entry;
	const struct value *body; /* what came */
};

static const char *
read_all(struct arena *arena, FILE *file, size_t *size_r)
{
	struct packet packet = { 0 };
	char buffer[4096];
	const char *text;
	size_t count;

	while ((count = fread(buffer, 1, sizeof buffer, file)) > 0)
		packet_append(&packet, buffer, count);
	text = arena_copy(arena, packet.data, packet.size);
	*size_r = packet.size;
	packet_release(&packet);
	return text;
}

/* Reads the one argument behind --call NAME; none is {}. */
static int
read_args(struct bench *bench, const char *const *rest)
{
	const char *text = rest[0] == NULL ? "{}" : rest[0], *error;
	size_t size = strlen(text);

	if (rest[0] != NULL && rest[1] != NULL) {
		fprintf(stderr,
		    "--call: one JSON object is wanted, and '%s' came after it; put the "
		    "JSON in single quotes\n",
		    rest[1]);
		return -1;
	}
	if (strcmp(text, "-") == 0)
		text = read_all(bench->arena, stdin, &size);
	bench->args = json_parse(bench->arena, text, size, &error);
	if (bench->args == NULL)
		fprintf(stderr, "--call: the arguments are no JSON: %s\n", error);
	else if (!value_is(bench->args, VALUE_MAP))
		fprintf(stderr, "--call: the arguments must be a JSON object such as "
				"'{\"text\": \"hello\"}'\n");
	return value_is(bench->args, VALUE_MAP) ? 0 : -1;
}

static const struct value *
read_answers(struct arena *arena, const char *const *answers)
{
	struct value_list list = { .arena = arena };
	const struct value *answer;
	const char *error;

	for (; *answers != NULL; answers++) {
		answer = json_parse(arena, *answers, strlen(*answers), &error);
		value_list_add(
		    &list, answer != NULL ? answer : value_str(arena, *answers));
	}
	return value_list_end(&list);
}

static int
find_entry(struct bench *bench, const char *name)
{
	size_t i, count;
	struct tool_entry *entries = tool_table_entries(bench->world.table, &count);
	const char **names = arena_alloc(bench->arena, count * sizeof *names);
	const char *nearest;

	bench->entry = tool_table_find(bench->world.table, name);
	if (bench->entry != NULL)
		return 0;
	for (i = 0; i < count; i++)
		names[i] = entries[i].name;
	nearest = nearest_name(name, names, count);
	fprintf(stderr, "--call: there is no tool '%s'%s%s%s; --tools names the files\n",
	    name, nearest == NULL ? "" : ", did you mean '",
	    nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
	return -1;
}

static const struct value *
tool_call_of(const struct bench *bench)
{
	struct arena *arena = bench->arena;

	return value_map(arena, "name", value_str(arena, bench->entry->name), "args",
	    bench->args, "id", value_str(arena, WHO), "type",
	    value_str(arena, "tool_call"), NULL);
}

static void
on_told(const struct value *value)
{
	struct arena *arena = arena_new();

	fprintf(stderr, "told: %s\n", json_text(arena, value));
	arena_destroy(&arena);
}

static void
bench_main(void *arg)
{
	struct bench *bench = arg;
	struct arena *arena = bench->arena;
	const struct header header = {
		.type = MSG_CALL,
		.call_id = WHO,
		.service =
		    arena_printf(arena, SERVICE_TOOL_PREFIX "%s", bench->entry->name),
		.attempt = 1,
	};
	const struct value *name = value_str(arena, bench->entry->name);
	struct worker_call call = {
		.header = &header,
		.arena = arena,
		.profile = value_map(arena, "agent", value_str(arena, WHO), "tools",
		    value_array(arena, &name, 1), "middleware", value_empty_array(),
		    NULL),
		.request = value_map(arena, "run", value_str(arena, WHO), "thread",
		    value_str(arena, WHO), "tool_call", tool_call_of(bench), "tool",
		    bench->entry->definition, "answers", bench->answers, NULL),
	};

	bench->body = job_answer(&bench->world, &call);
	service_end(bench->service);
}

static void
on_signal(void *arg)
{
	struct bench *bench = arg;

	if (bench->fiber != NULL)
		fiber_cancel(bench->fiber);
}

static int
print_fault(struct arena *arena, const struct value *value)
{
	const struct fault *fault = fault_from_value(arena, value);

	fprintf(stderr, "%s: %s\n", fault->type, fault->message);
	return fault->control ? WORKBENCH_CANCELLED : WORKBENCH_FAILED;
}

static void
print_more(struct arena *arena, const char *name, const struct value *value)
{
	if (!value_is_nil(value))
		fprintf(stderr, "%s: %s\n", name, json_text(arena, value));
}

/* What command says beside the text of message, which is one of its own. */
static void
print_rest(struct arena *arena, const struct value *command, const struct value *message)
{
	const struct value *update = value_get(command, "update");

	if (value_size(value_get(update, "messages")) <= 1)
		update = value_map_with(arena, update, "messages", NULL);
	if (!value_is(value_get(message, "content"), VALUE_STR))
		print_more(arena, "content", value_get(message, "content"));
	print_more(arena, "artifact", value_get(message, "artifact"));
	print_more(arena, "update", value_size(update) == 0 ? NULL : update);
	print_more(arena, "goto", value_get(command, "goto"));
}

static const struct value *
tool_message_in(const struct value *messages)
{
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		if (chat_is(value_at(messages, i), "tool"))
			return value_at(messages, i);
	return NULL;
}

/* Prints the tool message that answers the call; to stderr what else came with it. */
static int
print_body(const struct bench *bench)
{
	const struct value *fault = value_get(bench->body, "fault");
	const struct value *command = value_at(value_get(bench->body, "commands"), 0);
	const struct value *message =
	    tool_message_in(value_get(value_get(command, "update"), "messages"));
	const struct value *asked = value_get(bench->body, "interrupt");
	bool failed = value_text_is(value_get(message, "status"), "error");

	if (asked != NULL) {
		fprintf(stderr, "asks: %s\n", json_text(bench->arena, asked));
		return WORKBENCH_ASKS;
	}
	if (fault != NULL)
		return print_fault(bench->arena, fault);
	fprintf(failed ? stderr : stdout, "%s\n", chat_text(bench->arena, message));
	print_rest(bench->arena, command, message);
	return failed ? WORKBENCH_FAILED : WORKBENCH_OK;
}

/* --- tools that are open -------------------------------------------------------------- */

static void
on_change(void *arg)
{
	(void)arg;
}

static void
wait_for_servers(void *arg)
{
	struct bench *bench = arg;

	while (
	    !mcp_servers_are_settled(bench->servers) && fiber_sleep(SETTLED_LOOK_MS) == 0)
		;
	service_end(bench->service);
}

/* Returns false when a signal came before they were open. */
static bool
open_servers(struct bench *bench)
{
	mcp_servers_follow(bench->servers, bench->source);
	bench->fiber = fiber_start(bench->world.loop, "open", wait_for_servers, bench);
	service_run(bench->service, on_signal, bench);
	return !service_is_draining(bench->service);
}

/* Opens what the tools need, MCP servers too, and waits for these. Returns the exit status when that is all, or WORKBENCH_OK.
 * A service without settings of its own: for the loop, and for Ctrl-C to reach a tool, which is in a process group of its own. */
static int
open_bench(struct bench *bench, const struct worker_tools_settings *settings)
{
	static const struct setting table[] = { SERVICE_SETTINGS, { .name = NULL } };
	static struct service_settings common;
	char program[] = "worker-tools", level[] = "--log-level=warn";
	char *argv[] = { program, level, NULL };
	const char *error;

	bench->service = service_start(program, table, &common, 2, argv);
	bench->world.loop = service_loop(bench->service);
	bench->world.chains = chains_new();
	bench->world.told = on_told;
	tools_open(bench->world.loop, settings->allow_private);
	bench->servers =
	    mcp_servers_new(bench->world.loop, tools_world()->http, on_change, NULL);
	bench->source = worker_tools_load(settings, bench->arena, &error);
	if (bench->source != NULL) {
		if (!open_servers(bench))
			return WORKBENCH_CANCELLED;
		bench->world.table = tool_table_new(settings->builtin, bench->source,
		    bench->servers, bench->arena, &error);
	}
	if (bench->world.table != NULL)
		return WORKBENCH_OK;
	fprintf(stderr, "%s\n", error);
	return WORKBENCH_USAGE;
}

static int
close_bench(struct bench *bench, int status)
{
	bench->fiber = NULL; /* it has ended: a signal that comes now stops nothing */
	tool_table_release(&bench->world.table);
	mcp_servers_destroy(&bench->servers);
	tool_source_release(&bench->source);
	tools_close();
	chains_destroy(&bench->world.chains);
	return service_stop_with(&bench->service, status);
}

/* --- both --------------------------------------------------------------------------------- */

static int
run(struct bench *bench)
{
	bench->fiber = fiber_start(bench->world.loop, "call", bench_main, bench);
	service_run(bench->service, on_signal, bench);
	return print_body(bench);
}

int
workbench_call(const struct worker_tools_settings *settings, const char *const *rest)
{
	struct bench bench = { .arena = arena_new() };
	int status = WORKBENCH_USAGE;

	bench.answers = read_answers(bench.arena, settings->answer);
	if (read_args(&bench, rest) == 0) {
		status = open_bench(&bench, settings);
		if (status == WORKBENCH_OK)
			status = find_entry(&bench, settings->call) == 0
				     ? run(&bench)
				     : WORKBENCH_USAGE;
		status = close_bench(&bench, status);
	}
	arena_destroy(&bench.arena);
	return status;
}

static const char *
origin_of(const struct tool_entry *entry)
{
	if (entry->server != NULL)
		return mcp_server_options(entry->server)->name;
	return entry->command != NULL ? entry->command->place : "--builtin";
}

static int
list_all(const struct bench *bench)
{
	size_t i, count;
	const struct tool_entry *entries = tool_table_entries(bench->world.table, &count);
	struct mcp_server *server = NULL;
	int status = WORKBENCH_OK;

	for (i = 0; i < count; i++)
		printf("%-32s %s%s\n", entries[i].name, origin_of(&entries[i]),
		    value_get_bool(entries[i].definition, "idempotent", true)
			? ""
			: ", never run twice");
	while ((server = mcp_servers_next(bench->servers, server)) != NULL)
		if (mcp_server_trouble(server) != NULL)
			status = WORKBENCH_FAILED; /* the log has said why */
	return status;
}

int
workbench_list(const struct worker_tools_settings *settings)
{
	struct bench bench = { .arena = arena_new() };
	int status = open_bench(&bench, settings);

	if (status == WORKBENCH_OK)
		status = list_all(&bench);
	status = close_bench(&bench, status);
	arena_destroy(&bench.arena);
	return status;
}
