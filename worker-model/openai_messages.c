#include "openai_messages.h"

#include <string.h>

#include "call_words.h"
#include "chat.h"
#include "json.h"
#include "openai_blocks.h"
#include "providers.h"
#include "utf8.h"

#define NAME_BYTES_MAX 64u /* of a participant, and the characters below */
#define NAME_NEVER " \t\r\n<|\\/>"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Returns NULL for a message that no model is sent. */
static const struct value *
role_of(const struct value *message)
{
	const struct value *type = value_get(message, "type");

	if (value_text_is(type, "human"))
		return VALUE_TEXT("user");
	if (value_text_is(type, "ai"))
		return VALUE_TEXT("assistant");
	if (value_text_is(type, "system"))
		return VALUE_TEXT("system");
	return value_text_is(type, "tool") ? VALUE_TEXT("tool") : NULL;
}

/* --- content ----------------------------------------------------------------------- */

static bool
is_text(const struct value *block)
{
	return value_is(block, VALUE_STR) ||
	       value_text_is(value_get(block, "type"), "text");
}

static bool
is_all_text(const struct value *blocks)
{
	for (size_t i = 0; i < value_size(blocks); i++)
		if (!is_text(value_at(blocks, i)))
			return false;
	return true;
}

static const struct value *
image_part(struct arena *arena, const struct value *block)
{
	const struct value *url = value_get(block, "url");

	if (url == NULL && openai_block_data(block) == NULL)
		return block;
	if (url == NULL)
		url = openai_data_url(arena, block, "image/png");
	return value_map(arena, "type", value_str(arena, "image_url"), "image_url",
	    value_map(arena, "url", url, "detail", value_get(block, "detail"), NULL),
	    NULL);
}

static const struct value *
audio_part(struct arena *arena, const struct value *block)
{
	const char *mime = value_get_text(block, "mime_type");
	const char *format = mime == NULL ? NULL : strchr(mime, '/');
	const struct value *audio;

	if (openai_block_data(block) == NULL)
		return block;
	audio = value_map(arena, "data", openai_block_data(block), "format",
	    value_str(arena, format == NULL ? "wav" : format + 1), NULL);
	return value_map(
	    arena, "type", value_str(arena, "input_audio"), "input_audio", audio, NULL);
}

static const struct value *
file_part(struct arena *arena, const struct value *block)
{
	const struct value *file = NULL;

	if (value_has(block, "file_id"))
		file = value_map(arena, "file_id", value_get(block, "file_id"), NULL);
	else if (openai_block_data(block) != NULL)
		file = value_map(arena, "file_data",
		    openai_data_url(arena, block, "application/pdf"), "filename",
		    value_get(block, "filename"), NULL);
	if (file == NULL)
		return block;
	return value_map(arena, "type", value_str(arena, "file"), "file", file, NULL);
}

/* What else there is goes as it is: it may be the provider's own. */
static const struct value *
part_of(struct arena *arena, const struct value *block)
{
	const char *type = value_get_text(block, "type");

	if (value_is(block, VALUE_STR))
		return value_map(
		    arena, "type", value_str(arena, "text"), "text", block, NULL);
	if (type == NULL)
		return block;
	if (strcmp(type, "text") == 0)
		return value_map(arena, "type", value_get(block, "type"), "text",
		    value_get(block, "text"), NULL);
	if (strcmp(type, "image") == 0)
		return image_part(arena, block);
	if (strcmp(type, "audio") == 0)
		return audio_part(arena, block);
	if (strcmp(type, "file") == 0)
		return file_part(arena, block);
	return block;
}

/* Those of a block of text alone, if texts is set. */
static const struct value *
parts_of(struct arena *arena, const struct value *blocks, bool texts)
{
	struct value_list parts = { .arena = arena };

	for (size_t i = 0; i < value_size(blocks); i++)
		if (!texts || is_text(value_at(blocks, i)))
			value_list_add(&parts, part_of(arena, value_at(blocks, i)));
	return value_list_end(&parts);
}

/* Blocks of text go to OpenAI as they are, elsewhere as one string, which every server takes. Of an AI message only
 * text goes back: what else is in it (reasoning, calls once more) is for people. */
static const struct value *
content_of(struct arena *arena, const struct value *message, const char *provider)
{
	const struct value *content = value_get(message, "content");
	bool texts = chat_is(message, "ai");
	const struct value *text;

	if (value_is_nil(content))
		return value_str(arena, "");
	if (value_is(content, VALUE_STR))
		return content;
	if (!value_is(content, VALUE_ARRAY))
		return value_str(arena, json_text(arena, content));
	text = texts || is_all_text(content) ? chat_said(arena, message) : NULL;
	if (text != NULL && (text->size == 0 || !openai_itself(provider)))
		return text;
	return parts_of(arena, content, texts);
}

