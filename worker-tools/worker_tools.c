#include "worker_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "async_server.h"
#include "bodies.h"
#include "job.h"
#include "bounds.h"
#include "log.h"
#include "memory.h"
#include "registry.h"
#include "seat.h"
#include "shell_session.h"
#include "yaml_paths.h"
#include "tools.h"
#include "webhook.h"

/* Of the drain: to send results and give calls back when their time is over. */
#define HAND_BACK_MS INT64_C(2000)
#define ROOM_SHARE                                                                       \
	4u /* of the slots, one in so many: for webhooks, and kept from `wraps` */

struct worker_tools {
	struct service *service;
	const struct worker_tools_settings *settings;
	struct worker *worker;
	struct tool_source *source;
	struct mcp_servers *servers;
	struct job_world world;
	struct webhook webhook;
	struct trace *trace; /* or NULL */
	uint64_t drained_ms; /* when the drain must be over */
	char session[SESSION_BYTES + 1];
	char pin[sizeof SERVICE_WORKER_PREFIX + SESSION_BYTES];
};

#define FIELD(name) offsetof(struct worker_tools_settings, name)
const struct setting worker_tools_table[] = {
	SERVICE_SETTINGS,
	{ "broker", SETTING_LIST, FIELD(brokers), "tcp://127.0.0.1:7700", 0, 0, NULL,
	    "a broker's endpoint; give each of several", 0 },
	{ "slots", SETTING_INTEGER, FIELD(slots), "64", 1, CREDIT_MAX, NULL,
	    "calls at a time, all tools together", 0 },
	{ "tools", SETTING_LIST, FIELD(tools), NULL, 0, 0, NULL,
	    "a tool file, or a folder of them; may be given often", 0 },
	{ "builtin", SETTING_LIST, FIELD(builtin), NULL, 0, 0, NULL,
	    "a C tool to offer (calculate, http_get, now), or none; all when not given",
	    0 },
	{ "plugin", SETTING_LIST, FIELD(plugin), NULL, 0, 0, NULL,
	    "a shared object with middleware; may be given often", 0 },
	{ "allow-private", SETTING_BOOL, FIELD(allow_private), NULL, 0, 0, NULL,
	    "let http_get open loopback, private and link-local addresses", 0 },
	{ "agent-server", SETTING_LIST, FIELD(agent_servers), NULL, 0, 0, "URL",
	    "a server that async_subagent may call, URL[,VARIABLE[:HEADER]]: the "
	    "variable with its key, and the header that brings it; may be given often",
	    0 },
	{ "webhooks", SETTING_TEXT, FIELD(webhooks), "off", 0, 0, NULL,
	    "post the ends of runs to those who want to be told: off, public, or any: "
	    "loopback and private addresses, too",
	    0 },
	TRACE_SETTING(FIELD(trace_endpoint)),
	{ "drain-ms", SETTING_INTEGER, FIELD(drain_ms), "30000", 0, CALL_DEADLINE_MS_MAX,
	    "ms", "how long running calls may take after SIGTERM", 0 },
	{ "check", SETTING_BOOL, FIELD(check), NULL, 0, 0, NULL,
	    "check the tool files given as arguments, list their tools and exit", 0 },
	{ "list", SETTING_BOOL, FIELD(list), NULL, 0, 0, NULL,
	    "list all tools that a worker with these settings would offer, those of MCP "
	    "servers too, and exit",
	    0 },
	{ "call", SETTING_TEXT, FIELD(call), NULL, 0, 0, NULL,
	    "run this tool once with the arguments given as JSON (- reads them from "
	    "standard "
	    "input), print what it answers and exit",
	    0 },
	{ "answer", SETTING_LIST, FIELD(answer), NULL, 0, 0, NULL,
	    "with --call: what a human answers when the tool asks, JSON or a text; again "
	    "for "
	    "its next question",
	    0 },
	{ NULL },
};

const struct settings_help worker_tools_help = {
	.program = "worker-tools",
	.usage = "[FILE... | JSON]",
	.summary =
	    "Runs tools for the agents of a fleet. With --check or --call it needs no "
	    "fleet and helps to write tools: docs/tools.md.",
};

/* --- tools -------------------------------------------------------------------------- */

static struct tool_source *
load_source(const struct worker_tools_settings *settings, struct arena *arena,
    const char **error_r)
{
	const char *const *files =
	    yaml_paths_expand(arena, settings->tools, yaml_endings, error_r);

	return files == NULL ? NULL : tool_source_load(files, arena, error_r);
}

struct tool_source *
worker_tools_load(const struct worker_tools_settings *settings, struct arena *arena,
    const char **error_r)
{
	const char *const *path = settings->plugin;

	for (; path != NULL && *path != NULL; path++)
		if (registry_load(*path, error_r) == -1) {
			*error_r = arena_printf(arena, "plugin %s: %s", *path, *error_r);
			return NULL;
		}
	return load_source(settings, arena, error_r);
}

