/* summarization_text: a history as the model that sums it up reads it. Marked up as XML is, so that
 * no message can pass itself off as another one. */
#include "summarization.h"

#include <string.h>

#include "json.h"
#include "token_count.h"
#include "utf8.h"

static void
add(struct packet *packet, const char *text)
{
	packet_append(packet, text, strlen(text));
}

/* Adds the size bytes at text with what has a meaning in XML written out. */
static void
add_escaped(struct packet *packet, const char *text, size_t size)
{
	size_t from = 0, i;

	for (i = 0; i < size; i++) {
		const char *instead = text[i] == '<'    ? "&lt;"
				      : text[i] == '>'  ? "&gt;"
				      : text[i] == '&'  ? "&amp;"
				      : text[i] == '"'  ? "&quot;"
				      : text[i] == '\0' ? " "
							: NULL;

		if (instead == NULL)
			continue;
		packet_append(packet, text + from, i - from);
		add(packet, instead);
		from = i + 1;
	}
	packet_append(packet, text + from, size - from);
}

static void
add_attribute(struct packet *packet, const char *name, const struct value *value)
{
	if (!value_is(value, VALUE_STR))
		return;
	add(packet, " ");
	add(packet, name);
	add(packet, "=\"");
	add_escaped(packet, value->text, value->size);
	add(packet, "\"");
}

/* --- content ------------------------------------------------------------------------ */

/* What is no text is named and left out: nobody can sum up an image's bytes. */
static void
add_block(struct packet *packet, const struct value *block)
{
	const struct value *text =
	    value_is(block, VALUE_STR) ? block : value_get(block, "text");
	const char *type = value_get_text(block, "type");

	if (value_is(text, VALUE_STR)) {
		packet_append(packet, text->text, text->size);
	} else if (type != NULL && strcmp(type, "tool_use") != 0) {
		add(packet, "[");
		add(packet, type);
		add(packet, "]");
	}
}

/* Appends message's content as text. */
static void
content_of(struct packet *packet, const struct value *message)
{
	const struct value *content = value_get(message, "content");
	size_t i;

	if (value_is(content, VALUE_STR))
		packet_append(packet, content->text, content->size);
	for (i = 0; value_is(content, VALUE_ARRAY) && i < content->size; i++)
		add_block(packet, content->items[i]);
}

static void
add_call(
    struct packet *packet, struct arena *arena, const struct value *call, size_t most)
{
	const char *args = json_text(arena, value_get(call, "args"));
	size_t size = strlen(args), shown = utf8_prefix(args, size, most);

	add(packet, "<tool_call");
	add_attribute(packet, "name", value_get(call, "name"));
	add_attribute(packet, "id", value_get(call, "id"));
	add(packet, ">");
	add_escaped(packet, args, shown);
	add(packet, shown < size ? " [...]</tool_call>" : "</tool_call>");
}

/* --- messages ----------------------------------------------------------------------- */

/* Adds message; of its content only the last most bytes, of its calls the
 * first. */
static void
add_message(
    struct packet *packet, struct arena *arena, const struct value *message, size_t most)
{
	const struct value *calls = value_get(message, "tool_calls");
	struct packet content = { 0 };
	size_t from, i;

	content_of(&content, message);
	from = content.size > most ? content.size - most : 0;
	while (from < content.size && ((unsigned char)content.data[from] & 0xc0) == 0x80)
		from++;
	add(packet, "<message");
	add_attribute(packet, "type", value_get(message, "type"));
	add_attribute(packet, "name", value_get(message, "name"));
	add_attribute(packet, "answers", value_get(message, "tool_call_id"));
	add(packet, from > 0 ? ">[...] " : ">");
	if (content.size > 0)
		add_escaped(packet, content.data + from, content.size - from);
	packet_release(&content);
	for (i = 0; i < value_size(calls); i++)
		add_call(packet, arena, value_at(calls, i), most);
	add(packet, "</message>\n");
}

bool
summarization_is_summary(const struct value *message)
{
	return value_text_is(
	    value_get(value_get(message, "additional_kwargs"), "lc_source"),
	    SUMMARY_SOURCE);
}

/* The first of messages, from first on, of which all to the end have at most *left_p tokens
 * together; what is left then is *left_p. */
static size_t
first_that_fits(const struct value *messages, size_t first, int64_t *left_p, double chars)
{
	size_t at = value_size(messages);

	while (at > first) {
		int64_t tokens = token_count_message(value_at(messages, at - 1), chars);

		if (tokens > *left_p)
			break;
		*left_p -= tokens;
		at--;
	}
	return at;
}

/* Adds what fits into limit tokens. */
static void
add_last(struct packet *packet, struct arena *arena, const struct value *messages,
    int64_t limit, double chars)
{
	const struct value *earlier = value_at(messages, 0);
	int64_t left = limit;
	size_t first = summarization_is_summary(earlier) ? 1 : 0, at, i;

	if (first == 1) {
		/* A summary that alone is too long leaves something to what is new. */
		int64_t tokens = token_count_message(earlier, chars);
		int64_t most = limit - limit / 4;

		add_message(packet, arena, earlier,
		    tokens <= most ? SIZE_MAX : (size_t)((double)most * chars));
		left -= tokens <= most ? tokens : most;
	}
	at = first_that_fits(messages, first, &left, chars);
	if (at > first) {
		/* The end of the one before. */
		size_t bytes = (size_t)((double)left * chars);

		at--;
		if (at > first)
			add(packet,
			    arena_printf(arena, "[%zu earlier messages are left out]\n",
				at - first));
		add_message(packet, arena, value_at(messages, at), bytes);
		at++;
	}
	for (i = at; i < value_size(messages); i++)
		add_message(packet, arena, value_at(messages, i), SIZE_MAX);
}

const char *
summarization_text(
    struct arena *arena, const struct value *messages, int64_t limit, double chars)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i;

	if (limit >= 0)
		add_last(&packet, arena, messages, limit, chars);
	for (i = 0; limit < 0 && i < value_size(messages); i++)
		add_message(&packet, arena, value_at(messages, i), SIZE_MAX);
	text = arena_copy(arena, packet.data != NULL ? packet.data : "", packet.size);
	packet_release(&packet);
	return text;
}
