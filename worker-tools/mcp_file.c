#include "mcp_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bounds.h"
#include "header_line.h"
#include "uncertain.h"

/* --- whose and where ------------------------------------------------------------------ */

static int
read_name(struct reading *reading, const struct value *value)
{
	const char *name = reading_text(reading, "mcp", value);

	if (name == NULL)
		return -1;
	if (!tool_file_is_name(name) || strlen(name) > MCP_NAME_BYTES_MAX)
		return reading_refuse(reading, "/mcp",
		    "a server's name has 1 to %u letters, digits, '_' and '-'; '%s' has "
		    "not",
		    MCP_NAME_BYTES_MAX, name);
	reading->server->name = name;
	return 0;
}

/* A path may have a '@', too. */
static bool
has_user(const char *url)
{
	const char *host = strstr(url, "://");

	return host != NULL && strcspn(host + 3, "@") < strcspn(host + 3, "/?#");
}

static int
read_url(struct reading *reading, const struct value *value)
{
	const char *url, *at;

	if (value == NULL)
		return 0;
	url = reading_text(reading, "url", value);
	if (url == NULL)
		return -1;
	for (at = url; (unsigned char)*at > ' ' && *at != 0x7f; at++)
		;
	if (*at != '\0' || has_user(url) ||
	    (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0))
		return reading_refuse(reading, "/url",
		    "url must begin with http:// or https:// and have no spaces and no "
		    "user; a key goes into headers");
	reading->server->url = url;
	return 0;
}

static int
read_program(struct reading *reading, const struct value *value)
{
	struct mcp_options *server = reading->server;

	if ((value == NULL) == (server->url == NULL))
		return reading_refuse(reading, value == NULL ? "" : "/command",
		    "a server has either a url or a command, a program that talks over "
		    "its standard input and output");
	if (value == NULL)
		return 0;
	if (server->headers != NULL)
		return reading_refuse(reading, "/headers",
		    "headers are for a url; a program has its environment");
	server->program = reading->tool;
	return read_command(reading, value);
}

/* --- headers -------------------------------------------------------------------------- */

/* Appends the value of the variable that stands at *at, "${NAME}", and moves *at behind it. */
static int
add_variable(
    struct reading *reading, const char *path, const char **at, struct packet *line)
{
	const char *end = strchr(*at, '}'), *name, *value;
	size_t size;

	name = end == NULL ? ""
			   : arena_copy(reading->arena, *at + 2, (size_t)(end - *at) - 2);
	value = getenv(name);
	if (value == NULL || *value == '\0')
		return reading_refuse(reading, path,
		    "the variable '%s' is not set in the worker's environment", name);
	/* One that came out of a file has often the file's newline behind it. */
	size = strlen(value);
	while (size > 0 && isspace((unsigned char)value[size - 1]))
		size--;
	packet_append(line, value, size);
	value_list_add(
	    &reading->server->secrets, value_strn(reading->arena, value, size));
	*at = end + 1;
	return 0;
}

/* Returns the text with its variables filled in, or NULL when it refused. */
static const struct value *
fill(struct reading *reading, const char *path, const char *text)
{
	const struct value *filled = NULL;
	struct packet line = { 0 };
	int failed = 0;

	while (failed == 0 && *text != '\0') {
		size_t size = strcspn(text, "$");

		packet_append(&line, text, size);
		text += size;
		if (strncmp(text, "${", 2) == 0)
			failed = add_variable(reading, path, &text, &line);
		else if (*text == '$')
			packet_append(&line, text++, 1);
	}
	if (failed == 0)
		filled = value_strn(
		    reading->arena, line.data != NULL ? line.data : "", line.size);
	packet_release(&line);
	return filled;
}

static int
read_headers(struct reading *reading, const struct value *value)
{
	size_t i, count = value_size(value);
	const char **lines = arena_alloc(reading->arena, (count + 1) * sizeof *lines);

	if (value == NULL)
		return 0;
	if (!value_is(value, VALUE_MAP) || count > MCP_HEADERS_MAX)
		return reading_refuse(reading, "/headers",
		    "headers are a map such as {Authorization: \"Bearer ${API_TOKEN}\"}, "
		    "of at most %u",
		    MCP_HEADERS_MAX);
	for (i = 0; i < count; i++) {
		const char *name = value->pairs[i].key->text, *error;
		const char *path = arena_printf(reading->arena, "/headers/%s", name);
		const char *text = value_text(value->pairs[i].value);
		const struct value *filled;

		if (text == NULL)
			return reading_refuse(
			    reading, path, "a header is text: put it in quotes");
		filled = fill(reading, path, text);
		if (filled == NULL)
			return -1;
		lines[i] = header_line(reading->arena, name, filled, &error);
		if (lines[i] == NULL)
			return reading_refuse(reading, path, "%s", error);
	}
	reading->server->headers = lines;
	return 0;
}

