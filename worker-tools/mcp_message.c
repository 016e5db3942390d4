#include "mcp_message.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "json.h"
#include "schema.h"
#include "utf8.h"

#define METHOD_NOT_FOUND INT64_C(-32601)
#define PARSE_ERROR INT64_C(-32700)
#define NUMBER_BYTES 20u
#define ID_DIGITS_MAX 18u /* fit into an int64_t, whatever they are */
#define SHOWN_BYTES 300

bool
mcp_speaks(const char *revision)
{
	static const char *const revisions[] = { "2025-11-25", MCP_REVISION, "2025-03-26",
		"2024-11-05" };
	size_t i;

	for (i = 0; revision != NULL && i < sizeof revisions / sizeof *revisions; i++)
		if (strcmp(revisions[i], revision) == 0)
			return true;
	return false;
}

/* --- messages --------------------------------------------------------------------------- */

static const char *
message(struct arena *arena, const struct value *id, const char *method,
    const struct value *params)
{
	return json_text(
	    arena, value_map(arena, "jsonrpc", value_str(arena, "2.0"), "id", id,
		       "method", value_str(arena, method), "params", params, NULL));
}

const char *
mcp_request(
    struct arena *arena, int64_t id, const char *method, const struct value *params)
{
	return message(arena, value_int(arena, id), method, params);
}

const char *
mcp_notice(struct arena *arena, const char *method, const struct value *params)
{
	return message(arena, NULL, method, params);
}

/* Ours are numbers; there are servers that give them back as texts. */
static bool
is_our_id(const struct value *id, int64_t *id_r)
{
	const char *text = value_text(id);
	size_t digits;

	if (value_is(id, VALUE_INT)) {
		*id_r = id->integer;
		return true;
	}
	digits = text != NULL ? strspn(text, "0123456789") : 0;
	if (digits == 0 || digits > ID_DIGITS_MAX || text[digits] != '\0')
		return false;
	*id_r = strtoll(text, NULL, 10);
	return true;
}

enum mcp_kind
mcp_kind_of(const struct value *message, int64_t *id_r)
{
	const struct value *id = value_get(message, "id");

	if (value_is(value_get(message, "method"), VALUE_STR))
		return value_is_nil(id) ? MCP_NOTICE : MCP_REQUEST;
	return is_our_id(id, id_r) ? MCP_RESPONSE : MCP_NOISE;
}

/* --- damaged ones ----------------------------------------------------------------------- */

static const char *
skip_spaces(const char *at, const char *end)
{
	while (at < end && isspace((unsigned char)*at))
		at++;
	return at;
}

/* at: behind its first quote. Returns its last quote, or end. */
static const char *
string_end(const char *at, const char *end)
{
	for (; at < end && *at != '"'; at++)
		if (*at == '\\' && at + 1 < end)
			at++;
	return at;
}

static bool
integer_at(const char *at, const char *end, int64_t *integer_r)
{
	char text[NUMBER_BYTES + 1] = "", *behind;
	size_t size = (size_t)(end - at);

	memcpy(text, at, size < NUMBER_BYTES ? size : NUMBER_BYTES);
	errno = 0;
	*integer_r = strtoll(text, &behind, 10);
	return behind > text && errno == 0 && *behind != '.' && *behind != 'e' &&
	       *behind != 'E';
}

/* Quotes and brackets are looked at, and nothing else. */
bool
mcp_damaged_id(const char *text, size_t size, int64_t *id_r)
{
	const char *end = text + size, *at = skip_spaces(text, end), *key, *value;
	bool has_id = false;
	unsigned depth = 0;

	if (at == end || *at != '{')
		return false;
	for (; at < end; at++) {
		if (*at == '{' || *at == '[')
			depth++;
		else if ((*at == '}' || *at == ']') && --depth == 0)
			break;
		if (*at != '"')
			continue;
		key = at + 1;
		at = string_end(key, end);
		if (at == end)
			break;
		value = skip_spaces(at + 1, end);
		if (depth != 1 || value == end || *value != ':')
			continue;
		if (at - key == 6 && memcmp(key, "method", 6) == 0)
			return false;
		if (!has_id && at - key == 2 && memcmp(key, "id", 2) == 0)
			has_id = integer_at(value + 1, end, id_r);
	}
	return has_id;
}