static void
log_tools(struct tool_table *table)
{
	size_t i, count;
	const struct tool_entry *entries = tool_table_entries(table, &count);

	log_info("tools count=%zu", count);
	for (i = 0; i < count; i++) {
		const struct command_tool *command = entries[i].command;
		const char *unset = command == NULL ? NULL : tool_file_unset(command);

		if (unset != NULL)
			log_warnx("tool=%s variable %s is not set and will be missing",
			    entries[i].name, unset);
	}
}

/* --- the worker --------------------------------------------------------------------- */

static const struct value *
on_call(void *arg, struct worker_call *call)
{
	struct worker_tools *tools = arg;
	const char *service = call->header->service;

	if (service != NULL && strcmp(service, SERVICE_WEBHOOK) == 0)
		return webhook_answer(&tools->webhook, call);
	return job_answer(&tools->world, call);
}

static bool
posts(const struct worker_tools *tools)
{
	return strcmp(tools->settings->webhooks, "off") != 0;
}

/* How many of slots, of all brokers together, each is told of. */
static uint32_t
part_of(const struct worker_tools *tools, uint32_t slots)
{
	return worker_part((const char *const *)tools->settings->brokers, slots);
}

static uint32_t
share_of(uint32_t slots)
{
	return slots < 2 * ROOM_SHARE ? 1 : slots / ROOM_SHARE;
}

/* A receiver may take ten seconds to say nothing: however many are to be told, tools keep the other slots. */
static uint32_t
webhook_slots(const struct worker_tools *tools)
{
	return part_of(tools, share_of((uint32_t)tools->settings->slots));
}

/* A call that waits for another worker's tool may wait for minutes: however many do, and whatever webhooks take, a
 * share is left (bodies.h, SERVICE_WRAPS). */
static uint32_t
wraps_slots(const struct worker_tools *tools)
{
	uint32_t slots = (uint32_t)tools->settings->slots;
	uint32_t others = share_of(slots) * (posts(tools) ? 2 : 1);

	return part_of(tools, slots > others ? slots - others : 1);
}

/* What its tools are, `wraps`, the service of this worker alone, and `webhook` where it posts. In
 * the arena. */
static const struct wire_service *
services_of(struct worker_tools *tools, struct tool_table *table, struct arena *arena,
    size_t *count_r)
{
	uint32_t slots = (uint32_t)tools->settings->slots;
	const struct wire_service *services = tool_table_services(table, slots, count_r);
	struct wire_service *all = arena_alloc(arena, (*count_r + 3) * sizeof *all);

	memcpy(all, services, *count_r * sizeof *all);
	all[(*count_r)++] = (struct wire_service){ SERVICE_WRAPS, wraps_slots(tools) };
	all[(*count_r)++] = (struct wire_service){ tools->pin, 0 };
	if (posts(tools))
		all[(*count_r)++] =
		    (struct wire_service){ SERVICE_WEBHOOK, webhook_slots(tools) };
	return all;
}

static void
open_webhook(struct worker_tools *tools)
{
	const char *setting = tools->settings->webhooks;
	const char *secret = getenv("FLOTILLA_WEBHOOK_SECRET");

	if (!webhook_is_setting(setting))
		settings_refuse(
		    "worker-tools", "--webhooks", setting, "off, public or any");
	tools->webhook = (struct webhook){ .http = tools_world()->http,
		.any = strcmp(setting, "any") == 0,
		.secret = secret != NULL && *secret != '\0' ? secret : NULL };
}

static void
open_agent_servers(const struct worker_tools_settings *settings)
{
	const char *item, *allowed;

	if (async_servers_open(tools_world()->http,
		(const char *const *)settings->agent_servers, &item, &allowed) == -1)
		settings_refuse("worker-tools", "--agent-server", item, allowed);
}

static struct worker *
start_worker(struct worker_tools *tools)
{
	struct worker_options options = {
		.endpoints = (const char *const *)tools->settings->brokers,
		.name = tools->settings->common.name,
		.session = tools->session,
		.capacity = (uint32_t)tools->settings->slots,
		.catalog = tool_table_catalog(tools->world.table),
		.trace = tools->trace,
		.answer = on_call,
		.arg = tools,
	};
	struct arena *arena = arena_new();
	const char *wrong, *allowed;
	struct worker *worker;

	service_session(tools->session);
	tools->world.worker = tools->session;
	tools->world.seats = seats_new(tools->world.loop, tools->session);
	snprintf(
	    tools->pin, sizeof tools->pin, SERVICE_WORKER_PREFIX "%s", tools->session);
	options.services =
	    services_of(tools, tools->world.table, arena, &options.service_count);
	worker = worker_new(tools->world.loop, &options, &wrong, &allowed);
	if (worker == NULL)
		settings_refuse("worker-tools", "--broker", wrong, allowed);
	arena_destroy(&arena);
	return worker;
}

