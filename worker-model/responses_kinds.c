#include "responses_kinds.h"

#include <string.h>

#include "call_words.h"
#include "json.h"
#include "openai_blocks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FREE_TEXT                                                                        \
	"__arg1" /* LangChain's name for what a tool without parameters is given */
#define COMPUTER "computer_use"

static bool
is_type(const struct value *block, const char *type)
{
	return value_text_is(value_get(block, "type"), type);
}

/* --- calls --------------------------------------------------------------------------- */

enum { FUNCTION, CUSTOM, SCREEN };

static const struct responses_call calls[] = {
	[FUNCTION] = { "function_call", "function_call_output" },
	[CUSTOM] = { "custom_tool_call", "custom_tool_call_output" },
	[SCREEN] = { "computer_call", "computer_call_output" },
};

const struct responses_call *
responses_call_of(const struct value *item)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		if (is_type(item, calls[i].type))
			return &calls[i];
	return NULL;
}

const char *
responses_call_name(const struct value *item)
{
	return is_type(item, calls[SCREEN].type) ? COMPUTER
						 : value_get_text(item, "name");
}

const struct value *
responses_call_args(struct arena *arena, const struct value *item)
{
	if (is_type(item, calls[CUSTOM].type))
		return value_map(arena, FREE_TEXT, value_get(item, "input"), NULL);
	if (is_type(item, calls[SCREEN].type))
		return value_map(arena, "action", value_get(item, "action"), NULL);
	return value_get(item, "arguments");
}

const struct value *
responses_call_now(
    const struct ask *ask, const struct value *item, const struct value *call)
{
	struct arena *arena = ask->arena;
	const char *provider = ask->provider;
	const struct value *text = value_get(value_get(call, "args"), FREE_TEXT);

	if (is_type(item, calls[SCREEN].type))
		return item;
	item =
	    value_map_with(arena, item, "name", call_name(ask, value_get(call, "name")));
	if (is_type(item, calls[CUSTOM].type))
		return value_map_with(arena, item, "input",
		    value_is(text, VALUE_STR) ? text
					      : openai_arguments(arena, call, provider));
	return value_map_with(
	    arena, item, "arguments", openai_arguments(arena, call, provider));
}

/* --- other items --------------------------------------------------------------------- */

static bool
ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size > end_size && strcmp(text + size - end_size, end) == 0;
}

bool
responses_goes_back(const struct value *block)
{
	static const char *const others[] = { "compaction", "item_reference",
		"mcp_approval_request", "mcp_list_tools", "program" };
	/* LangChain's, of any provider */
	static const char *const not_ours[] = { "tool_call", "invalid_tool_call",
		"server_tool_call" };
	const char *type = value_get_text(block, "type");

	if (type == NULL || responses_call_of(block) != NULL)
		return false;
	for (size_t i = 0; i < COUNT(others); i++)
		if (strcmp(type, others[i]) == 0)
			return true;
	for (size_t i = 0; i < COUNT(not_ours); i++)
		if (strcmp(type, not_ours[i]) == 0)
			return false;
	return ends_with(type, "_call") || ends_with(type, "_output");
}

/* --- annotations --------------------------------------------------------------------- */

/* Returns list with from as to in each citation of a file. */
static const struct value *
renamed(
    struct arena *arena, const struct value *annotation, const char *from, const char *to)
{
	const struct value *index = value_get(annotation, from);

	if (!is_type(annotation, "file_citation") || index == NULL)
		return annotation;
	return value_map_with(
	    arena, value_map_with(arena, annotation, from, NULL), to, index);
}

const struct value *
responses_annotations_of(struct arena *arena, const struct value *annotations)
{
	struct value_list list = { .arena = arena };

	for (size_t i = 0; value_is(annotations, VALUE_ARRAY) && i < annotations->size;
	     i++)
		value_list_add(
		    &list, renamed(arena, annotations->items[i], "index", "file_index"));
	return value_list_end(&list);
}

static bool
is_annotation(const struct value *annotation)
{
	return is_type(annotation, "url_citation") ||
	       is_type(annotation, "file_citation") ||
	       is_type(annotation, "container_file_citation") ||
	       is_type(annotation, "file_path");
}

const struct value *
responses_annotations_sent(struct arena *arena, const struct value *annotations)
{
	struct value_list list = { .arena = arena };

	for (size_t i = 0; value_is(annotations, VALUE_ARRAY) && i < annotations->size;
	     i++)
		if (is_annotation(annotations->items[i]))
			value_list_add(&list,
			    renamed(arena, annotations->items[i], "file_index", "index"));
	return value_list_end(&list);
}