/* An answer with nothing in it (a model that thought to the last token, a filter) goes to OpenAI as it is; Mistral,
 * xAI and Moonshot refuse it, and each request of the thread from then on. */
static const struct value *
something(const struct value *content, const struct value *calls, const char *provider)
{
	if (value_size(content) > 0)
		return content;
	if (calls != NULL)
		return value_nil();
	return openai_itself(provider) ? content : VALUE_TEXT(".");
}

/* --- calls ------------------------------------------------------------------------- */

/* What a server said besides goes back to that one alone. */
static const struct value *
said_besides(const struct value *message, const char *key, const char *provider)
{
	const struct value *by =
	    value_get(value_get(message, "response_metadata"), "model_provider");

	return chat_is(message, "ai") && value_text_is(by, provider)
		   ? value_get(value_get(message, "additional_kwargs"), key)
		   : NULL;
}

/* Google's newer models refuse a call without the signature of what was thought before it. One that they have not made has
 * none: this is what Google says in its place. */
static bool
wants_signatures(const struct ask *ask)
{
	static const char gemini[] = "gemini-";
	const char *model = ask->model;

	return strcmp(ask->provider, "google_genai") == 0 &&
	       strncmp(model, gemini, strlen(gemini)) == 0 &&
	       strchr("12", model[strlen(gemini)]) == NULL;
}

static const struct value *
unsigned_beside(struct arena *arena)
{
	return value_map(arena, "google",
	    value_map(arena, "thought_signature",
		value_str(arena, "skip_thought_signature_validator"), NULL),
	    NULL);
}

static const struct value *
call_of(const struct ask *ask, size_t index, const struct value *call,
    const struct value *beside)
{
	struct arena *arena = ask->arena;

	const struct value_pair function[] = {
		{ VALUE_TEXT("name"), call_name(ask, value_get(call, "name")) },
		{ VALUE_TEXT("arguments"), openai_arguments(arena, call, ask->provider) },
	};
	const struct value_pair sent[] = {
		{ VALUE_TEXT("id"), call_id(ask, index, value_get(call, "id")) },
		{ VALUE_TEXT("type"), VALUE_TEXT("function") },
		{ VALUE_TEXT("function"),
		    value_map_of(arena, function, COUNT(function)) },
		{ VALUE_TEXT(OPENAI_BESIDE), beside },
	};
	return value_map_of(arena, sent, COUNT(sent));
}

/* What goes beside the call that is the next one of list. By ids is what came with the message's; of several calls at once the first has
 * the signature. */
static const struct value *
beside_of(const struct ask *ask, const struct value_list *list, const struct value *call,
    const struct value *by_ids)
{
	const char *id = value_get_text(call, "id");
	const struct value *beside = id == NULL ? NULL : value_get(by_ids, id);

	return beside == NULL && (by_ids == NULL || list->count == 0) &&
		       wants_signatures(ask)
		   ? unsigned_beside(ask->arena)
		   : beside;
}

static void
add_calls(struct value_list *list, const struct ask *ask, size_t index, const char *key)
{
	const struct value *message = value_at(ask->messages, index);
	const struct value *by_ids = said_besides(message, OPENAI_BESIDE, ask->provider);
	const struct value *calls = value_get(message, key);

	for (size_t i = 0; i < value_size(calls); i++)
		value_list_add(
		    list, call_of(ask, index, value_at(calls, i),
			      beside_of(ask, list, value_at(calls, i), by_ids)));
}

static const struct value *
calls_of(const struct ask *ask, size_t index)
{
	struct value_list list = { .arena = ask->arena };

	add_calls(&list, ask, index, "tool_calls");
	add_calls(&list, ask, index, "invalid_tool_calls");
	return list.count > 0 ? value_list_end(&list) : NULL;
}

/* --- messages ---------------------------------------------------------------------- */

/* A name that the provider would refuse, and the whole request with it, is mended. */
static const struct value *
name_of(struct arena *arena, const struct value *message)
{
	const char *name = value_get_text(message, "name");
	size_t size = name == NULL ? 0 : strlen(name);
	char *mended;

	if (size == 0)
		return NULL;
	mended = arena_copy(arena, name, utf8_prefix(name, size, NAME_BYTES_MAX));
	for (char *at = mended; (at = strpbrk(at, NAME_NEVER)) != NULL;)
		*at = '_';
	return value_str(arena, mended);
}

