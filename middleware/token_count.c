#include "token_count.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chat.h"

#define CHARS_USUAL 4.0
#define CHARS_ANTHROPIC 3.3
#define TOKENS_OF_MESSAGE 3
#define CORRECTION_MAX 1.25

double
token_chars(const char *model)
{
	return model != NULL && strncmp(model, "anthropic:", 10) == 0 ? CHARS_ANTHROPIC
								      : CHARS_USUAL;
}

static int64_t
tokens_of(size_t characters, double chars)
{
	return (int64_t)ceil((double)characters / chars);
}

/* --- characters --------------------------------------------------------------------- */

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* True when the bytes of all four words at text are ASCII. */
static bool
are_plain(const char *text)
{
	uint64_t words[4];

	memcpy(words, text, sizeof words);
	return ((words[0] | words[1] | words[2] | words[3]) & EACH_BYTE(0x80)) == 0;
}

/* Code points: the bytes that do not continue one. */
static size_t
count_characters(const char *text, size_t size)
{
	size_t continued = 0, i;
	uint64_t eight;

	for (i = 0; i + sizeof eight <= size; i += sizeof eight) {
		while (i + 4 * sizeof eight <= size && are_plain(text + i))
			i += 4 * sizeof eight;
		if (i + sizeof eight > size)
			break;
		memcpy(&eight, text + i, sizeof eight);
		/* A byte that continues is 10xxxxxx: the first bit without the second. */
		eight = (eight >> 7) & ~(eight >> 6) & EACH_BYTE(1);
		continued += (eight * EACH_BYTE(1)) >> 56;
	}
	for (; i < size; i++)
		continued += ((unsigned char)text[i] & 0xc0) == 0x80;
	return size - continued;
}

static size_t
characters_of(const struct value *text)
{
	if (text == NULL || text->type != VALUE_STR)
		return 0;
	return count_characters(text->text, text->size);
}

/* As Python writes a string: quotes around it, escapes for what is no character. */
static size_t
written_text(const struct value *text)
{
	size_t count = characters_of(text) + 2, single = 0, twice = 0, i;

	for (i = 0; i < text->size; i++) {
		unsigned char byte = (unsigned char)text->text[i];

		single += byte == '\'';
		twice += byte == '"';
		if (byte == '\\' || byte == '\n' || byte == '\r' || byte == '\t')
			count += 1;
		else if (byte < ' ' || byte == 0x7f)
			count += 3; /* \x07 */
	}
	/* In the other quotes, if there is none of them. */
	return count + (twice > 0 ? single : 0);
}

static size_t written(const struct value *value);

static size_t
written_items(const struct value *value)
{
	size_t count = 2 + (value->size > 0 ? 2 * ((size_t)value->size - 1) : 0), i;

	for (i = 0; i < value->size; i++)
		count += value->type == VALUE_MAP ? written_text(value->pairs[i].key) +
							2 + written(value->pairs[i].value)
						  : written(value->items[i]);
	return count;
}

static size_t
written_integer(int64_t integer)
{
	size_t count = integer < 0 ? 2 : 1;

	for (; integer > 9 || integer < -9; integer /= 10)
		count++;
	return count;
}

static size_t
written_float(double real)
{
	char text[32];
	int precision, size = 0;

	for (precision = 15; precision <= 17; precision++) {
		double again;

		size = snprintf(text, sizeof text, "%.*g", precision, real);
		if (sscanf(text, "%lf", &again) == 1 && again == real)
			break;
	}
	return (size_t)size + (strpbrk(text, ".en") == NULL ? 2 : 0); /* 1.0 */
}

/* How long value is as Python writes it. */
static size_t
written(const struct value *value)
{
	switch (value->type) {
	case VALUE_NIL:
		return 4;
	case VALUE_BOOL:
		return value->boolean ? 4 : 5;
	case VALUE_INT:
		return written_integer(value->integer);
	case VALUE_FLOAT:
		return written_float(value->real);
	case VALUE_STR:
		return written_text(value);
	case VALUE_BIN:
		return 3 + (size_t)value->size;
	case VALUE_ARRAY:
	case VALUE_MAP:
		break;
	}
	return written_items(value);
}

/* --- messages ----------------------------------------------------------------------- */

/* What of a message counts, found in one walk over it. */
struct parts {
	const struct value *type, *content, *name, *calls, *call_id;
};

/* Most keys are none of them: their lengths tell most of these. */
static void
take_part(struct parts *parts, const struct value_pair *pair)
{
	const struct value **part;
	const char *name;

	switch (pair->key->size) {
	case 4:
		part = pair->key->text[0] == 't' ? &parts->type : &parts->name;
		name = pair->key->text[0] == 't' ? "type" : "name";
		break;
	case 7:
		part = &parts->content;
		name = "content";
		break;
	case 10:
		part = &parts->calls;
		name = "tool_calls";
		break;
	case 12:
		part = &parts->call_id;
		name = "tool_call_id";
		break;
	default:
		return;
	}
	if (memcmp(pair->key->text, name, pair->key->size) == 0)
		*part = pair->value;
}

