/* tiny_http: an HTTP/1.1 server that answers with the very bytes it was given, and can
 * misbehave, for tests of the client. It runs in a thread of its own. */
#ifndef TINY_HTTP_H
#define TINY_HTTP_H

#include <stddef.h>
#include <stdint.h>

struct tiny_http;

enum tiny_end {
	TINY_KEEP,  /* the connection stays open for more */
	TINY_CLOSE, /* closed behind the bytes */
	TINY_RESET, /* at once, with RST */
	TINY_HANG,  /* nothing comes any more */
	TINY_DRIP,  /* a blank line now and then, for ever */
};

struct tiny_answer {
	const char *bytes; /* status line, headers and body; NULL-terminated */
	size_t size;       /* 0: strlen */
	enum tiny_end end;
};

/* Returns a new server on a free port of 127.0.0.1. */
struct tiny_http *tiny_http_new(void);

/* Takes *server_p; NULL is fine. */
void tiny_http_destroy(struct tiny_http **server_p);

uint16_t tiny_http_port(const struct tiny_http *server);

/* The next request is answered with this, the one after it with what is added then; the
 * last answer is given again and again. bytes is copied. Without any, a request is answered
 * with itself, head and body, as text/plain. */
void tiny_http_add(struct tiny_http *server, const struct tiny_answer *answer);

/* The bytes of the request numbered index (0: the first), of the first TINY_KEPT_MAX, for the
 * caller to free; NULL when there is none. */
#define TINY_KEPT_MAX 256u
char *tiny_http_request(struct tiny_http *server, unsigned index);

/* Requests read to their end, connections accepted, connections open now. */
unsigned tiny_http_requests(struct tiny_http *server);
unsigned tiny_http_accepted(struct tiny_http *server);
unsigned tiny_http_open(struct tiny_http *server);

#endif
