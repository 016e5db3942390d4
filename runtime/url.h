/* url: the parts of a URL, by libcurl's parser. */
#ifndef URL_H
#define URL_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct url {
	const char *scheme; /* lower case */
	const char *host;   /* without brackets; "" when there is none */
	bool is_address;    /* the host is a number */
	bool is_loopback;   /* 127.0.0.0/8, ::1, localhost */
	uint16_t port;      /* 0: none given, and the scheme has no usual one */
	const char *user;   /* decoded, as password; or NULL */
	const char *password;
	const char *path;  /* at least "/" */
	const char *query; /* as it is written; or NULL */
};

/* Parses text into *url_r; all in arena. Returns 0, or -1 with a reason, which does not
 * repeat the text: it may hold a password. */
int url_parse(
    struct arena *arena, const char *text, struct url *url_r, const char **error_r);

/* Returns the size bytes at text as people may see them when they are no URL that will do: whole, or "..." where there may
 * be a password in them, or a key that was put into the wrong place. */
const char *url_shown(struct arena *arena, const char *text, size_t size);

/* Returns size bytes of text, each %XX as the byte it is, in arena. */
const char *url_decode(struct arena *arena, const char *text, size_t size);

#endif