static struct parts
parts_of(const struct value *message)
{
	struct parts parts = { 0 };
	size_t i;

	for (i = 0; value_is(message, VALUE_MAP) && i < message->size; i++)
		take_part(&parts, &message->pairs[i]);
	return parts;
}

static size_t
role_characters(const struct value *type)
{
	if (value_text_is(type, "human"))
		return strlen("user");
	if (value_text_is(type, "ai"))
		return strlen("assistant");
	return characters_of(type);
}

static bool
is_image(const struct value *type)
{
	return value_text_is(type, "image") || value_text_is(type, "image_url");
}

/* Adds the characters and tokens of a content's blocks. */
static void
add_blocks(const struct value *blocks, size_t *characters, int64_t *tokens)
{
	size_t i;

	for (i = 0; i < blocks->size; i++) {
		const struct value *block = blocks->items[i];
		const struct value *type = value_get(block, "type");

		if (value_is(block, VALUE_STR))
			*characters += characters_of(block);
		else if (is_image(type))
			*tokens += TOKENS_IN_IMAGE;
		else if (value_text_is(type, "text"))
			*characters += characters_of(value_get(block, "text"));
		else
			*characters += written(block);
	}
}

int64_t
token_count_message(const struct value *message, double chars)
{
	struct parts parts = parts_of(message);
	size_t characters = role_characters(parts.type) + characters_of(parts.name) +
			    characters_of(parts.call_id);
	int64_t tokens = TOKENS_OF_MESSAGE;
	bool has_blocks = parts.content != NULL && parts.content->type == VALUE_ARRAY;

	if (has_blocks)
		add_blocks(parts.content, &characters, &tokens);
	else if (value_is(parts.content, VALUE_STR))
		characters += characters_of(parts.content);
	else if (parts.content != NULL && parts.content->type != VALUE_NIL)
		characters += written(parts.content);
	/* A model that answers in blocks has its calls among them. */
	if (!has_blocks && parts.calls != NULL && value_size(parts.calls) > 0)
		characters += written(parts.calls);
	return tokens + tokens_of(characters, chars);
}

static int64_t
count_range(const struct value *messages, size_t from, size_t to, double chars)
{
	int64_t tokens = 0;
	size_t i;

	for (i = from; i < to; i++)
		tokens += token_count_message(value_at(messages, i), chars);
	return tokens;
}

int64_t
token_count_messages(const struct value *messages, double chars)
{
	return count_range(messages, 0, value_size(messages), chars);
}

int64_t
token_count_head(const char *system_prompt, const struct value *tools, double chars)
{
	int64_t tokens = 0;

	if (system_prompt != NULL && system_prompt[0] != '\0')
		tokens += TOKENS_OF_MESSAGE + tokens_of(count_characters(system_prompt,
							    strlen(system_prompt)) +
							    strlen("system"),
						  chars);
	if (value_size(tools) > 0)
		tokens += tokens_of(written(tools), chars);
	return tokens;
}

/* --- what the provider says --------------------------------------------------------- */

/* True when model is provider:name of the given provider, which is a "provider" of size bytes. */
static bool
is_provider(const char *model, const char *provider, size_t size)
{
	return model != NULL && strncmp(model, provider, size) == 0 && model[size] == ':';
}

static bool
is_of(const struct value *message, const char *model, const char *otherwise)
{
	const char *provider =
	    value_get_text(value_get(message, "response_metadata"), "model_provider");

	if (provider == NULL)
		provider = otherwise;
	return provider != NULL && is_provider(model, provider, strcspn(provider, ":"));
}

int64_t
token_reported(
    const struct value *messages, const char *model, const char *otherwise, size_t *at_r)
{
	long last = chat_last_ai(messages);
	const struct value *message;

	if (last == -1)
		return -1;
	message = value_at(messages, (size_t)last);
	if (!is_of(message, model, otherwise))
		return -1;
	if (at_r != NULL)
		*at_r = (size_t)last;
	return value_get_int(value_get(message, "usage_metadata"), "total_tokens", -1);
}

int64_t
token_count_request(const struct token_request *request)
{
	const char *sender = request->sender != NULL ? request->sender : request->model;
	const struct value *messages = request->messages;
	double chars = token_chars(request->model), correction;
	int64_t tokens = token_count_head(request->system_prompt, request->tools, chars);
	int64_t reported, behind;
	size_t at = 0;

	reported = token_reported(messages, request->model, sender, &at);
	if (reported <= 0 || value_text_is(value_get(value_at(messages, at), "id"),
				 request->stale != NULL ? request->stale : ""))
		return tokens + token_count_messages(messages, chars);
	tokens += count_range(messages, 0, at + 1, chars);
	behind = count_range(messages, at + 1, value_size(messages), chars);
	correction = (double)reported / (double)tokens;
	if (correction < 1)
		correction = 1;
	if (correction > CORRECTION_MAX)
		correction = CORRECTION_MAX;
	return (int64_t)ceil((double)(tokens + behind) * correction);
}
