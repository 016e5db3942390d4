/* Which fields of one of its variables an expression names, by its text: a few tokens of Lua suffice. Where the text leaves
 * doubts it is more, never less. */
#include <ctype.h>
#include <string.h>

#include "lua_expression.h"

struct reader {
	struct arena *arena;
	const char *at;    /* behind the token */
	const char *token; /* or NULL: the text is over */
	size_t size;
	bool is_member; /* a name behind `.` or `:` */
};

/* Behind the bracket that closes the long one at `at`, or the text's end; NULL: none begins there. */
static const char *
behind_long(const char *at)
{
	size_t level = *at == '[' ? strspn(at + 1, "=") : 0;

	if (*at != '[' || at[1 + level] != '[')
		return NULL;
	for (at += 2 + level; *at != '\0'; at++)
		if (*at == ']' && strspn(at + 1, "=") == level && at[1 + level] == ']')
			return at + 2 + level;
	return at;
}

static const char *
behind_quoted(const char *at)
{
	char quote = *at++;

	for (; *at != '\0' && *at != quote; at++)
		if (*at == '\\' && at[1] != '\0')
			at++;
	return *at != '\0' ? at + 1 : at;
}

static const char *
behind_blanks(const char *at)
{
	const char *end;

	for (;;) {
		at += strspn(at, " \t\r\n\v\f");
		if (strncmp(at, "--", 2) != 0)
			return at;
		end = behind_long(at + 2);
		at = end != NULL ? end : at + strcspn(at, "\r\n");
	}
}

static bool
is_name(const char *at)
{
	return isalpha((unsigned char)*at) || *at == '_';
}

static const char *
behind_token(const char *at)
{
	const char *end = behind_long(at);

	if (end != NULL)
		return end;
	if (*at == '"' || *at == '\'')
		return behind_quoted(at);
	if (is_name(at) || isdigit((unsigned char)*at)) {
		bool is_number = !is_name(at);

		while (isalnum((unsigned char)*at) || *at == '_' ||
		       (is_number && *at == '.'))
			at++;
		return at;
	}
	/* Neither `..` nor `::` has a member behind it. */
	if ((*at == '.' || *at == ':') && at[1] == *at)
		return at + strspn(at, *at == '.' ? "." : ":");
	return at + 1;
}

/* Returns whether there is one more. */
static bool
next_token(struct reader *reader)
{
	bool points = reader->token != NULL && reader->size == 1 &&
		      (*reader->token == '.' || *reader->token == ':');

	reader->token = behind_blanks(reader->at);
	reader->at = behind_token(reader->token);
	if (*reader->token == '\0')
		reader->at = reader->token;
	reader->size = (size_t)(reader->at - reader->token);
	reader->is_member = points && is_name(reader->token);
	return reader->size > 0;
}

static bool
token_is(const struct reader *reader, const char *text)
{
	return reader->size == strlen(text) &&
	       memcmp(reader->token, text, reader->size) == 0;
}

/* The field that is named behind the variable, or NULL: it is used in another way. */
static const char *
field_behind(struct reader reader)
{
	const char *name;

	if (!next_token(&reader))
		return NULL;
	if (token_is(&reader, ".") && next_token(&reader) && reader.is_member)
		return arena_copy(reader.arena, reader.token, reader.size);
	if (!token_is(&reader, "[") || !next_token(&reader) || reader.size < 2 ||
	    (*reader.token != '"' && *reader.token != '\''))
		return NULL;
	name = arena_copy(reader.arena, reader.token + 1, reader.size - 2);
	return strchr(name, '\\') == NULL && next_token(&reader) && token_is(&reader, "]")
		   ? name
		   : NULL;
}

const struct value *
lua_expression_fields(
    struct arena *arena, const char *text, const char *variable, bool *all_r)
{
	struct value_fields names = { .arena = arena };
	struct value_list list = { .arena = arena };
	struct reader reader = { .arena = arena, .at = text };
	const char *name;
	size_t i;

	*all_r = false;
	while (next_token(&reader)) {
		if (reader.is_member)
			continue;
		name = token_is(&reader, variable) ? field_behind(reader) : NULL;
		if (name != NULL)
			value_fields_set(&names, name, value_nil());
		else if (token_is(&reader, variable) || token_is(&reader, "_ENV"))
			*all_r = true;
	}
	for (i = 0; i < names.count; i++)
		value_list_add(&list, names.pairs[i].key);
	return value_list_end(&list);
}