const struct value *
mcp_damaged(struct arena *arena, int64_t id, const char *why)
{
	const char *text =
	    arena_printf(arena, "the server's answer cannot be read: %s", why);

	return value_map(arena, "jsonrpc", value_str(arena, "2.0"), "id",
	    value_int(arena, id), "error",
	    value_map(arena, "code", value_int(arena, PARSE_ERROR), "message",
		value_str(arena, text), NULL),
	    NULL);
}

/* --- answers ---------------------------------------------------------------------------- */

const char *
mcp_answer(struct arena *arena, const struct value *request)
{
	const struct value *version = value_str(arena, "2.0"),
			   *id = value_get(request, "id");

	if (value_text_is(value_get(request, "method"), "ping"))
		return json_text(arena, value_map(arena, "jsonrpc", version, "id", id,
					    "result", value_empty_map(), NULL));
	return json_text(
	    arena, value_map(arena, "jsonrpc", version, "id", id, "error",
		       value_map(arena, "code", value_int(arena, METHOD_NOT_FOUND),
			   "message", value_str(arena, "Method not found"), NULL),
		       NULL));
}

const struct value *
mcp_result(
    struct arena *arena, const struct value *response, const struct fault **fault_r)
{
	const struct value *error = value_get(response, "error");
	const struct value *result = value_get(response, "result");
	const char *text = value_get_text(error, "message");
	struct fault *fault;

	if (value_is_nil(error) && value_is(result, VALUE_MAP))
		return result;
	if (text == NULL)
		text = "the server's answer has neither result nor error";
	fault = fault_new(arena, "McpError", "%s", utf8_shown(arena, text, SHOWN_BYTES));
	*fault_r = fault;
	return NULL;
}

/* --- tools ------------------------------------------------------------------------------ */

static bool
is_wanted(const struct mcp_options *options, const char *name)
{
	size_t i;

	for (i = 0; i < value_size(options->tools); i++)
		if (value_text_is(value_at(options->tools, i), name))
			return true;
	return options->tools == NULL;
}

