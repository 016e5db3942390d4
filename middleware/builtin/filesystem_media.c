/* Images, audio, video and files in the answers of tools. What a model does not take is told in words. Where the provider's
 * tool messages are text alone, the others go into a user's message behind all answers of the round. */
#include "filesystem.h"

#include <string.h>

static bool
is_media(const struct value *block)
{
	static const char *const types[] = { "image", "audio", "video", "file" };
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (value_text_is(value_get(block, "type"), types[i]))
			return true;
	return false;
}

/* --- what a model does not take ----------------------------------------------------- */

/* Whether the model's profile says that it takes no such block; what is not said is not known. Bytes of no kind
 * none takes. */
static bool
is_refused(const struct value *profile, const struct value *block)
{
	static const struct {
		const char *type, *key;
	} kinds[] = {
		{ "image", "image_inputs" },
		{ "audio", "audio_inputs" },
		{ "video", "video_inputs" },
		{ "file", "pdf_inputs" },
	};
	const char *type = value_get_text(block, "type");
	size_t i;

	if (type != NULL && strcmp(type, "file") == 0 &&
	    value_text_is(value_get(block, "mime_type"), "application/octet-stream"))
		return true;
	for (i = 0; type != NULL && i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(type, kinds[i].type) == 0)
			return !value_get_bool(profile, kinds[i].key, true) &&
			       (strcmp(type, "file") != 0 ||
				   value_text_is(
				       value_get(block, "mime_type"), "application/pdf"));
	return false;
}

/* message with words in place of what is refused. */
static const struct value *
in_words(struct arena *arena, const struct value *profile, const struct value *message)
{
	const struct value *content = value_get(message, "content");
	struct value_list blocks = { .arena = arena };
	bool is_changed = false;
	size_t i;

	if (!chat_is(message, "tool") || !value_is(content, VALUE_ARRAY))
		return message;
	for (i = 0; i < content->size; i++) {
		const struct value *block = content->items[i];

		if (is_refused(profile, block)) {
			is_changed = true;
			block = value_map(arena, "type", VALUE_TEXT("text"), "text",
			    value_printf(arena, "[%s: not shown, this model takes none]",
				value_get_text(block, "type")),
			    NULL);
		}
		value_list_add(&blocks, block);
	}
	return is_changed
		   ? value_map_with(arena, message, "content", value_list_end(&blocks))
		   : message;
}

const struct value *
filesystem_media_taken(
    struct arena *arena, const struct value *profile, const struct value *messages)
{
	struct value_list list = { .arena = arena };
	bool is_changed = false;
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		value_list_add(&list, in_words(arena, profile, messages->items[i]));
		is_changed = is_changed || list.items[i] != messages->items[i];
	}
	return is_changed ? value_list_end(&list) : messages;
}

/* --- where a result must be text ---------------------------------------------------- */

static bool
has_media(const struct value *message)
{
	const struct value *content = value_get(message, "content");
	size_t i;

	if (!chat_is(message, "tool") || !value_is(content, VALUE_ARRAY))
		return false;
	for (i = 0; i < content->size; i++)
		if (is_media(content->items[i]))
			return true;
	return false;
}

/* message with text alone; its media are added to moved. */
static const struct value *
without_media(struct arena *arena, const struct value *message, struct value_list *moved)
{
	const struct value *content = value_get(message, "content");
	const char *text = chat_text(arena, message);
	size_t i;

	value_list_add(moved, value_map(arena, "type", VALUE_TEXT("text"), "text",
				  value_printf(arena, "What call %s has read:",
				      value_get_text(message, "tool_call_id")),
				  NULL));
	for (i = 0; i < content->size; i++) {
		const struct value *block = content->items[i];

		if (!is_media(block))
			continue;
		value_list_add(moved, block);
		text = arena_printf(arena, "%s%s[%s: see below]", text,
		    text[0] == '\0' ? "" : "\n", value_get_text(block, "type"));
	}
	return value_map_with(arena, message, "content", value_str(arena, text));
}

/* Adds the user's message of what was moved, which is empty then. */
static void
add_moved(struct value_list *list, struct value_list *moved)
{
	if (moved->count == 0)
		return;
	value_list_add(list, value_map_with(list->arena, chat_human(list->arena, ""),
				 "content", value_list_end(moved)));
	*moved = (struct value_list){ .arena = list->arena };
}

const struct value *
filesystem_media_moved(struct arena *arena, const struct value *messages)
{
	struct value_list list = { .arena = arena }, moved = { .arena = arena };
	bool is_changed = false;
	size_t i;

	for (i = 0; i < value_size(messages) && !is_changed; i++)
		is_changed = has_media(messages->items[i]);
	if (!is_changed)
		return messages;
	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = messages->items[i];

		if (!chat_is(message, "tool"))
			add_moved(&list, &moved);
		value_list_add(&list,
		    has_media(message) ? without_media(arena, message, &moved) : message);
	}
	add_moved(&list, &moved);
	return value_list_end(&list);
}
