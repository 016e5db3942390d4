/* worker_tools: the tool worker: its settings, its tools, its session with the broker. */
#ifndef WORKER_TOOLS_H
#define WORKER_TOOLS_H

#include "service.h"

struct worker_tools_settings {
	struct service_settings common;
	const char **brokers;
	int64_t slots;
	const char **tools;
	const char **builtin;
	const char **plugin;
	const char **agent_servers;
	bool allow_private;
	const char *webhooks; /* "off", "public", "any" */
	int64_t drain_ms;
	const char *trace_endpoint;
	bool check;
	bool list;
	const char *call;
	const char **answer;
};

extern const struct setting worker_tools_table[];
extern const struct settings_help worker_tools_help;

struct arena;
struct worker_tools;
struct tool_source;

/* Loads the plugins and the tool files that settings name. Returns a new source, or NULL with a
 * reason in arena. Once a process, before the first fiber. */
struct tool_source *worker_tools_load(const struct worker_tools_settings *settings,
    struct arena *arena, const char **error_r);

/* Returns new, connecting to the broker; keeps both. Ends the process with a reason when
 * a tool cannot be offered: a fleet must not run with half of its tools. */
struct worker_tools *worker_tools_new(
    struct service *service, const struct worker_tools_settings *settings);
void worker_tools_destroy(struct worker_tools **tools_p);

/* For service_run: ends when every call has ended or was given back. */
void worker_tools_drain(void *arg);

#endif
