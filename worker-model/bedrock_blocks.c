#include "bedrock_blocks.h"

#include <ctype.h>
#include <string.h>

#include "json.h"

#define ID_BYTES_MAX 64u        /* of a call; the API refuses longer ones */
#define NAME_BYTES_MAX 200u     /* of a document */
#define NOTHING VALUE_TEXT(".") /* as LangChain says it: a text may not be empty */

static const struct value *
block(struct arena *arena, const char *key, const struct value *value)
{
	return value_map(arena, key, value, NULL);
}

void
bedrock_add_marked(
    struct value_list *list, const struct value *item, const struct value *cache_control)
{
	struct arena *arena = list->arena;
	const struct value *ttl = value_get(cache_control, "ttl");

	value_list_add(list, item);
	if (!value_is(cache_control, VALUE_MAP))
		return;
	if (value_text_is(ttl, "5m")) /* is meant without */
		ttl = NULL;
	value_list_add(list,
	    block(arena, "cachePoint",
		value_map(arena, "type", value_str(arena, "default"), "ttl", ttl, NULL)));
}

/* --- pictures and documents ---------------------------------------------------------- */

static const struct {
	const char *mime, *format;
} formats[] = {
	{ "application/msword", "doc" },
	{ "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	    "docx" },
	{ "application/vnd.ms-excel", "xls" },
	{ "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx" },
	{ "image/jpg", "jpeg" },
	{ "text/plain", "txt" },
	{ "text/markdown", "md" },
};

/* Others are called as their subtype is: image/png, application/pdf, text/csv. */
static const char *
format_of(const char *mime)
{
	const char *slash;

	if (mime == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i].mime, mime) == 0)
			return formats[i].format;
	slash = strchr(mime, '/');
	return slash == NULL ? NULL : slash + 1;
}

/* The format of a file by the end of its name. */
static const char *
format_by_name(const char *url)
{
	const char *dot = strrchr(url, '.');

	if (dot == NULL || strchr(dot, '/') != NULL)
		return NULL;
	return strcmp(dot, ".jpg") == 0 ? "jpeg" : dot + 1;
}

/* Returns the source in the API's words, or NULL with words->error; *format_r where it is known. */
static const struct value *
source_of(struct bedrock_words *words, const struct value *source, const char **format_r)
{
	struct arena *arena = words->arena;
	const char *url = value_get_text(source, "url");
	const struct value *type = value_get(source, "type");

	if (value_text_is(type, "base64")) {
		*format_r = format_of(value_get_text(source, "media_type"));
		return block(arena, "bytes", value_get(source, "data"));
	}
	if (value_text_is(type, "text")) {
		*format_r = "txt";
		return block(arena, "text", value_get(source, "data"));
	}
	if (url != NULL && strncmp(url, "s3://", 5) == 0) {
		*format_r = format_by_name(url);
		return block(arena, "s3Location",
		    value_map(arena, "uri", value_get(source, "url"), NULL));
	}
	words->error = "Bedrock takes pictures and documents as their bytes (base64), or "
		       "from s3://";
	return NULL;
}

/* Letters, digits, single blanks, hyphens and brackets are allowed. */
static const char *
mended_name(struct arena *arena, const char *given)
{
	size_t size = 0;
	char *name = arena_alloc(arena, NAME_BYTES_MAX + 1);

	for (; *given != '\0' && size < NAME_BYTES_MAX - 8; given++) {
		unsigned char byte = (unsigned char)*given;
		bool fine =
		    (byte < 0x80 && isalnum(byte)) || strchr("()[]", byte) != NULL;

		if (fine)
			name[size++] = (char)byte;
		else if (size > 0 && strchr(" -", name[size - 1]) == NULL)
			name[size++] = byte == ' ' ? ' ' : '-';
	}
	while (size > 0 && strchr(" -", name[size - 1]) != NULL)
		size--;
	name[size] = '\0';
	return size > 0 ? name : "document";
}

