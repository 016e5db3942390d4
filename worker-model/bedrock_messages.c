#include "bedrock_messages.h"

#include <string.h>

#include "anthropic_blocks.h"
#include "anthropic_messages.h"
#include "chat.h"

static bool
is_type(const struct value *block, const char *type)
{
	return value_text_is(value_get(block, "type"), type);
}

/* --- thoughts ------------------------------------------------------------------------ */

/* Of a message that does not say whose it is, the answer is yes. */
static bool
may_go_back(const struct value *message, const char *model)
{
	const char *said_by =
	    value_get_text(value_get(message, "response_metadata"), "model_name");

	return said_by == NULL || strcmp(said_by, model) == 0 ||
	       (anthropic_is_claude(said_by) && anthropic_is_claude(model));
}

/* NULL: it does not go back. */
static const struct value *
thought(struct arena *arena, const struct value *block)
{
	const struct value *content = value_get(block, "reasoning_content");
	const struct value *redacted = value_get(content, "redacted_content");
	const struct value *text = value_get(content, "text");

	if (value_size(redacted) > 0)
		return value_map(arena, "type", value_str(arena, "redacted_thinking"),
		    "data", redacted, NULL);
	if (value_size(value_get(content, "signature")) == 0)
		return NULL;
	return value_map(arena, "type", value_str(arena, "thinking"), "thinking",
	    text == NULL ? value_str(arena, "") : text, "signature",
	    value_get(content, "signature"), NULL);
}

/* What Bedrock's own tools did; what those of other providers did has other words. */
static bool
is_of_tools(const struct value *block)
{
	const char *type = value_get_text(block, "type");
	size_t size = type == NULL ? 0 : strlen(type), end = strlen("_tool_result");

	return is_type(block, "server_tool_use") || is_type(block, "mcp_tool_use") ||
	       is_type(block, "container_upload") || is_type(block, "compaction") ||
	       (size > end && strcmp(type + size - end, "_tool_result") == 0);
}

static bool
is_own(const struct value *message, const struct ask *ask)
{
	const struct value *said_by =
	    value_get(value_get(message, "response_metadata"), "model_provider");

	return said_by == NULL || value_text_is(said_by, ask->provider);
}

/* Returns the block as it may be sent, or NULL. */
static const struct value *
sent(const struct ask *ask, const struct value *message, const struct value *block)
{
	if (is_type(block, "reasoning_content"))
		return may_go_back(message, ask->model) ? thought(ask->arena, block)
							: NULL;
	if (is_type(block, "thinking") || is_type(block, "redacted_thinking"))
		return anthropic_is_claude(ask->model) ? block : NULL;
	if (!is_of_tools(block))
		return block;
	return is_own(message, ask) && (is_type(block, "server_tool_use") ||
					   is_type(block, "server_tool_result"))
		   ? block
		   : NULL;
}

static const struct value *
of_ai(const struct ask *ask, const struct value *message)
{
	const struct value *content = value_get(message, "content"), *block;
	struct value_list list = { .arena = ask->arena };

	for (size_t i = 0; i < content->size; i++) {
		block = sent(ask, message, content->items[i]);
		if (block != NULL)
			value_list_add(&list, block);
	}
	return value_map_with(ask->arena, message, "content", value_list_end(&list));
}

/* --- files --------------------------------------------------------------------------- */

/* Where LangChain looks for a file's name. */
static const struct value *
name_of(const struct value *block)
{
	static const char *const keys[] = { "name", "filename" }, *const maps[] = {
		"metadata", "extras"
	};

	for (size_t i = 0; i < 2; i++)
		if (value_is(value_get(block, keys[i]), VALUE_STR))
			return value_get(block, keys[i]);
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < 2; j++)
			if (value_is(
				value_get(value_get(block, maps[i]), keys[j]), VALUE_STR))
				return value_get(value_get(block, maps[i]), keys[j]);
	return NULL;
}

static bool
is_unnamed_file(const struct value *block)
{
	return (is_type(block, "file") || is_type(block, "text-plain")) &&
	       !value_has(block, "title") && name_of(block) != NULL;
}

static const struct value *
with_titles(struct arena *arena, const struct value *message)
{
	const struct value *content = value_get(message, "content"), *block;
	struct value_list list = { .arena = arena };
	size_t named = 0;

	for (size_t i = 0; i < content->size; i++) {
		block = content->items[i];
		if (is_unnamed_file(block)) {
			block = value_map_with(arena, block, "title", name_of(block));
			named++;
		}
		value_list_add(&list, block);
	}
	return named == 0
		   ? message
		   : value_map_with(arena, message, "content", value_list_end(&list));
}

/* --- all ----------------------------------------------------------------------------- */

const struct value *
bedrock_messages(const struct ask *ask, struct value_list *system, const char **error_r)
{
	struct value_list list = { .arena = ask->arena };
	struct ask asked = *ask;

	for (size_t i = 0; i < value_size(ask->messages); i++) {
		const struct value *message = value_at(ask->messages, i);

		if (value_is(value_get(message, "content"), VALUE_ARRAY))
			message = chat_is(message, "ai")
				      ? of_ai(ask, message)
				      : with_titles(ask->arena, message);
		value_list_add(&list, message);
	}
	asked.rules = "bedrock_converse";
	return anthropic_messages(&asked, value_list_end(&list), system, error_r);
}
