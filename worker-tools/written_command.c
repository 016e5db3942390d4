#include "written_command.h"

#include <string.h>

#include "json.h"
#include "utf8.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* --- form --------------------------------------------------------------------------- */

static bool
is_one_of(const struct value *text, const char *const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (value_text_is(text, names[i]))
			return true;
	return false;
}

/* The key of command that it may not have, or NULL. */
static const char *
unknown_key(const struct value *command)
{
	static const char *const keys[] = { "content", "artifact", "update", "goto" };
	size_t i;

	for (i = 0; i < command->size; i++)
		if (!is_one_of(command->pairs[i].key, keys, COUNT(keys)))
			return command->pairs[i].key->text;
	return NULL;
}

static bool
is_target(const struct value *target)
{
	size_t i;

	for (i = 0; value_is(target, VALUE_ARRAY) && i < target->size; i++)
		if (!value_is(target->items[i], VALUE_STR))
			return false;
	return value_is_nil(target) || value_is(target, VALUE_STR) ||
	       value_is(target, VALUE_ARRAY);
}

/* What is wrong with command, or NULL. Whether its messages are some is seen where they are brought into form. */
static const char *
flaw_of(struct arena *arena, const struct value *command)
{
	const struct value *update = value_get(command, "update"), *goes_to;
	const char *key;

	if (!value_is(command, VALUE_MAP))
		return arena_printf(arena,
		    "wrote JSON that is no object, although its output is command: %s",
		    value_type_name(command->type));
	key = unknown_key(command);
	if (key != NULL)
		return arena_printf(arena,
		    "wrote a command with '%s'; it may have content, artifact, update "
		    "and goto",
		    utf8_shown(arena, key, 100));
	if (!value_is_nil(update) && !value_is(update, VALUE_MAP))
		return arena_printf(arena,
		    "wrote a command whose update is no object of fields: %s",
		    value_type_name(update->type));
	goes_to = value_get(command, "goto");
	if (!is_target(goes_to))
		return "wrote a command whose goto is neither the name of a node nor a "
		       "list of names";
	if (!value_is_nil(value_get(command, "content")))
		return NULL;
	if (!value_is_nil(value_get(command, "artifact")))
		return "wrote a command with an artifact and no content: the artifact is "
		       "the answer's";
	if (value_is_nil(value_get(update, "messages")))
		return "wrote a command that does not answer the call: it needs content, "
		       "or a tool message in update";
	return NULL;
}

/* --- the answer --------------------------------------------------------------------- */

/* As LangChain tells blocks from a list of anything. */
static bool
is_blocks(const struct value *content)
{
	static const char *const types[] = { "text", "text-plain", "image", "image_url",
		"audio", "video", "file", "document", "search_result", "json" };
	size_t i;

	for (i = 0; i < value_size(content); i++)
		if (!is_one_of(
			value_get(value_at(content, i), "type"), types, COUNT(types)))
			return false;
	return value_is(content, VALUE_ARRAY) && content->size > 0;
}

static const struct value *
content_in_form(struct arena *arena, const struct value *content)
{
	if (value_is(content, VALUE_STR))
		return value_str(arena, utf8_clean(arena, content->text, content->size));
	return is_blocks(content) ? content : value_str(arena, json_text(arena, content));
}

static const struct value *
with_answer(struct arena *arena, const struct value *update, const struct value *content,
    const struct value *artifact)
{
	const struct value *messages = value_get(update, "messages");
	const struct value *answer = value_map(arena, "type", VALUE_TEXT("tool"),
	    "content", content_in_form(arena, content), "artifact",
	    value_is_nil(artifact) ? NULL : artifact, NULL);
	struct value_list list = { .arena = arena };

	value_list_add(&list, answer);
	if (value_is(messages, VALUE_ARRAY))
		value_list_add_all(&list, messages);
	else if (!value_is_nil(messages))
		value_list_add(&list, messages);
	return value_map_with(arena, update, "messages", value_list_end(&list));
}

const struct value *
written_command(struct arena *arena, const char *text, size_t size, const char **error_r)
{
	const struct value *command, *content, *update, *target;
	const char *reason;

	command = json_parse(arena, text, size, &reason);
	if (command == NULL) {
		*error_r = arena_printf(
		    arena, "wrote no JSON although its output is command: %s", reason);
		return NULL;
	}
	*error_r = flaw_of(arena, command);
	if (*error_r != NULL)
		return NULL;
	content = value_get(command, "content");
	update = value_get(command, "update");
	target = value_get(command, "goto");
	if (value_is_nil(update))
		update = NULL;
	if (!value_is_nil(content))
		update =
		    with_answer(arena, update, content, value_get(command, "artifact"));
	return value_map(
	    arena, "update", update, "goto", value_is_nil(target) ? NULL : target, NULL);
}
