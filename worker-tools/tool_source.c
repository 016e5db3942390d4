#include "tool_source.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Of all files so far. */
struct gathering {
	struct tool_source *source;
	const struct command_tool **tools;
	const struct mcp_options **servers;
	size_t tool_count, server_count;
	const char *error;
};

static int
add_server(struct gathering *gathering, const struct mcp_options *server)
{
	size_t i;

	for (i = 0; i < gathering->server_count; i++)
		if (strcmp(gathering->servers[i]->name, server->name) == 0) {
			gathering->error = arena_printf(gathering->source->arena,
			    "%s: an MCP server named '%s' is in %s already; rename one "
			    "of them",
			    server->place, server->name, gathering->servers[i]->place);
			return -1;
		}
	gathering->servers = xreallocarray(
	    gathering->servers, gathering->server_count + 1, sizeof *gathering->servers);
	gathering->servers[gathering->server_count++] = server;
	return 0;
}

static int
add_file(struct gathering *gathering, const char *path)
{
	const struct tool_file *file =
	    tool_file_load(gathering->source->arena, path, &gathering->error);
	const struct command_tool *const *tool;
	const struct mcp_options *const *server;

	if (file == NULL)
		return -1;
	for (tool = file->tools; *tool != NULL; tool++) {
		gathering->tools = xreallocarray(gathering->tools,
		    gathering->tool_count + 1, sizeof *gathering->tools);
		gathering->tools[gathering->tool_count++] = *tool;
	}
	for (server = file->servers; *server != NULL; server++)
		if (add_server(gathering, *server) == -1)
			return -1;
	return 0;
}

/* count pointers of list, with a NULL behind them, in arena. */
static void *
ended(struct arena *arena, const void *list, size_t count)
{
	void **copy = arena_alloc(arena, (count + 1) * sizeof *copy);

	if (count > 0)
		memcpy(copy, list, count * sizeof *copy);
	return copy;
}

struct tool_source *
tool_source_load(const char *const *files, struct arena *arena, const char **error_r)
{
	struct tool_source *source = xcalloc(1, sizeof *source);
	struct gathering gathering = { .source = source };

	source->arena = arena_new();
	source->holders = 1;
	while (*files != NULL && add_file(&gathering, *files) == 0)
		files++;
	source->tools = ended(source->arena, gathering.tools, gathering.tool_count);
	source->servers = ended(source->arena, gathering.servers, gathering.server_count);
	free(gathering.tools);
	free(gathering.servers);
	if (*files != NULL) {
		*error_r = arena_strdup(arena, gathering.error);
		tool_source_release(&source);
	}
	return source;
}

struct tool_source *
tool_source_hold(struct tool_source *source)
{
	source->holders++;
	return source;
}

void
tool_source_release(struct tool_source **source_p)
{
	struct tool_source *source = *source_p;

	*source_p = NULL;
	if (source == NULL || --source->holders > 0)
		return;
	arena_destroy(&source->arena);
	free(source);
}