/* The name here: providers take letters, digits, '_' and '-'. */
static const char *
name_here(struct arena *arena, const struct mcp_options *options, const char *name)
{
	char *here = arena_printf(arena, "%s%s", options->prefix, name), *at;

	for (at = here; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			*at = '_';
	return here;
}

/* Its hints, where the file does not say it: what nobody says may run twice must not. */
static bool
is_idempotent(const struct mcp_options *options, const struct value *tool)
{
	const struct value *hints = value_get(tool, "annotations");

	if (options->idempotent != NULL)
		return options->idempotent->boolean;
	return value_get_bool(hints, "readOnlyHint", false) ||
	       value_get_bool(hints, "idempotentHint", false);
}

static const struct value *
parameters_of(struct arena *arena, const struct value *tool)
{
	const struct value *schema = value_get(tool, "inputSchema");

	schema = value_map_with(arena,
	    value_is(schema, VALUE_MAP) ? schema : value_empty_map(), "type",
	    value_str(arena, "object"));
	return value_is(value_get(schema, "properties"), VALUE_MAP)
		   ? schema
		   : value_map_with(arena, schema, "properties", value_empty_map());
}

static const char *
description_of(const struct value *tool, const char *otherwise)
{
	const char *text = value_get_text(tool, "description");

	if (text == NULL || *text == '\0')
		text = value_get_text(tool, "title");
	return text != NULL && *text != '\0' ? text : otherwise;
}

const struct value *
mcp_tool_of(struct arena *arena, const struct mcp_options *options,
    const struct value *tool, const char **reason_r)
{
	const char *remote = value_get_text(tool, "name"), *here, *flaw;
	const struct value *parameters;
	const struct value *definition;
	bool idempotent;

	*reason_r = NULL;
	if (remote == NULL || strlen(remote) != value_get(tool, "name")->size ||
	    *remote == '\0') {
		*reason_r = "a tool without a name, or with a NUL in it";
		return NULL;
	}
	if (!is_wanted(options, remote))
		return NULL;
	here = name_here(arena, options, remote);
	parameters = parameters_of(arena, tool);
	if (strlen(here) > TOOL_NAME_BYTES_MAX) {
		*reason_r =
		    arena_printf(arena, "'%.*s': its name is longer than %u bytes",
			SHOWN_BYTES, here, TOOL_NAME_BYTES_MAX);
		return NULL;
	}
	idempotent = is_idempotent(options, tool);
	definition = value_freeze(arena,
	    value_map(arena, "name", value_str(arena, here), "description",
		value_str(arena, description_of(tool, here)), "parameters", parameters,
		"return_direct", value_bool(false), "idempotent", value_bool(idempotent),
		"uncertain", idempotent ? NULL : options->uncertain, "timeout_ms",
		value_int(arena, (int64_t)options->timeout_ms), NULL));
	if (definition->packed_size > MCP_TOOL_BYTES_MAX) {
		*reason_r = arena_printf(arena,
		    "'%s': its description and inputSchema are larger than %u bytes",
		    here, MCP_TOOL_BYTES_MAX);
		return NULL;
	}
	if (schema_usable(arena, parameters, &flaw) == -1) {
		*reason_r = arena_printf(arena,
		    "'%s': its inputSchema is no usable JSON Schema: %s", here, flaw);
		return NULL;
	}
	return value_map(
	    arena, "remote", value_str(arena, remote), "definition", definition, NULL);
}

/* --- what a call gives ------------------------------------------------------------------ */

static bool
is_image(const char *mime)
{
	return mime != NULL && strncmp(mime, "image/", strlen("image/")) == 0;
}

static const struct value *
text_block(struct arena *arena, const struct value *text)
{
	return value_map(arena, "type", value_str(arena, "text"), "text", text, NULL);
}

/* where: "base64" or "url". */
static const struct value *
media_block(struct arena *arena, const char *type, const char *where,
    const struct value *what, const struct value *mime)
{
	return value_map(arena, "type", value_str(arena, type), where, what, "mime_type",
	    value_is(mime, VALUE_STR) ? mime : NULL, NULL);
}

static const struct value *
resource_block(struct arena *arena, const struct value *resource)
{
	const struct value *mime = value_get(resource, "mimeType");
	const struct value *text = value_get(resource, "text");

	if (value_is(text, VALUE_STR))
		return text_block(arena, text);
	return media_block(arena, is_image(value_text(mime)) ? "image" : "file", "base64",
	    value_get(resource, "blob"), mime);
}

static const struct value *
block_of(struct arena *arena, const struct value *item)
{
	const struct value *type = value_get(item, "type"),
			   *mime = value_get(item, "mimeType"),
			   *text = value_get(item, "text");

	if (value_text_is(type, "text") && value_is(text, VALUE_STR))
		return text_block(arena, text);
	if (value_text_is(type, "image") || value_text_is(type, "audio"))
		return media_block(
		    arena, value_text(type), "base64", value_get(item, "data"), mime);
	if (value_text_is(type, "resource"))
		return resource_block(arena, value_get(item, "resource"));
	if (value_text_is(type, "resource_link"))
		return media_block(arena, is_image(value_text(mime)) ? "image" : "file",
		    "url", value_get(item, "uri"), mime);
	return text_block(arena, value_str(arena, json_text(arena, item)));
}

/* All texts of content, one a line. */
static const char *
all_text(struct arena *arena, const struct value *content)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i;

	for (i = 0; i < value_size(content); i++) {
		text = value_get_text(value_at(content, i), "text");
		if (text == NULL)
			continue;
		if (packet.size > 0)
			packet_append(&packet, "\n", 1);
		packet_append(&packet, text, strlen(text));
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return text;
}

static const struct value *
content_of(
    struct arena *arena, const struct value *content, const struct value *structured)
{
	struct value_list blocks = { .arena = arena };
	const struct value *list;
	size_t i;

	for (i = 0; i < value_size(content); i++)
		value_list_add(&blocks, block_of(arena, value_at(content, i)));
	list = value_list_end(&blocks);
	if (value_size(list) == 1 &&
	    value_text_is(value_get(value_at(list, 0), "type"), "text"))
		return value_get(value_at(list, 0), "text");
	if (value_size(list) > 0)
		return list;
	return value_str(
	    arena, value_is_nil(structured) ? "" : json_text(arena, structured));
}

int
mcp_content(struct arena *arena, const struct value *result,
    const struct value **content_r, const struct value **artifact_r,
    const struct fault **fault_r)
{
	const struct value *content = value_get(result, "content");
	const struct value *structured = value_get(result, "structuredContent");
	const char *text;

	if (value_get_bool(result, "isError", false)) {
		text = all_text(arena, content);
		*fault_r = fault_new(arena, "ToolException", "%s",
		    *text != '\0' ? text : "the tool has failed, and does not say why");
		return -1;
	}
	*content_r = content_of(arena, content, structured);
	*artifact_r = value_is_nil(structured)
			  ? NULL
			  : value_map(arena, "structured_content", structured, NULL);
	return 0;
}
