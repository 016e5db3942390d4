#include "uri.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A piece of a URI; text NULL: absent. */
struct piece {
	const char *text;
	size_t size;
};

struct uri {
	struct piece scheme, authority, path, query, fragment;
};

static struct piece
cut(const char **at, const char *stops)
{
	struct piece piece = { *at, strcspn(*at, stops) };

	*at += piece.size;
	return piece;
}

static bool
is_scheme(struct piece piece)
{
	size_t i;

	if (piece.size == 0 || !isalpha((unsigned char)piece.text[0]))
		return false;
	for (i = 0; i < piece.size; i++) {
		unsigned char byte = (unsigned char)piece.text[i];

		if (!isalnum(byte) && strchr("+-.", byte) == NULL)
			return false;
	}
	return true;
}

static struct uri
split(const char *text)
{
	struct uri uri = { 0 };
	const char *at = text;
	struct piece scheme = cut(&at, ":/?#");

	if (*at == ':' && is_scheme(scheme)) {
		uri.scheme = scheme;
		at++;
	} else {
		at = text;
	}
	if (strncmp(at, "//", 2) == 0) {
		at += 2;
		uri.authority = cut(&at, "/?#");
	}
	uri.path = cut(&at, "?#");
	if (*at == '?') {
		at++;
		uri.query = cut(&at, "#");
	}
	if (*at == '#') {
		at++;
		uri.fragment = cut(&at, "");
	}
	return uri;
}

/* Takes "." and ".." out of path in place. */
static void
remove_dots(char *path)
{
	char *from = path, *to = path;
	const char *floor = path[0] == '/' ? path + 1 : path;

	while (*from != '\0') {
		size_t size = strcspn(from, "/");
		bool last = from[size] == '\0';

		if (size == 2 && strncmp(from, "..", 2) == 0) {
			/* Back over the slash and the segment before it. */
			if (to > floor)
				to--;
			while (to > floor && to[-1] != '/')
				to--;
		} else if (size != 1 || from[0] != '.') {
			memmove(to, from, size + !last);
			to += size + !last;
		}
		from += size + !last;
	}
	*to = '\0';
}

/* The path of ref beside that of base. */
static struct piece
merge(struct arena *arena, const struct uri *base, const struct uri *ref)
{
	size_t keep = base->path.size;
	struct piece merged;
	char *path;

	while (keep > 0 && base->path.text[keep - 1] != '/')
		keep--;
	path = base->authority.text != NULL && base->path.size == 0
		   ? arena_printf(arena, "/%.*s", (int)ref->path.size, ref->path.text)
		   : arena_printf(arena, "%.*s%.*s", (int)keep, base->path.text,
			 (int)ref->path.size, ref->path.text);
	remove_dots(path);
	merged.text = path;
	merged.size = strlen(path);
	return merged;
}

static struct uri
transform(struct arena *arena, const struct uri *base, struct uri ref)
{
	if (ref.scheme.text != NULL)
		return ref;
	ref.scheme = base->scheme;
	if (ref.authority.text != NULL)
		return ref;
	ref.authority = base->authority;
	if (ref.path.size == 0) {
		ref.path = base->path;
		if (ref.query.text == NULL)
			ref.query = base->query;
	} else if (ref.path.text[0] != '/') {
		ref.path = merge(arena, base, &ref);
	}
	return ref;
}

static const char *
join(struct arena *arena, const struct uri *uri)
{
	return arena_printf(arena, "%.*s%s%s%.*s%.*s%s%.*s%s%.*s", (int)uri->scheme.size,
	    uri->scheme.size == 0 ? "" : uri->scheme.text,
	    uri->scheme.text == NULL ? "" : ":", uri->authority.text == NULL ? "" : "//",
	    (int)uri->authority.size,
	    uri->authority.text == NULL ? "" : uri->authority.text, (int)uri->path.size,
	    uri->path.text == NULL ? "" : uri->path.text,
	    uri->query.text == NULL ? "" : "?", (int)uri->query.size,
	    uri->query.text == NULL ? "" : uri->query.text,
	    uri->fragment.text == NULL ? "" : "#", (int)uri->fragment.size,
	    uri->fragment.text == NULL ? "" : uri->fragment.text);
}

const char *
uri_resolve(struct arena *arena, const char *base, const char *ref)
{
	struct uri from = split(base);
	struct uri resolved = transform(arena, &from, split(ref));

	return join(arena, &resolved);
}

char *
uri_decode(struct arena *arena, const char *text)
{
	char *decoded = arena_strdup(arena, text), *to = decoded;
	const char *from = decoded;

	while (*from != '\0') {
		char digits[3] = { 0 };

		if (*from == '%' && isxdigit((unsigned char)from[1]) &&
		    isxdigit((unsigned char)from[2])) {
			memcpy(digits, from + 1, 2);
			*to++ = (char)strtol(digits, NULL, 16);
			from += 3;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return decoded;
}