static const struct value *
document_name(struct bedrock_words *words, const char *title)
{
	struct arena *arena = words->arena;
	const char *name = mended_name(arena, title == NULL ? "" : title);

	words->names.arena = arena;
	for (size_t i = 0; i < words->names.count; i++)
		if (value_text_is(words->names.items[i], name)) {
			name =
			    arena_printf(arena, "%s-%zu", name, words->names.count + 1);
			break;
		}
	value_list_add(&words->names, value_str(arena, name));
	return words->names.items[words->names.count - 1];
}

static const struct value *
media(struct bedrock_words *words, const char *kind, const struct value *given)
{
	struct arena *arena = words->arena;
	bool document = strcmp(kind, "document") == 0;
	const char *format = NULL;
	const struct value *source =
	    source_of(words, value_get(given, "source"), &format);

	if (source == NULL)
		return NULL;
	return block(arena, kind,
	    value_map(arena, "format", format == NULL ? NULL : value_str(arena, format),
		"name",
		document ? document_name(words, value_get_text(given, "title")) : NULL,
		"source", source, "context",
		document ? value_get(given, "context") : NULL, "citations",
		document ? value_get(given, "citations") : NULL, NULL));
}

/* --- calls --------------------------------------------------------------------------- */

/* Of a longer one its end, which is what tells it from others. */
static const struct value *
id_of(struct arena *arena, const struct value *id)
{
	size_t size = value_size(id);

	return value_is(id, VALUE_STR) && size > ID_BYTES_MAX
		   ? value_str(arena, id->text + size - ID_BYTES_MAX)
		   : id;
}

static const struct value *
use_of(struct arena *arena, const struct value *given, const char *type)
{
	return block(arena, "toolUse",
	    value_map(arena, "toolUseId", id_of(arena, value_get(given, "id")), "name",
		value_get(given, "name"), "input",
		value_is(value_get(given, "input"), VALUE_MAP) ? value_get(given, "input")
							       : value_empty_map(),
		"type", type == NULL ? NULL : value_str(arena, type), NULL));
}

/* A string, blocks, or nothing. */
static const struct value *
result_content(struct bedrock_words *words, const struct value *content)
{
	struct arena *arena = words->arena;
	const struct value *text;

	if (value_is(content, VALUE_ARRAY) && content->size > 0)
		return bedrock_blocks(words, content);
	text = block(arena, "text",
	    value_is(content, VALUE_STR) && content->size > 0 ? content : NOTHING);
	return value_array(arena, &text, 1);
}

static const struct value *
result_of(struct bedrock_words *words, const struct value *given)
{
	struct arena *arena = words->arena;

	return block(arena, "toolResult",
	    value_map(arena, "toolUseId", id_of(arena, value_get(given, "tool_use_id")),
		"content", result_content(words, value_get(given, "content")), "status",
		value_str(arena,
		    value_get_bool(given, "is_error", false) ? "error" : "success"),
		"type", value_get(given, "result_type"), NULL));
}

/* --- blocks -------------------------------------------------------------------------- */

/* LangChain has blocks of Bedrock's own kinds as {type, <kind>: {...}}. */
static const struct value *
own_block(struct arena *arena, const struct value *given)
{
	static const char *const keys[] = { "image", "document", "video", "audio", "json",
		"guardContent", "searchResult", "cachePoint" };

	if (!value_is(value_get(given, "type"), VALUE_STR))
		return given;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (value_has(given, keys[i]))
			return block(arena, keys[i], value_get(given, keys[i]));
	return NULL;
}

static const struct value *
thought_of(struct arena *arena, const struct value *given, bool redacted)
{
	return block(arena, "reasoningContent",
	    redacted ? block(arena, "redactedContent", value_get(given, "data"))
		     : block(arena, "reasoningText",
			   value_map(arena, "text", value_get(given, "thinking"),
			       "signature", value_get(given, "signature"), NULL)));
}

