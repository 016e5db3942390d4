#include "agent_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "fiber.h"
#include "graph.h"
#include "nearest.h"
#include "spec.h"
#include "store_agents.h"
#include "yaml_paths.h"

#define ANNOUNCE_WAIT_MS 1500u
#define ANNOUNCE_POLL_MS 50u

bool
agent_is_file(const char *text)
{
	return yaml_paths_fits(text, yaml_json_endings) || strchr(text, '/') != NULL;
}

static bool
all_served(const struct value *names, const struct value *tools)
{
	size_t i;

	for (i = 0; i < value_size(names); i++)
		if (!value_has(tools, value_text(value_at(names, i))))
			return false;
	return true;
}

/* The tools that workers have announced. A fleet that has just come up is still telling: it
 * has some time to name what is missing. Returns 0, or -1. */
static int
announced_tools(
    struct session *session, const struct value *names, const struct value **tools_r)
{
	struct loop *loop = session_loop(session);
	uint64_t deadline = loop_now_ms(loop) + ANNOUNCE_WAIT_MS;

	do {
		if (store_tools(session_store(session), session_arena(session),
			tools_r) != STORE_OK)
			return -1;
		if (all_served(names, *tools_r))
			return 0;
	} while (loop_now_ms(loop) < deadline && fiber_sleep(ANNOUNCE_POLL_MS) == 0);
	return 0;
}

/* A tool that no worker has announced yet is no error: it may come. But say it. */
static void
warn_unserved(struct session *session, const struct spec *spec)
{
	struct arena *arena = session_arena(session);
	const struct value *names = spec_served_tools(arena, spec), *tools;
	const char **known, *near;
	size_t i;

	if (announced_tools(session, names, &tools) == -1)
		return;
	known = arena_alloc(arena, (value_size(tools) + 1) * sizeof *known);
	for (i = 0; i < value_size(tools); i++)
		known[i] = value_text(tools->pairs[i].key);
	for (i = 0; i < value_size(names); i++) {
		const char *name = value_text(value_at(names, i));

		if (value_has(tools, name))
			continue;
		near = nearest_name(name, known, value_size(tools));
		complain("agent '%s': no worker has served tool '%s' so far%s%s%s",
		    spec->name, name, near != NULL ? "; did you mean '" : "",
		    near != NULL ? near : "", near != NULL ? "'?" : "");
	}
}

const char *
agent_applied_by(struct arena *arena)
{
	const char *user = getenv("USER");
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	return arena_printf(
	    arena, "%s@%s", user != NULL && *user != '\0' ? user : "?", host);
}

/* What the fleet has as it is was accepted. */
static int
object(struct session *session, const struct spec *spec)
{
	const char *version = NULL;
	enum store_status status;

	if (spec->objection == NULL)
		return STATUS_OK;
	status = store_agent_version(
	    session_store(session), session_arena(session), spec->name, &version);
	if (status != STORE_OK && status != STORE_NONE)
		return session_store_failed(session, status);
	complain("%s", spec->objection);
	if (status == STORE_NONE || strcmp(version, spec->version) != 0)
		return STATUS_FAILED;
	complain("agent '%s' is the fleet's already, and runs on as it is", spec->name);
	return STATUS_OK;
}

static int
apply_one(struct session *session, const char *path, const struct spec *spec,
    const char *comment, bool quiet)
{
	struct arena *arena = session_arena(session);
	const struct store_apply apply = { .name = spec->name,
		.version = spec->version,
		.source = spec->source,
		.by = agent_applied_by(arena),
		.comment = comment,
		.expected = -1 };
	const char *place = "", *error = NULL;
	uint64_t number = 0;
	enum store_status status;
	int result;

	if (graph_compile(arena, spec, &place, &error) == NULL) {
		complain("%s: agent '%s': %s: %s", path, spec->name, place, error);
		return STATUS_FAILED;
	}
	result = object(session, spec);
	if (result != STATUS_OK)
		return result;
	status = store_apply_agent(session_store(session), arena, &apply, &number);
	if (status != STORE_OK && status != STORE_KNOWN)
		return session_store_failed(session, status);
	if (!quiet)
		printf("applied %s (version %.12s, %s %" PRIu64 ")\n", spec->name,
		    spec->version, status == STORE_OK ? "number" : "still number",
		    number);
	warn_unserved(session, spec);
	return STATUS_OK;
}

static int
apply_file(struct session *session, const char *path, const char *comment, bool quiet,
    const char **first_r)
{
	const struct spec *const *specs;
	const char *error;
	int result = STATUS_OK;
	long count = spec_load_file(session_arena(session), path, &specs, &error), i;

	if (count == -1) {
		complain("%s", error);
		return STATUS_FAILED;
	}
	for (i = 0; i < count && result == STATUS_OK; i++)
		result = apply_one(session, path, specs[i], comment, quiet);
	if (result == STATUS_OK && count > 0 && first_r != NULL && *first_r == NULL)
		*first_r = specs[0]->name;
	return result;
}

int
agent_file_apply(struct session *session, const char *path, const char *comment,
    bool quiet, const char **first_r)
{
	const char *const paths[] = { path, NULL }, *const * files;
	const char *error;
	int result = STATUS_OK, worst = STATUS_OK;

	if (first_r != NULL)
		*first_r = NULL;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	files =
	    yaml_paths_expand(session_arena(session), paths, yaml_json_endings, &error);
	if (files == NULL) {
		complain("%s", error);
		return STATUS_FAILED;
	}
	/* A bad file does not keep the others from being applied. */
	for (; *files != NULL && result != STATUS_UNREACHABLE; files++) {
		result = apply_file(session, *files, comment, quiet, first_r);
		if (result != STATUS_OK)
			worst = result;
	}
	return worst;
}

int
agent_version(struct session *session, const char *name, const char **version_r)
{
	struct arena *arena = session_arena(session);
	struct store *store = session_store(session);
	const struct value *agents;
	const char **names, *near;
	enum store_status status;
	size_t i;

	if (store == NULL)
		return STATUS_UNREACHABLE;
	status = store_agents(store, arena, &agents);
	if (status != STORE_OK)
		return session_store_failed(session, status);
	*version_r = value_get_text(agents, name);
	if (*version_r != NULL)
		return STATUS_OK;
	names = arena_alloc(arena, (value_size(agents) + 1) * sizeof *names);
	for (i = 0; i < value_size(agents); i++)
		names[i] = value_text(agents->pairs[i].key);
	near = nearest_name(name, names, value_size(agents));
	complain(
	    "agent '%s' is not known%s%s%s `flotilla agents list` shows those that are, "
	    "`flotilla agents apply FILE` adds one",
	    name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?" : ";");
	return STATUS_NOT_FOUND;
}
