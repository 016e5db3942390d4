/* A tool file is refused with its place, or gives tools whose commands can be filled in. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-tools/mcp_file.h"
#include "json.h"
#include "schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An argument of each property: a hostile text, or the property's own schema. */
static const struct value *
args_for(struct arena *arena, const struct value *properties)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(properties); i++)
		value_fields_set(&fields, properties->pairs[i].key->text,
		    i % 2 == 0 ? value_str(arena, "-x; $(id) \"'\n")
			       : properties->pairs[i].value);
	return value_fields_end(&fields);
}

static void
fill_items(struct arena *arena, const struct command_tool *tool)
{
	const struct value *args = args_for(arena, tool->properties);
	const char *text, *error;
	size_t i;

	for (i = 0; i < tool->item_count; i++) {
		error = NULL;
		if (template_fill(
			arena, &tool->items[i], args, i % 2 == 0, &text, &error) == -1 &&
		    error == NULL)
			abort();
	}
}

static void
check_tool(struct arena *arena, const struct command_tool *tool)
{
	const char *reason;

	if (tool->name == NULL || tool->environment == NULL || tool->directory == NULL ||
	    (tool->items == NULL) == (tool->shell == NULL))
		abort();
	if (tool->items != NULL && tool->items[0].parts[0].text[0] != '/')
		abort();
	if (schema_usable(arena, value_get(tool->definition, "parameters"), &reason) ==
	    -1)
		abort();
	fill_items(arena, tool);
}

static void
check_server(const struct mcp_options *server)
{
	if (server->name == NULL || server->prefix == NULL ||
	    (server->url == NULL) == (server->program == NULL))
		abort();
	if (!mcp_options_equal(server, server))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *error = NULL;
	const struct tool_file *file =
	    tool_file_parse(arena, "/fuzz", (const char *)data, size, &error);
	const struct command_tool *const *tool;
	const struct mcp_options *const *server;

	if (file == NULL && strncmp(error, "/fuzz:", 6) != 0)
		abort();
	for (tool = file == NULL ? NULL : file->tools; tool != NULL && *tool != NULL;
	     tool++)
		check_tool(arena, *tool);
	for (server = file == NULL ? NULL : file->servers;
	     server != NULL && *server != NULL; server++)
		check_server(*server);
	arena_destroy(&arena);
	return 0;
}