static const struct value *
block_of(struct bedrock_words *words, const struct value *given)
{
	struct arena *arena = words->arena;
	const struct value *own = own_block(arena, given);
	const char *type = value_get_text(given, "type");

	if (own != NULL)
		return own;
	if (strcmp(type, "text") == 0)
		return block(arena, "text", value_get(given, "text"));
	if (strcmp(type, "image") == 0 || strcmp(type, "document") == 0)
		return media(words, type, given);
	if (strcmp(type, "tool_use") == 0)
		return use_of(arena, given, NULL);
	if (strcmp(type, "server_tool_use") == 0)
		return use_of(arena, given, type);
	if (strcmp(type, "tool_result") == 0 || strcmp(type, "server_tool_result") == 0)
		return result_of(words, given);
	if (strcmp(type, "thinking") == 0 || strcmp(type, "redacted_thinking") == 0)
		return thought_of(arena, given, *type == 'r');
	if (value_has(given, type)) /* what an answer had that is not known here */
		return block(arena, type, value_get(given, type));
	words->error = arena_printf(arena, "Bedrock takes no block of type '%s'", type);
	return NULL;
}

const struct value *
bedrock_blocks(struct bedrock_words *words, const struct value *blocks)
{
	struct value_list list = { .arena = words->arena };

	for (size_t i = 0; i < value_size(blocks); i++) {
		const struct value *given = value_at(blocks, i),
				   *said = block_of(words, given);

		if (said != NULL)
			bedrock_add_marked(
			    &list, said, value_get(given, "cache_control"));
	}
	return value_list_end(&list);
}

/* --- without tools ------------------------------------------------------------------- */

static void
tell_use(struct value_list *list, const struct value *given)
{
	struct arena *arena = list->arena;
	const struct value *input = value_get(given, "input");
	const char *name = value_get_text(given, "name");

	if (name == NULL)
		name = "";
	value_list_add(
	    list, value_map(arena, "type", VALUE_TEXT("text"), "text",
		      value_truthy(input)
			  ? value_printf(arena, "[Called %s with parameters: %s]", name,
				json_text(arena, input))
			  : value_printf(arena, "[Called %s]", name),
		      NULL));
}

static bool
is_text(const struct value *block)
{
	return value_text_is(value_get(block, "type"), "text") &&
	       value_get_text(block, "text") != NULL;
}

static void
append_text(struct packet *told, const struct value *text)
{
	if (value_is(text, VALUE_STR))
		packet_append(told, text->text, text->size);
}

static void
append(struct packet *told, const char *text)
{
	packet_append(told, text, strlen(text));
}

static void
tell_result(struct value_list *list, const struct value *given)
{
	struct arena *arena = list->arena;
	const struct value *content = value_get(given, "content");
	size_t blocks = value_is(content, VALUE_ARRAY) ? content->size : 0;
	struct packet told = { 0 };

	append(&told, "[Tool output: ");
	append_text(&told, content);
	for (size_t i = 0; i < blocks; i++)
		if (is_text(content->items[i]))
			append_text(&told, value_get(content->items[i], "text"));
	append(&told, "]");
	value_list_add(list, value_map(arena, "type", VALUE_TEXT("text"), "text",
				 value_strn(arena, told.data, told.size), NULL));
	packet_release(&told);
	for (size_t i = 0; i < blocks; i++)
		if (!is_text(content->items[i]))
			value_list_add(list, content->items[i]);
}

static const struct value *
told_blocks(struct arena *arena, const struct value *blocks)
{
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < value_size(blocks); i++) {
		const struct value *given = value_at(blocks, i),
				   *type = value_get(given, "type");

		if (value_text_is(type, "tool_use") ||
		    value_text_is(type, "server_tool_use"))
			tell_use(&list, given);
		else if (value_text_is(type, "tool_result") ||
			 value_text_is(type, "server_tool_result"))
			tell_result(&list, given);
		else
			value_list_add(&list, given);
	}
	return value_list_end(&list);
}

const struct value *
bedrock_told(struct arena *arena, const struct value *turns)
{
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < value_size(turns); i++) {
		const struct value *turn = value_at(turns, i);

		value_list_add(
		    &list, value_map_with(arena, turn, "content",
			       told_blocks(arena, value_get(turn, "content"))));
	}
	return value_list_end(&list);
}
