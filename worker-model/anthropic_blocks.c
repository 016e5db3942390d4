#include "anthropic_blocks.h"

#include <ctype.h>
#include <string.h>

#include "call_words.h"
#include "chat.h"
#include "json.h"

static bool
is_type(const struct value *block, const char *type)
{
	return value_text_is(value_get(block, "type"), type);
}

static bool
is_blank(const char *text)
{
	return text == NULL || text[strspn(text, " \t\r\n")] == '\0';
}

static const struct value *
text(struct arena *arena, const char *literal)
{
	return value_str(arena, literal);
}

/* --- text, images, documents -------------------------------------------------------- */

static void
add_text(struct value_list *list, const struct value *content, const struct value *block)
{
	struct arena *arena = list->arena;

	if (!value_is(content, VALUE_STR) || is_blank(content->text))
		return;
	value_list_add(
	    list, value_map(arena, "type", text(arena, "text"), "text", content,
		      "citations", value_get(block, "citations"), "cache_control",
		      value_get(block, "cache_control"), NULL));
}

/* LangChain's blocks keep the bytes as `base64` (`data` in its older form). */
static const struct value *
data_of(const struct value *block)
{
	const struct value *data = value_get(block, "base64");

	return data != NULL ? data : value_get(block, "data");
}

/* "data:image/png;base64,AAAA", an OpenAI client's way; else a URL. */
static const struct value *
source_of_url(struct arena *arena, const struct value *url)
{
	const char *at = value_text(url), *semicolon, *comma;

	if (at == NULL || strncmp(at, "data:", 5) != 0)
		return value_map(arena, "type", text(arena, "url"), "url", url, NULL);
	semicolon = strchr(at, ';');
	comma = strchr(at, ',');
	if (semicolon == NULL || comma == NULL || comma < semicolon)
		return value_map(arena, "type", text(arena, "url"), "url", url, NULL);
	return value_map(arena, "type", text(arena, "base64"), "media_type",
	    value_strn(arena, at + 5, (size_t)(semicolon - at - 5)), "data",
	    text(arena, comma + 1), NULL);
}

/* NULL: the block says nothing of where its bytes are. */
static const struct value *
source_of(struct arena *arena, const struct value *block, const char *mime)
{
	const struct value *given = value_get(block, "mime_type"), *file;

	if (data_of(block) != NULL)
		return value_map(arena, "type", text(arena, "base64"), "media_type",
		    given == NULL ? text(arena, mime) : given, "data", data_of(block),
		    NULL);
	if (value_has(block, "url"))
		return source_of_url(arena, value_get(block, "url"));
	file = value_has(block, "file_id") ? value_get(block, "file_id")
					   : value_get(block, "id");
	return value_is(file, VALUE_STR)
		   ? value_map(arena, "type", text(arena, "file"), "file_id", file, NULL)
		   : NULL;
}

static const struct value *
with_source(struct arena *arena, const char *type, const struct value *block,
    const struct value *source)
{
	if (source == NULL)
		return block;
	return value_map(arena, "type", text(arena, type), "source", source, "title",
	    value_get(block, "title"), "context", value_get(block, "context"),
	    "citations", value_get(block, "citations"), "cache_control",
	    value_get(block, "cache_control"), NULL);
}

static const struct value *
plain_text_document(struct arena *arena, const struct value *block)
{
	const struct value *content = value_get(block, "text");

	if (!value_is(content, VALUE_STR))
		return with_source(
		    arena, "document", block, source_of(arena, block, "text/plain"));
	return with_source(arena, "document", block,
	    value_map(arena, "type", text(arena, "text"), "media_type",
		text(arena, "text/plain"), "data", content, NULL));
}

/* What else there is goes as it is: it may be the provider's own. */
static const struct value *
block_of(struct arena *arena, const struct value *block)
{
	const struct value *url = value_get(value_get(block, "image_url"), "url");

	if (value_has(block, "source"))
		return block;
	if (is_type(block, "image"))
		return with_source(
		    arena, "image", block, source_of(arena, block, "image/png"));
	if (is_type(block, "image_url"))
		return with_source(arena, "image", block,
		    source_of_url(
			arena, url != NULL ? url : value_get(block, "image_url")));
	if (is_type(block, "file"))
		return with_source(
		    arena, "document", block, source_of(arena, block, "application/pdf"));
	if (is_type(block, "text-plain"))
		return plain_text_document(arena, block);
	return block;
}

void
anthropic_add_content(struct value_list *list, const struct value *content)
{
	struct arena *arena = list->arena;
	size_t i;

	if (value_is(content, VALUE_STR)) {
		add_text(list, content, NULL);
	} else if (value_is(content, VALUE_ARRAY)) {
		for (i = 0; i < content->size; i++) {
			const struct value *block = content->items[i];

			if (value_is(block, VALUE_STR))
				add_text(list, block, NULL);
			else if (is_type(block, "text"))
				add_text(list, value_get(block, "text"), block);
			else
				value_list_add(list, block_of(arena, block));
		}
	} else if (!value_is_nil(content)) {
		add_text(list, text(arena, json_text(arena, content)), NULL);
	}
}

/* --- calls --------------------------------------------------------------------------- */

/* Ids of other providers have characters that this one refuses, and the whole request with them. */
static const struct value *
id_of(struct arena *arena, const struct value *id)
{
	char *mended, *at;

	if (!value_is(id, VALUE_STR) || id->size == 0)
		return text(arena, "none");
	mended = arena_copy(arena, id->text, id->size);
	for (at = mended; *at != '\0'; at++) {
		if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_')
			*at = '_';
	}
	return value_str(arena, mended);
}

