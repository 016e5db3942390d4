/* http_server: a small HTTP/1.1 server (libmicrohttpd) on the loop, without threads.
 *
 * A request is an exchange: when it is there whole, its owner's on_request is called on a fiber of its own and
 * answers, in one piece or as a stream; it may wait meanwhile. Before that, when its head is there and its body is
 * not, on_head may look at it, and answer already: then the body is not read.
 *
 * Bounds, each an option: connections, others wait in the kernel; bytes of a head, of a body (more: 413), of
 * all bodies together (more: 503), of all answers in one piece that are not taken yet (more: 503; small ones always have
 * room; a stream asks whether it has, exchange_has_room; 0: no bound). A connection is closed when nothing moves on it for idle_s, and a request
 * that has not come, or an answer that was not taken, request_ms after the connection or the answer before it;
 * a stream that is not read is waited for as long. Whoever goes away has his fiber cancelled, at once if it
 * streams. A request that a proxy may read in another way (two lengths, two hosts) is refused.
 *
 * No file outside this folder includes libmicrohttpd. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop.h"
#include "value.h"

struct http_server;

/* What stands in a path for a slash that was written %2F: it is one of a name, where others are between two of them. */
#define HTTP_NAMED_SLASH '\x1f'

/* A request, and what becomes of it. The fields are its owner's to read. */
struct exchange {
	struct arena *arena;       /* of the exchange: for all that goes with it */
	const char *method, *path; /* path: decoded, without its query */
	const char *body;          /* NUL-terminated; NULL until it is there */
	size_t body_size;
};

#define HTTP_DONE_PATH_BYTES 512u

/* A request that is over: its answer was taken, or who asked is gone. */
struct http_done {
	const char *method, *path; /* as the exchange's, but for what is very long */
	unsigned kind;             /* exchange_is_of's; 0 */
	void *whose;               /* exchange_counts_for's; NULL */
	unsigned status;           /* 0: there was no answer before who asked was gone */
	uint64_t ms,
	    bytes; /* since its head was there; of the answer's body that were taken */
	bool is_whole; /* all of the answer was taken */
};

struct http_server_options {
	const char *listen; /* "HOST:PORT"; PORT 0: any that is free */
	unsigned connections_max;
	size_t head_bytes_max, body_bytes_max, bodies_bytes_max, answers_bytes_max;
	unsigned idle_s;
	uint64_t request_ms;
	/* On the loop's stack: must not wait. NULL: nothing to look at. */
	void (*on_head)(void *arg, struct exchange *exchange);
	/* On a fiber. One that returns without an answer has said 500. */
	void (*on_request)(void *arg, struct exchange *exchange);
	/* On the loop's stack, or the request's fiber when who asked went first; must not wait: one that counted for whose
	 * (exchange_counts_for) has ended. NULL: none does. */
	void (*on_end)(void *arg, void *whose);
	/* The same, of each request, before that. NULL: nobody wants to know. */
	void (*on_done)(void *arg, const struct http_done *done);
	void *arg;
	bool
	    tells_json; /* of what is refused here: {"detail": text}, else a line of text */
};

/* Returns new, listening; options are copied, what they point to is kept. NULL with a reason, lent until the
 * next one; *is_usage_r: listen is no HOST:PORT. */
struct http_server *http_server_new(struct loop *loop,
    const struct http_server_options *options, const char **error_r, bool *is_usage_r);

/* Takes *server_p: takes no more, cancels the fibers that answer, and waits until they have ended; so on a fiber.
 * The loop closes what is left of it in its next turns. NULL is fine. */
void http_server_destroy(struct http_server **server_p);

/* Lends "127.0.0.1:9464". */
const char *http_server_where(const struct http_server *server);

/* How many requests there are, from their heads until they are over, and connections. */
void http_server_count(
    const struct http_server *server, size_t *requests_r, size_t *connections_r);

/* --- the request --- */

/* What is called so in a path, size bytes: with its slashes, in arena. */
const char *exchange_name(struct arena *arena, const char *bytes, size_t size);

/* Lends a header of the request until that is answered, or a stream begun; or NULL. name in any case. */
const char *exchange_header(const struct exchange *exchange, const char *name);
/* How many of that name there are. */
unsigned exchange_header_count(const struct exchange *exchange, const char *name);
/* Lends one of the query, decoded, in the exchange's arena; "" of one without a value; several of one name with commas
 * between. */
const char *exchange_query(const struct exchange *exchange, const char *name);

/* Counts size more bytes among all bodies, as long as the request's fiber runs: what was made of its own. Returns false
 * after answering 503, when that is too much. */
bool exchange_hold(struct exchange *exchange, size_t size);

/* Has the request count for whose, not NULL, until on_end: when its answer is taken, or who asked is gone, and its fiber has ended.
 * bodies_bytes, lent until then: what is held of whose bodies, which is no more than half of bodies_bytes_max (more: 503). On its head alone. */
void exchange_counts_for(struct exchange *exchange, void *whose, size_t *bodies_bytes);
/* Whose it is, or NULL. */
void *exchange_whose(const struct exchange *exchange);

/* --- the answer: one of exchange_answer and exchange_stream, once --- */

/* Adds a header to the answer; before it. Name and value are copied; a value with a line break is left out. */
void exchange_add_header(struct exchange *exchange, const char *name, const char *value);
/* Answers. text is copied; type NULL: no body. */
void exchange_answer(struct exchange *exchange, unsigned status, const char *type,
    const void *text, size_t size);
bool exchange_is_answered(const struct exchange *exchange);

/* Begins an answer that comes in pieces and ends when on_request returns: it breaks off, as its reader sees, when the
 * fiber was cancelled, since the server ends. From now on who hangs up is noticed at once: his fiber is cancelled. */
void exchange_stream(struct exchange *exchange, unsigned status, const char *type);
/* Writes a piece, which is copied. Waits while the reader has more than HTTP_STREAM_BYTES_MAX to take. Returns 0, or -1:
 * who read is gone, or the fiber was cancelled. */
int exchange_write(struct exchange *exchange, const void *data, size_t size);

/* Says that size bytes are kept elsewhere to be written to the stream; another number takes its place, and 0 is to be said before
 * the fiber ends. If that is more than HTTP_STREAM_BYTES_MAX it counts as what is written does. */
void exchange_keep(struct exchange *exchange, size_t size);

/* Whether less is held of answers than may be (answers_bytes_max), of a stream what is more than HTTP_STREAM_BYTES_MAX; to
 * be asked before what may be large is made. Answers in one piece may be half as much again, since several are told so at
 * once. If not, the stream, or large answer, whose reader has taken nothing for the longest, and for a second at least, is
 * cut off: ask again soon. */
bool exchange_has_room(const struct exchange *exchange);

/* What kind of request it is to its owner, for http_done. */
void exchange_is_of(struct exchange *exchange, unsigned kind);

/* Whether who asked has gone away. */
bool exchange_is_gone(const struct exchange *exchange);

#define HTTP_STREAM_BYTES_MAX (256u << 10)

#endif