/* Takes table in place of the one there is. Calls that run keep the tools they began with. */
static void
offer(struct worker_tools *tools, struct tool_table *table)
{
	struct arena *arena = arena_new();
	const struct wire_service *services;
	size_t count;

	services = services_of(tools, table, arena, &count);
	worker_set_services(tools->worker, services, count, tool_table_catalog(table));
	tool_table_follow(table, tools->world.table);
	tool_table_release(&tools->world.table);
	tools->world.table = table;
	log_tools(table);
	arena_destroy(&arena);
}

/* What MCP servers have has changed. */
static void
on_change(void *arg)
{
	struct worker_tools *tools = arg;
	struct arena *arena = arena_new();
	const char *error;
	struct tool_table *table = tool_table_new(
	    tools->settings->builtin, tools->source, tools->servers, arena, &error);

	/* What is refused of a source was refused when it came. */
	if (table == NULL || service_is_draining(tools->service))
		tool_table_release(&table);
	else
		offer(tools, table);
	arena_destroy(&arena);
}

/* Returns what the tool files are now, or NULL with a reason in arena. */
static struct tool_source *
read_again(const struct worker_tools *tools, struct arena *arena, const char **error_r)
{
	struct tool_source *source = load_source(tools->settings, arena, error_r);
	struct tool_table *table = NULL;

	if (source != NULL)
		table = tool_table_new(
		    tools->settings->builtin, source, NULL, arena, error_r);
	if (table == NULL)
		tool_source_release(&source);
	tool_table_release(&table);
	return source;
}

/* SIGHUP: the tool files as they are now. */
static void
on_reload(void *arg)
{
	struct worker_tools *tools = arg;
	struct arena *arena = arena_new();
	const char *error = "the worker is draining";
	struct tool_source *source =
	    service_is_draining(tools->service) ? NULL : read_again(tools, arena, &error);

	if (source == NULL) {
		log_warnx("the tools stay as they were: %s", error);
	} else {
		tool_source_release(&tools->source);
		tools->source = source;
		mcp_servers_follow(tools->servers, source);
		on_change(tools);
	}
	arena_destroy(&arena);
}

static void
load_tools(struct worker_tools *tools)
{
	struct arena *arena = arena_new();
	const char *error;

	tools->source = worker_tools_load(tools->settings, arena, &error);
	if (tools->source != NULL)
		tools->world.table = tool_table_new(
		    tools->settings->builtin, tools->source, NULL, arena, &error);
	if (tools->world.table == NULL)
		fatalx("%s", error);
	arena_destroy(&arena);
	log_tools(tools->world.table);
}

struct worker_tools *
worker_tools_new(struct service *service, const struct worker_tools_settings *settings)
{
	struct worker_tools *tools = xcalloc(1, sizeof *tools);

	tools->service = service;
	tools->settings = settings;
	tools->world.loop = service_loop(service);
	tools->trace = trace_new(
	    tools->world.loop, &(struct trace_options){ .program = "worker-tools",
				   .instance = settings->common.name,
				   .endpoint = settings->trace_endpoint });
	load_tools(tools);
	tools->world.chains = chains_new();
	tools_open(tools->world.loop, settings->allow_private);
	open_webhook(tools);
	open_agent_servers(settings);
	shell_sessions_open(tools->world.loop);
	tools->servers =
	    mcp_servers_new(tools->world.loop, tools_world()->http, on_change, tools);
	mcp_servers_follow(tools->servers, tools->source);
	tools->worker = start_worker(tools);
	service_on_reload(service, on_reload, tools);
	return tools;
}

void
worker_tools_destroy(struct worker_tools **tools_p)
{
	struct worker_tools *tools = *tools_p;

	*tools_p = NULL;
	if (tools == NULL)
		return;
	worker_destroy(&tools->worker);
	tool_table_release(&tools->world.table);
	mcp_servers_destroy(&tools->servers);
	shell_sessions_close(tools->world.loop);
	async_servers_close();
	tools_close();
	seats_destroy(&tools->world.seats);
	chains_destroy(&tools->world.chains);
	tool_source_release(&tools->source);
	trace_destroy(&tools->trace);
	free(tools);
}

static void
on_told(void *arg)
{
	struct worker_tools *tools = arg;

	service_end(tools->service);
}

static void
on_ended(void *arg)
{
	struct worker_tools *tools = arg;

	trace_finish(tools->trace, trace_flush_ms(tools->world.loop, tools->drained_ms),
	    on_told, tools);
}

static void
on_drained(void *arg)
{
	struct worker_tools *tools = arg;

	seats_end(tools->world.seats, on_ended, tools);
}

void
worker_tools_drain(void *arg)
{
	struct worker_tools *tools = arg;
	int64_t drain_ms = tools->settings->drain_ms;

	tools->drained_ms = loop_now_ms(tools->world.loop) + (uint64_t)drain_ms;
	seats_close(tools->world.seats);
	drain_ms = drain_ms > 2 * HAND_BACK_MS ? drain_ms - HAND_BACK_MS : drain_ms / 2;
	worker_drain(tools->worker, (uint64_t)drain_ms, on_drained, tools);
}
