#include "tool_file.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "mcp_file.h"
#include "schema.h"
#include "tool_reading.h"
#include "uncertain.h"

/* --- the keys ----------------------------------------------------------------------- */

bool
tool_file_is_name(const char *name)
{
	const char *at;

	for (at = name; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			return false;
	return at > name && at - name <= (ptrdiff_t)TOOL_NAME_BYTES_MAX;
}

static int
read_name(struct reading *reading, const struct value *value)
{
	const char *name = reading_text(reading, "name", value);

	if (name == NULL)
		return -1;
	if (!tool_file_is_name(name))
		return reading_refuse(reading, "/name",
		    "a tool's name has 1 to %u letters, digits, '_' and '-'; '%s' has "
		    "not",
		    TOOL_NAME_BYTES_MAX, name);
	reading->tool->name = name;
	return 0;
}

static int
read_description(struct reading *reading, const struct value *value)
{
	return reading_text(reading, "description", value) == NULL ? -1 : 0;
}

/* A reason of the schema's begins with its place: "/properties/x: ...". */
static int
refuse_schema(struct reading *reading, const char *reason)
{
	size_t size = reason[0] == '/' ? strcspn(reason, ":") : 0;

	return reading_refuse(reading,
	    arena_printf(reading->arena, "/parameters%.*s", (int)size, reason),
	    "parameters are no usable JSON Schema: %s", reason);
}

static int
read_parameters(struct reading *reading, const struct value *value)
{
	const char *reason;

	if (value == NULL)
		return 0;
	if (!value_is(value, VALUE_MAP))
		return reading_refuse(reading, "/parameters",
		    "parameters must be a JSON Schema, that is a map with type: object");
	if (value_has(value, "type") &&
	    !value_text_is(value_get(value, "type"), "object"))
		return reading_refuse(reading, "/parameters/type",
		    "the arguments of a tool are an object: parameters need type: "
		    "object");
	if (schema_usable(reading->arena, value, &reason) == -1)
		return refuse_schema(reading, reason);
	if (value_is(value_get(value, "properties"), VALUE_MAP))
		reading->tool->properties = value_get(value, "properties");
	return 0;
}

int
read_directory(struct reading *reading, const struct value *value)
{
	const char *given;
	struct stat status;

	reading->tool->directory = reading->folder;
	if (value == NULL)
		return 0;
	given = reading_text(reading, "directory", value);
	if (given == NULL)
		return -1;
	reading->tool->directory = given[0] == '/' ? given
						   : arena_printf(reading->arena, "%s/%s",
							 reading->folder, given);
	if (stat(reading->tool->directory, &status) == -1 || !S_ISDIR(status.st_mode))
		return reading_refuse(reading, "/directory",
		    "there is no directory '%s'; create it, or correct its name",
		    reading->tool->directory);
	return 0;
}

static int
read_output(struct reading *reading, const struct value *value)
{
	static const struct {
		const char *name;
		enum tool_output output;
	} outputs[] = {
		{ "text", TOOL_OUTPUT_TEXT },
		{ "json", TOOL_OUTPUT_JSON },
		{ "command", TOOL_OUTPUT_COMMAND },
	};
	size_t i;

	reading->tool->output = TOOL_OUTPUT_TEXT;
	for (i = 0; i < sizeof outputs / sizeof *outputs; i++)
		if (value_text_is(value, outputs[i].name)) {
			reading->tool->output = outputs[i].output;
			return 0;
		}
	return value == NULL ? 0
			     : reading_refuse(reading, "/output",
				   "output must be text, json or command");
}

int
read_timeout(struct reading *reading, const struct value *value)
{
	return reading_number(reading, "timeout_ms", value, 1, CALL_DEADLINE_MS_MAX,
	    &reading->tool->timeout_ms);
}

static int
read_grace(struct reading *reading, const struct value *value)
{
	return reading_number(
	    reading, "grace_ms", value, 1, TOOL_GRACE_MS_MAX, &reading->tool->grace_ms);
}

static int
read_output_bytes(struct reading *reading, const struct value *value)
{
	return reading_number(reading, "output_bytes_max", value, 1,
	    TOOL_OUTPUT_BYTES_MAX, &reading->tool->output_bytes_max);
}

int
read_parallel(struct reading *reading, const struct value *value)
{
	return reading_number(reading, "max_parallel", value, 0, TOOL_PARALLEL_MAX,
	    &reading->tool->max_parallel);
}

static int
read_return_direct(struct reading *reading, const struct value *value)
{
	bool flag;

	return reading_flag(reading, "return_direct", value, false, &flag);
}

static int
read_idempotent(struct reading *reading, const struct value *value)
{
	return reading_flag(
	    reading, "idempotent", value, true, &reading->tool->idempotent);
}

static int
read_interrupts(struct reading *reading, const struct value *value)
{
	return reading_flag(
	    reading, "interrupts", value, false, &reading->tool->interrupts);
}

static int
read_reads(struct reading *reading, const struct value *value)
{
	size_t i;

	if (value != NULL && !value_is(value, VALUE_ARRAY))
		return reading_refuse(reading, "/reads",
		    "reads must be a list of fields of the state, such as [messages], "
		    "not %s",
		    value_type_name(value->type));
	for (i = 0; i < value_size(value); i++)
		if (!value_is(value_at(value, i), VALUE_STR))
			return reading_refuse(reading,
			    arena_printf(reading->arena, "/reads/%zu", i),
			    "the name of a field is text: put it in quotes");
	reading->tool->reads = value;
	return 0;
}

static int
read_context(struct reading *reading, const struct value *value)
{
	return reading_flag(reading, "context", value, false, &reading->tool->context);
}

static int
read_streams(struct reading *reading, const struct value *value)
{
	return reading_flag(reading, "streams", value, false, &reading->tool->streams);
}

static int
read_uncertain(struct reading *reading, const struct value *value)
{
	const char *text = value_text(value);

	if (value == NULL)
		return 0;
	if (text == NULL || !uncertain_parse(text, NULL))
		return reading_refuse(reading, "/uncertain",
		    "uncertain must be tell_model, interrupt or repeat");
	if (reading->tool->idempotent)
		return reading_refuse(reading, "/uncertain",
		    "uncertain is for a tool that must not run twice; add idempotent: "
		    "false, or leave it out");
	return 0;
}

/* In the order in which they need each other. */
static const struct reading_key keys[] = {
	{ "name", read_name, "an agent asks for the tool by it" },
	{ "description", read_description, "the model chooses the tool by it" },
	{ "parameters", read_parameters, NULL },
	{ "directory", read_directory, NULL },
	{ "environment", read_environment, NULL },
	{ "command", read_command, "it is what the tool runs" },
	{ "input", read_input, NULL },
	{ "output", read_output, NULL },
	{ "timeout_ms", read_timeout, NULL },
	{ "grace_ms", read_grace, NULL },
	{ "output_bytes_max", read_output_bytes, NULL },
	{ "limits", read_limits, NULL },
	{ "max_parallel", read_parallel, NULL },
	{ "return_direct", read_return_direct, NULL },
	{ "idempotent", read_idempotent, NULL },
	{ "uncertain", read_uncertain, NULL },
	{ "interrupts", read_interrupts, NULL },
	{ "reads", read_reads, NULL },
	{ "context", read_context, NULL },
	{ "streams", read_streams, NULL },
};
static const struct reading_keys tool_keys = { keys, sizeof keys / sizeof keys[0],
	"docs/tools.md lists the keys of a tool" };

/* --- a document --------------------------------------------------------------------- */

static const struct value *
empty_parameters(struct arena *arena)
{
	return value_map(arena, "type", value_str(arena, "object"), "properties",
	    value_empty_map(), NULL);
}

static const struct value *
definition_of(struct reading *reading, const struct value *document)
{
	struct arena *arena = reading->arena;
	const struct value *parameters = value_get(document, "parameters");

	if (parameters == NULL)
		parameters = empty_parameters(arena);
	return value_map(arena, "name", value_get(document, "name"), "description",
	    value_get(document, "description"), "parameters",
	    value_map_with(arena, parameters, "type", value_str(arena, "object")),
	    "return_direct", value_bool(value_get_bool(document, "return_direct", false)),
	    "idempotent", value_bool(reading->tool->idempotent), "uncertain",
	    value_get(document, "uncertain"), "timeout_ms",
	    value_int(arena, (int64_t)reading->tool->timeout_ms), "reads",
	    reading->tool->reads, NULL);
}

static int
read_tool(struct reading *reading, const struct value *document)
{
	struct command_tool *tool = reading->tool;

	tool->timeout_ms = TOOL_TIMEOUT_MS;
	tool->grace_ms = TOOL_GRACE_MS;
	tool->output_bytes_max = TOOL_OUTPUT_BYTES_MAX;
	if (reading_document(reading, &tool_keys, document) == -1)
		return -1;
	tool->definition = definition_of(reading, document);
	return 0;
}

/* --- a file ------------------------------------------------------------------------- */

/* Returns the absolute folder of the file at path. */
static const char *
folder_of(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *folder = slash == NULL ? "."
			     : slash == path
				 ? "/"
				 : arena_copy(arena, path, (size_t)(slash - path));
	char *real = realpath(folder, NULL);

	if (real != NULL)
		folder = arena_strdup(arena, real);
	free(real);
	return folder;
}

/* What a file has been found to hold so far, room for all. */
struct contents {
	const struct command_tool **tools;
	const struct mcp_options **servers;
	size_t tool_count, server_count;
};

static int
read_document(struct reading *reading, struct contents *contents)
{
	const struct value *document = yaml_root(reading->yaml, reading->index);
	struct mcp_options *server;

	if (!value_is(document, VALUE_MAP))
		return reading_refuse(reading, "",
		    "a tool is a map with name, description and command, not %s",
		    document == NULL ? "nothing" : value_type_name(document->type));
	reading->tool = arena_alloc(reading->arena, sizeof *reading->tool);
	reading->tool->place =
	    yaml_place(reading->yaml, reading->arena, reading->index, "");
	reading->tool->limits = tool_limits_default;
	if (value_has(document, "mcp")) {
		server = mcp_file_read(reading, document);
		contents->servers[contents->server_count++] = server;
		return server == NULL ? -1 : 0;
	}
	contents->tools[contents->tool_count++] = reading->tool;
	return read_tool(reading, document);
}

static const struct tool_file *
read_documents(
    struct arena *arena, const char *path, const struct yaml *yaml, const char **error_r)
{
	struct reading reading = { .arena = arena, .yaml = yaml };
	size_t count = yaml_count(yaml);
	struct contents contents = {
		.tools = arena_alloc(arena, (count + 1) * sizeof *contents.tools),
		.servers = arena_alloc(arena, (count + 1) * sizeof *contents.servers),
	};
	struct tool_file *file = arena_alloc(arena, sizeof *file);

	reading.folder = folder_of(arena, path);
	for (; reading.index < count; reading.index++)
		if (read_document(&reading, &contents) == -1) {
			*error_r = reading.error;
			return NULL;
		}
	if (count == 0) {
		*error_r =
		    arena_printf(arena, "%s:1:1: there is no tool in this file", path);
		return NULL;
	}
	file->tools = contents.tools;
	file->servers = contents.servers;
	return file;
}

/* Takes yaml, which is NULL when it could not be read. */
static const struct tool_file *
read_yaml(struct arena *arena, const char *path, struct yaml *yaml, const char **error_r)
{
	const struct tool_file *file;

	if (yaml == NULL)
		return NULL;
	file = read_documents(arena, path, yaml, error_r);
	yaml_destroy(&yaml);
	return file;
}

const struct tool_file *
tool_file_load(struct arena *arena, const char *path, const char **error_r)
{
	return read_yaml(arena, path, yaml_load(arena, path, error_r), error_r);
}

const struct tool_file *
tool_file_parse(struct arena *arena, const char *path, const char *text, size_t size,
    const char **error_r)
{
	return read_yaml(
	    arena, path, yaml_parse(arena, path, text, size, error_r), error_r);
}
