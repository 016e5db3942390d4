/* redis_session: a connection to Redis that is kept up. Part of redis.
 *
 *	OFF ──time──▶ FINDING ──address──▶ GREETING ──all answered──▶ UP ──▶ LEAVING
 *	 ▲                │                   │                       │         │
 *	 └── back-off ────┴───────────────────┴── the link closed ────┴─────────┘
 *
 * Whatever goes wrong ends in OFF, a name that is not found in time among it when there is another
 * address, and OFF ends in a new connection, to the next address in turn: AUTH, SELECT, ROLE, the function library, PING, and only then up. A replica is no
 * Redis for us: with several addresses the one that is primary is found so. LEAVING takes no
 * more commands and closes once those under way are answered. */
#ifndef REDIS_SESSION_H
#define REDIS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis.h"

struct redis_session;
struct redisReply; /* hiredis' */

/* Both are called on the loop's stack. */
struct redis_session_events {
	void (*on_up)(void *arg);
	/* Redis refuses writes for now, it said in the greeting. */
	void (*on_refused)(void *arg, const char *error);
	/* As of redis_link. */
	void (*on_reply)(void *arg, void *token, const struct redisReply *reply);
};

/* As redis_new. Keeps events. */
struct redis_session *redis_session_new(struct loop *loop, const char *url,
    const char *library, const struct redis_session_events *events, void *arg,
    const char **error_r);

/* Takes *session_p; on_reply comes for what is under way. */
void redis_session_destroy(struct redis_session **session_p);

bool redis_session_is_up(const struct redis_session *session);
/* As redis_connects and redis_is_denied. */
unsigned redis_session_connects(const struct redis_session *session);
bool redis_session_is_denied(const struct redis_session *session);
const char *redis_session_trouble(const struct redis_session *session);

/* Sends a command with a token, while up. */
void redis_session_send(struct redis_session *session, const struct redis_arg *args,
    size_t count, void *token);

/* Loads the library again, while up, before what is sent next. */
void redis_session_load(struct redis_session *session);

/* Connects again when what is under way is answered, because of what Redis said. */
void redis_session_leave(struct redis_session *session, const char *reason);

/* How long an answer may take, see redis_allow_silence. */
void redis_session_allow(struct redis_session *session, uint64_t ms);

/* Returns how long to wait after so many failures in a row, from 1: with jitter, so that
 * those who failed together do not come back together. */
uint64_t redis_backoff_ms(unsigned failures);

#endif