/* --- the rest --------------------------------------------------------------------------- */

static int
read_prefix(struct reading *reading, const struct value *value)
{
	const char *prefix = "";

	if (value != NULL) {
		prefix = reading_text(reading, "prefix", value);
		if (prefix == NULL)
			return -1;
		if (!tool_file_is_name(prefix) || strlen(prefix) > MCP_NAME_BYTES_MAX)
			return reading_refuse(reading, "/prefix",
			    "a prefix has 1 to %u letters, digits, '_' and '-'; '%s' has "
			    "not",
			    MCP_NAME_BYTES_MAX, prefix);
	}
	reading->server->prefix = prefix;
	return 0;
}

static int
read_tools(struct reading *reading, const struct value *value)
{
	size_t i;

	if (value != NULL && (!value_is(value, VALUE_ARRAY) || value_size(value) == 0))
		return reading_refuse(reading, "/tools",
		    "tools is a list of names of the server's; leave it out for all");
	for (i = 0; i < value_size(value); i++)
		if (!value_is(value_at(value, i), VALUE_STR))
			return reading_refuse(reading,
			    arena_printf(reading->arena, "/tools/%zu", i),
			    "a tool's name is text");
	reading->server->tools = value;
	return 0;
}

static int
read_idempotent(struct reading *reading, const struct value *value)
{
	bool flag;

	reading->server->idempotent = value;
	return reading_flag(reading, "idempotent", value, false, &flag);
}

static int
read_uncertain(struct reading *reading, const struct value *value)
{
	const char *text = value_text(value);

	if (value != NULL && (text == NULL || !uncertain_parse(text, NULL)))
		return reading_refuse(reading, "/uncertain",
		    "uncertain must be tell_model, interrupt or repeat");
	reading->server->uncertain = value;
	return 0;
}

static int
read_start(struct reading *reading, const struct value *value)
{
	return reading_number(reading, "start_ms", value, 1, CALL_DEADLINE_MS_MAX,
	    &reading->server->start_ms);
}

/* A process that stays has no time that it must not use more of than four times. */
static int
read_program_limits(struct reading *reading, const struct value *value)
{
	int failed = read_limits(reading, value);

	if (value_get(value, "cpu_seconds") == NULL)
		reading->tool->limits.cpu_seconds = 0;
	return failed;
}

static const struct reading_key keys[] = {
	{ "mcp", read_name, NULL },
	{ "url", read_url, NULL },
	{ "headers", read_headers, NULL },
	{ "directory", read_directory, NULL },
	{ "environment", read_environment, NULL },
	{ "command", read_program, NULL },
	{ "limits", read_program_limits, NULL },
	{ "prefix", read_prefix, NULL },
	{ "tools", read_tools, NULL },
	{ "timeout_ms", read_timeout, NULL },
	{ "start_ms", read_start, NULL },
	{ "max_parallel", read_parallel, NULL },
	{ "idempotent", read_idempotent, NULL },
	{ "uncertain", read_uncertain, NULL },
};
static const struct reading_keys server_keys = { keys, sizeof keys / sizeof keys[0],
	"docs/mcp-tools.md lists the keys of a server" };

struct mcp_options *
mcp_file_read(struct reading *reading, const struct value *document)
{
	struct command_tool *program = reading->tool;
	struct mcp_options *server = arena_alloc(reading->arena, sizeof *server);

	program->timeout_ms = TOOL_TIMEOUT_MS;
	server->start_ms = MCP_START_MS;
	server->secrets.arena = reading->arena;
	server->place = program->place;
	server->document = document;
	reading->server = server;
	if (reading_document(reading, &server_keys, document) == -1)
		return NULL;
	program->name = server->name;
	server->timeout_ms = program->timeout_ms;
	server->max_parallel = program->max_parallel;
	return server;
}

/* --- two of them ------------------------------------------------------------------------ */

static bool
are_same_lines(const char *const *a, const char *const *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (; *a != NULL && *b != NULL; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b;
}

static bool
are_same_programs(const struct command_tool *a, const struct command_tool *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a->directory, b->directory) == 0 &&
	       (a->items == NULL || b->items == NULL ||
		   strcmp(a->items[0].parts[0].text, b->items[0].parts[0].text) == 0);
}

bool
mcp_options_equal(const struct mcp_options *a, const struct mcp_options *b)
{
	return value_equal(a->document, b->document) &&
	       are_same_lines(a->headers, b->headers) &&
	       are_same_programs(a->program, b->program);
}
