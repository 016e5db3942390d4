/* agents: `agents VERB` (agent_history.c has those about versions), and `graph`. */
#include <stdio.h>
#include <string.h>

#include "agent_file.h"
#include "agents.h"
#include "command.h"
#include "graph.h"
#include "show.h"
#include "spec.h"
#include "store_agents.h"
#include "tame.h"
#include "verb.h"

static const struct setting agents_table[] = {
	COMMON_SETTINGS,
	{ "plugin", SETTING_LIST, offsetof(struct agents_settings, plugins), NULL, 0, 0,
	    NULL, "a shared object with middleware; may be given several times", 0 },
	{ "models", SETTING_TEXT, offsetof(struct agents_settings, models), NULL, 0, 0,
	    NULL, "a YAML file with what models can do, hold and cost", 0 },
	{ "comment", SETTING_TEXT, offsetof(struct agents_settings, comment), NULL, 0, 0,
	    NULL, "why, for the agent's history", 0 },
	SETTINGS_END,
};
static const struct setting graph_table[] = {
	COMMON_SETTINGS,
	{ "plugin", SETTING_LIST, offsetof(struct agents_settings, plugins), NULL, 0, 0,
	    NULL, "a shared object with middleware; may be given several times", 0 },
	{ "models", SETTING_TEXT, offsetof(struct agents_settings, models), NULL, 0, 0,
	    NULL, "a YAML file with what models can do, hold and cost", 0 },
	SETTINGS_END,
};

/* What a spec is checked with. */
static enum status
load_knowledge(struct session *session, const struct agents_settings *settings)
{
	int status = session_load_plugins((const char *const *)settings->plugins);

	if (status == STATUS_OK)
		status = session_load_models(session, settings->models);
	return (enum status)status;
}

/* --- apply, list -------------------------------------------------------------------- */

static enum status
apply(struct session *session, const struct agents_settings *settings,
    const char *const *files)
{
	int status = STATUS_OK, worst = STATUS_OK;

	if (*files == NULL) {
		complain("which FILES?");
		return STATUS_USAGE;
	}
	/* A bad file does not keep the others from being applied. */
	for (; *files != NULL && status != STATUS_UNREACHABLE; files++) {
		status = agent_file_apply(
		    session, *files, settings->comment, session_json(session), NULL);
		if (status != STATUS_OK)
			worst = status;
	}
	return (enum status)worst;
}

static const struct value *
describe(struct session *session, const char *name, const char *version)
{
	struct arena *arena = session_arena(session);
	const struct value *source = NULL, *log = NULL;

	store_agent_source(session_store(session), arena, version, &source);
	store_agent_log(session_store(session), arena, name, &log);
	return value_map(arena, "name", value_str(arena, name), "version",
	    value_str(arena, version), "number",
	    value_size(log) > 0 ? value_int(arena, (int64_t)value_size(log)) : NULL,
	    "model", value_get(source, "model"), "description",
	    value_get(source, "description"), "tools", value_get(source, "tools"), NULL);
}

static enum status
list(struct session *session, const struct agents_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);
	struct value_list all = { .arena = arena };
	const struct value *agents;
	enum store_status status;
	size_t i;

	(void)settings;
	if (rest[0] != NULL) {
		complain("usage: flotilla agents list");
		return STATUS_USAGE;
	}
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = store_agents(session_store(session), arena, &agents);
	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	for (i = 0; i < value_size(agents); i++)
		value_list_add(&all, describe(session, value_text(agents->pairs[i].key),
					 value_text(agents->pairs[i].value)));
	if (session_json(session)) {
		printf("%s\n", tame_json(arena, value_list_end(&all)));
		return STATUS_OK;
	}
	printf("%-20s %6s  %-12s  %-24s %s\n", "AGENT", "NUMBER", "VERSION", "MODEL",
	    "DESCRIPTION");
	for (i = 0; i < all.count; i++) {
		const char *text = value_get_text(all.items[i], "description");
		const char *model = value_get_text(all.items[i], "model");

		printf("%-20s %6d  %.12s  %-24s %s\n",
		    value_get_text(all.items[i], "name"),
		    (int)value_get_int(all.items[i], "number", 1),
		    value_get_text(all.items[i], "version"), model != NULL ? model : "-",
		    text != NULL ? show_line(arena, text, 80) : "");
	}
	return STATUS_OK;
}