/* AI messages have the name of their agent. Of other servers than OpenAI many refuse that, and all else of the
 * request: xAI, Groq, Mistral. */
static bool
has_name(const struct value *message, const char *provider)
{
	return chat_is(message, "human") ||
	       (!chat_is(message, "tool") && openai_itself(provider));
}

/* What a model thought goes back to who sent it: DeepSeek and Moonshot refuse an answer of theirs without it when
 * tools are offered (so does OpenRouter, without its details, for Google), others (Groq) to be sent it at all. An answer
 * that had none, or another model's, is refused like that by DeepSeek: a blank is enough, nothing is not. */
static const struct value *
thought_of(const struct value *message, const char *provider)
{
	const struct known_provider *known = known_provider(provider);
	const struct value *thought =
	    said_besides(message, "reasoning_content", provider);
	bool is_there = value_is(thought, VALUE_STR);

	if (known != NULL && known->wants_thoughts && chat_is(message, "ai"))
		return is_there && thought->size > 0 ? thought : VALUE_TEXT(" ");
	return is_there ? thought : NULL;
}

static const struct value *
message_of(const struct ask *ask, size_t index, const struct value *role)
{
	struct arena *arena = ask->arena;
	const char *provider = ask->provider;
	const struct value *message = value_at(ask->messages, index);
	const struct value *calls = calls_of(ask, index);
	const struct value *content = content_of(arena, message, provider);
	bool tool = chat_is(message, "tool"), ai = chat_is(message, "ai");

	if (ai)
		content = something(content, calls, provider);

	const struct value_pair sent[] = {
		{ VALUE_TEXT("role"), role },
		{ VALUE_TEXT("content"), content },
		{ VALUE_TEXT("name"),
		    has_name(message, provider) ? name_of(arena, message) : NULL },
		{ VALUE_TEXT("reasoning_content"), thought_of(message, provider) },
		{ VALUE_TEXT("reasoning_details"),
		    said_besides(message, "reasoning_details", provider) },
		{ VALUE_TEXT("tool_calls"), calls },
		{ VALUE_TEXT("tool_call_id"),
		    tool ? call_id(ask, index, value_get(message, "tool_call_id"))
			 : NULL },
	};
	return value_map_of(arena, sent, COUNT(sent));
}

static void
add_system(struct value_list *list, const char *system_prompt)
{
	if (system_prompt == NULL || *system_prompt == '\0')
		return;

	const struct value_pair system[] = {
		{ VALUE_TEXT("role"), VALUE_TEXT("system") },
		{ VALUE_TEXT("content"), value_str(list->arena, system_prompt) },
	};
	value_list_add(list, value_map_of(list->arena, system, COUNT(system)));
}

/* Returns message number index as it is sent, or NULL with a reason in ask->arena. */
static const struct value *
sent_message(const struct ask *ask, size_t index, const char **error_r)
{
	const struct value *message = value_at(ask->messages, index);
	const struct value *role = role_of(message);

	if (role != NULL)
		return message_of(ask, index, role);
	*error_r =
	    arena_printf(ask->arena, "messages[%zu].type: a model cannot be sent '%s'",
		index, value_get_text(message, "type"));
	return NULL;
}

/* Adds to what is kept of the messages what is not there yet. Returns -1 with a reason. */
static int
keep(const struct ask *ask, const char **error_r)
{
	/* All that message_of goes by, but the message. */
	written_in(
	    ask->written, arena_printf(ask->arena, "chat completions %s%s%s",
			      ask->provider, wants_signatures(ask) ? " signed" : "",
			      call_names_fit(ask) ? "" : " named"));
	while (ask->written->count < value_size(ask->messages)) {
		const struct value *sent =
		    sent_message(ask, ask->written->count, error_r);

		if (sent == NULL)
			return -1;
		written_add(ask->written, &sent, 1);
	}
	return 0;
}

const struct value *
openai_messages(const struct ask *ask, const char **error_r)
{
	struct value_list list = { .arena = ask->arena };
	const struct value *sent;

	add_system(&list, ask->system_prompt);
	if (ask->written != NULL) {
		if (keep(ask, error_r) == -1)
			return NULL;
		written_put(ask->written, &list, value_size(ask->messages));
		return value_list_end(&list);
	}
	for (size_t i = 0; i < value_size(ask->messages); i++) {
		sent = sent_message(ask, i, error_r);
		if (sent == NULL)
			return NULL;
		value_list_add(&list, sent);
	}
	return value_list_end(&list);
}
