/* redis_link: one connection to Redis: hiredis' parser, a socket on libuv, TLS where the address wants it.
 * Part of redis. */
#ifndef REDIS_LINK_H
#define REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis.h"

struct redis_link;
struct redis_address;
struct redisReply; /* hiredis' */

/* Both are called on the loop's stack. */
struct redis_link_events {
	/* The answer to what was sent with this token, in order; NULL: the connection went
	 * before it came. reply is lent for the call. */
	void (*on_reply)(void *arg, void *token, const struct redisReply *reply);
	/* The link has closed, after on_reply for all that was sent; it frees itself. */
	void (*on_closed)(void *arg, const char *reason);
};

/* Returns a new link that connects to address, that is to its unix socket or to the numeric address ip,
 * which is its host's; commands may be sent at once. NULL with a reason lent until the next call when
 * it cannot even begin. Keeps address and events. */
struct redis_link *redis_link_open(struct loop *loop, const struct redis_address *address,
    const char *ip, const struct redis_link_events *events, void *arg,
    const char **error_r);

/* Takes the link out of service: all that was sent is answered with NULL and on_closed
 * comes, both now or, inside of on_reply, as soon as that returns. */
void redis_link_close(struct redis_link *link, const char *reason);

/* Sends a command: at the end of the turn, with all others. Of a link that closes it is answered with NULL
 * at once. */
void redis_link_send(
    struct redis_link *link, const struct redis_arg *args, size_t count, void *token);

/* Writes what was sent; for the flush hook. */
void redis_link_flush(struct redis_link *link);

/* Commands without an answer yet; when something was last heard, or sent with nothing
 * under way. */
size_t redis_link_pending(const struct redis_link *link);
uint64_t redis_link_heard_ms(const struct redis_link *link);

/* Whether it is connected, and the two have not come to terms on TLS yet. */
bool redis_link_is_shaking(const struct redis_link *link);

#endif