static const struct verb {
	const char *name;
	enum status (*run)(struct session *session,
	    const struct agents_settings *settings, const char *const *rest);
} verbs[] = {
	{ "apply", apply },
	{ "list", list },
	{ "show", agents_show },
	{ "history", agents_history },
	{ "diff", agents_diff },
	{ "rollback", agents_rollback },
	{ "delete", agents_delete },
};
#define VERB_COUNT (sizeof verbs / sizeof *verbs)

static enum status
run_agents(struct session *session, const void *settings, const char *const *rest)
{
	static const char *const none[] = { NULL };
	enum status status = load_knowledge(session, settings);
	size_t i;

	if (status != STATUS_OK)
		return status;
	if (rest[0] == NULL)
		return list(session, settings, none);
	i = verb_find("agents", rest[0], verbs, VERB_COUNT, sizeof *verbs);
	return i < VERB_COUNT ? verbs[i].run(session, settings, rest + 1) : STATUS_USAGE;
}

const struct command command_agents = {
	.name = "agents",
	.usage = "apply FILES... | list | show NAME[@VERSION] | history NAME | diff "
		 "NAME[@VERSION] [VERSION] | rollback NAME [VERSION] | delete NAME",
	.summary = "checks and applies agent files; lists, compares, takes back versions",
	.text =
	    "apply checks agent files whole and makes their agents the fleet's; runs "
	    "that are under way keep the version they started with. Each version has a "
	    "number, and its beginning names it, too. diff compares with the version "
	    "before, or NAME@VERSION with the newest or another. rollback goes back to "
	    "the version before, or to another; that is a number of its own.",
	.table = agents_table,
	.settings_size = sizeof(struct agents_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_agents,
};

/* --- graph -------------------------------------------------------------------------- */

static const struct spec *
load_named(struct session *session, const char *name, enum status *status_r)
{
	struct arena *arena = session_arena(session);
	const char *version, *path = "", *error = NULL;
	const struct value *source;
	const struct spec *spec;
	enum store_status stored;

	*status_r = (enum status)agent_version(session, name, &version);
	if (*status_r != STATUS_OK)
		return NULL;
	stored = store_agent_source(session_store(session), arena, version, &source);
	if (stored != STORE_OK) {
		*status_r = stored == STORE_NONE
				? STATUS_NOT_FOUND
				: (enum status)session_store_failed(session, stored);
		return NULL;
	}
	spec = spec_load(arena, source, name, &path, &error);
	if (spec == NULL) {
		complain("agent '%s': %s: %s", name, path, error);
		*status_r = STATUS_FAILED;
	}
	return spec;
}

static const struct spec *
load_file(struct session *session, const char *path, enum status *status_r)
{
	const struct spec *const *specs;
	const char *error;
	long count = spec_load_file(session_arena(session), path, &specs, &error);

	*status_r = count > 0 ? STATUS_OK : STATUS_FAILED;
	if (count <= 0)
		complain("%s", count == 0 ? "no agent in the file" : error);
	return count > 0 ? specs[0] : NULL;
}

static enum status
run_graph(struct session *session, const void *settings, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	enum status status = load_knowledge(session, settings);
	const char *path = "", *error = NULL;
	const struct spec *spec;
	const struct graph *graph;

	if (status != STATUS_OK)
		return status;
	if (rest[0] == NULL) {
		complain("which AGENT (or file)?");
		return STATUS_USAGE;
	}
	spec = agent_is_file(rest[0]) ? load_file(session, rest[0], &status)
				      : load_named(session, rest[0], &status);
	if (spec == NULL)
		return status;
	graph = graph_compile(arena, spec, &path, &error);
	if (graph == NULL) {
		complain("agent '%s': %s: %s", spec->name, path, error);
		return STATUS_FAILED;
	}
	if (session_json(session))
		printf("%s\n", tame_json(arena, graph_value(arena, graph)));
	else
		fputs(graph_mermaid(arena, graph), stdout);
	return STATUS_OK;
}

const struct command command_graph = {
	.name = "graph",
	.usage = "AGENT",
	.summary = "draws an agent's graph as Mermaid text",
	.text = "Draws the graph of AGENT (a name, or a file, which needs no fleet): "
		"nodes, edges, "
		"conditional edges dotted.",
	.table = graph_table,
	.settings_size = sizeof(struct agents_settings),
	.arguments_max = 1,
	.run = run_graph,
};
