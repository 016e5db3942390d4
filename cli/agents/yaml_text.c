#include "yaml_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "json.h"
#include "tame.h"

/* What a plain scalar of these letters would be read as is no text, here or elsewhere. */
static const char *const reserved[] = { "true", "false", "null", "yes", "no", "on", "off",
	"y", "n", "nan", "inf" };

static bool
is_plain(const struct value *text)
{
	size_t i;

	if (text->size == 0 || !isalpha((unsigned char)text->text[0]) ||
	    text->text[text->size - 1] == ' ')
		return false;
	for (i = 0; i < text->size; i++) {
		char c = text->text[i];

		if (!isalnum((unsigned char)c) &&
		    (c == '\0' || strchr(" _./-", c) == NULL) &&
		    (c != ':' || text->text[i + 1] == ' ' || i + 1 == text->size))
			return false;
	}
	for (i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strcasecmp(text->text, reserved[i]) == 0)
			return false;
	return true;
}

/* Can stand as it is behind "|". */
static bool
is_block(const struct value *text)
{
	size_t i;

	if (memchr(text->text, '\n', text->size) == NULL || text->text[0] == ' ' ||
	    text->text[0] == '\n')
		return false;
	for (i = 0; i < text->size; i++) {
		unsigned char c = (unsigned char)text->text[i];

		if (c != '\n' && (c < ' ' || c > '~'))
			return false;
		/* Of several empty lines at the end nothing tells how many are its own. */
		if (c == '\n' && text->text[i + 1] == '\n' && i + 2 == text->size)
			return false;
	}
	return true;
}

static void
put(struct packet *out, const char *text)
{
	packet_append(out, text, strlen(text));
}

static void
put_spaces(struct packet *out, unsigned count)
{
	for (; count > 0; count--)
		put(out, " ");
}

/* A scalar that is not plain: as JSON, with escapes for what ours has as it is and YAML does not
 * print: U+FEFF, U+FFFE, U+FFFF. */
static void
put_json(struct arena *arena, struct packet *out, const struct value *value)
{
	const unsigned char *at = (const unsigned char *)tame_json(arena, value);

	for (; *at != '\0'; at++) {
		if (*at == 0xef && ((at[1] == 0xbb && at[2] == 0xbf) ||
				       (at[1] == 0xbf && at[2] >= 0xbe))) {
			put(out, at[1] == 0xbb   ? "\\ufeff"
				 : at[2] == 0xbe ? "\\ufffe"
						 : "\\uffff");
			at += 2;
		} else {
			packet_append(out, (const char *)at, 1);
		}
	}
}

static void
put_block(struct packet *out, const struct value *text, unsigned depth)
{
	const char *at = text->text, *end = text->text + text->size;

	put(out, end[-1] == '\n' ? "|\n" : "|-\n");
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t size = line != NULL ? (size_t)(line - at) : (size_t)(end - at);

		if (size > 0)
			put_spaces(out, depth);
		packet_append(out, at, size);
		put(out, "\n");
		at += size + 1;
	}
}

static void
put_scalar(
    struct arena *arena, struct packet *out, const struct value *value, unsigned depth)
{
	if (value_is(value, VALUE_STR) && is_block(value)) {
		put_block(out, value, depth);
		return;
	}
	if (value_is(value, VALUE_STR) && is_plain(value))
		packet_append(out, value->text, value->size);
	else
		put_json(arena, out, value);
	put(out, "\n");
}

static bool
is_nested(const struct value *value)
{
	return (value_is(value, VALUE_MAP) || value_is(value, VALUE_ARRAY)) &&
	       value_size(value) > 0;
}

static void
put_key(struct arena *arena, struct packet *out, const struct value *key)
{
	if (is_plain(key) && strchr(key->text, ':') == NULL)
		packet_append(out, key->text, key->size);
	else
		put_json(arena, out, key);
	put(out, ":");
}

/* Puts a nested value, each of its lines behind depth spaces; the first of them are there. */
static void
put_nested(
    struct arena *arena, struct packet *out, const struct value *value, unsigned depth)
{
	bool is_map = value_is(value, VALUE_MAP);
	size_t i;

	for (i = 0; i < value_size(value); i++) {
		const struct value *item =
		    is_map ? value->pairs[i].value : value_at(value, i);

		if (i > 0)
			put_spaces(out, depth);
		if (is_map)
			put_key(arena, out, value->pairs[i].key);
		else
			put(out, "-");
		if (!is_nested(item)) {
			put(out, " ");
			put_scalar(arena, out, item, depth + 2);
			continue;
		}
		put(out, is_map ? "\n" : " ");
		if (is_map)
			put_spaces(out, depth + 2);
		put_nested(arena, out, item, depth + 2);
	}
}

const char *
yaml_text(struct arena *arena, const struct value *value)
{
	struct packet out = { 0 };
	const char *text;

	if (is_nested(value))
		put_nested(arena, &out, value, 0);
	else
		put_scalar(arena, &out, value, 2);
	text = arena_copy(arena, out.data, out.size);
	packet_release(&out);
	return text;
}