/* A call that was malformed has text as its args: its answer says what was wrong with it. */
static const struct value *
tool_use(struct arena *arena, const struct value *call, const struct value *block,
    const struct ask *ask)
{
	const struct value *args = value_get(call, "args");

	return value_map(arena, "type", text(arena, "tool_use"), "id",
	    id_of(arena, value_get(call, "id")), "name",
	    call_name(ask, value_get(call, "name")), "input",
	    value_is(args, VALUE_MAP) ? args : value_empty_map(), "caller",
	    value_get(block, "caller"), "cache_control",
	    value_get(block, "cache_control"), NULL);
}

static bool
has_tool_use(const struct value *content, const struct value *id)
{
	size_t i;

	if (!value_is(content, VALUE_ARRAY))
		return false;
	for (i = 0; i < content->size; i++)
		if (is_type(content->items[i], "tool_use") &&
		    value_equal(value_get(content->items[i], "id"), id))
			return true;
	return false;
}

static void
add_calls(struct value_list *list, const struct value *message, const char *key,
    const struct ask *ask)
{
	const struct value *calls = value_get(message, key);
	const struct value *content = value_get(message, "content");
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		if (!has_tool_use(content, value_get(call, "id")))
			value_list_add(list, tool_use(list->arena, call, NULL, ask));
	}
}

/* --- answers ------------------------------------------------------------------------- */

bool
anthropic_is_claude(const char *model)
{
	return model != NULL && strcasestr(model, "claude") != NULL;
}

/* A thought whose signature is not good there would be refused, and each request of the thread with it. Claude's are good wherever
 * one is asked, others' where they are asked again; who is no Claude and asked in these words may sign nothing, and want back what
 * it has thought. Of a message that does not say whose it is, what is signed goes back. */
static bool
thought_goes_back(
    const struct value *block, const struct value *message, const struct ask *ask)
{
	const struct value *by = value_get(message, "response_metadata");
	const char *model = value_get_text(by, "model_name");
	const struct value *provider = value_get(by, "model_provider");
	bool own = value_text_is(provider, ask->provider);
	bool is_signed = is_type(block, "redacted_thinking") ||
			 value_size(value_get(block, "signature")) > 0;

	if (anthropic_is_claude(ask->model))
		return is_signed && (anthropic_is_claude(model) ||
					(model == NULL && (own || provider == NULL)));
	return own ||
	       (is_signed && (provider == NULL || anthropic_is_claude(model) ||
				 (model != NULL && strcmp(model, ask->model) == 0)));
}

/* Blocks that only this provider makes, and wants back as they were. */
static bool
goes_back(const struct value *block, const struct value *message, const struct ask *ask)
{
	const char *type = value_get_text(block, "type");
	size_t size = type == NULL ? 0 : strlen(type);

	if (is_type(block, "thinking") || is_type(block, "redacted_thinking"))
		return thought_goes_back(block, message, ask);
	return is_type(block, "server_tool_use") || is_type(block, "mcp_tool_use") ||
	       is_type(block, "container_upload") || is_type(block, "compaction") ||
	       (size > strlen("_tool_result") &&
		   strcmp(type + size - strlen("_tool_result"), "_tool_result") == 0);
}

/* True when a block of content before the one at index is a call with its id: two calls of one id are
 * told apart by their tool_calls alone, where the second has another. */
static bool
is_repeated(const struct value *content, size_t index)
{
	const struct value *id = value_get(content->items[index], "id");

	while (index-- > 0)
		if (is_type(content->items[index], "tool_use") &&
		    value_equal(value_get(content->items[index], "id"), id))
			return true;
	return false;
}

static void
add_answer_block(struct value_list *list, const struct value *message, size_t index,
    const struct ask *ask)
{
	const struct value *content = value_get(message, "content");
	const struct value *block = content->items[index], *call;

	if (value_is(block, VALUE_STR)) {
		add_text(list, block, NULL);
	} else if (is_type(block, "text")) {
		add_text(list, value_get(block, "text"), block);
	} else if (is_type(block, "tool_use")) {
		/* As it is now: a hook may have changed it, or taken it away. */
		call = chat_call(message, value_get(block, "id"));
		if (call != NULL && !is_repeated(content, index))
			value_list_add(list, tool_use(list->arena, call, block, ask));
	} else if (goes_back(block, message, ask)) {
		value_list_add(list, block);
	}
}

void
anthropic_add_answer(
    struct value_list *list, const struct value *message, const struct ask *ask)
{
	const struct value *content = value_get(message, "content");
	size_t i;

	if (value_is(content, VALUE_ARRAY)) {
		for (i = 0; i < content->size; i++)
			add_answer_block(list, message, i, ask);
	} else {
		anthropic_add_content(list, content);
	}
	add_calls(list, message, "tool_calls", ask);
	add_calls(list, message, "invalid_tool_calls", ask);
}

void
anthropic_add_result(struct value_list *list, const struct value *message)
{
	struct arena *arena = list->arena;
	const struct value *content = value_get(message, "content");
	struct value_list blocks = { .arena = arena };

	bool failed = value_text_is(value_get(message, "status"), "error");

	if (value_is(content, VALUE_STR)) {
		content = is_blank(content->text) ? NULL : content;
	} else {
		anthropic_add_content(&blocks, content);
		content = blocks.count > 0 ? value_list_end(&blocks) : NULL;
	}
	if (content == NULL && failed) /* an error has to say something */
		content = text(arena, "error");
	value_list_add(
	    list, value_map(arena, "type", text(arena, "tool_result"), "tool_use_id",
		      id_of(arena, value_get(message, "tool_call_id")), "content",
		      content, "is_error", failed ? value_bool(true) : NULL, NULL));
}
