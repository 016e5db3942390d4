/* redis_reply: what Redis answers, as values, and what its refusals ask for. Part of
 * redis. */
#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include <stdbool.h>

#include "redis.h" /* before hiredis.h, whose macros REDIS_OK and the like would hide ours */
#include "value.h"

struct redisReply; /* hiredis' */

/* Returns a copy of reply in arena: strings and statuses VALUE_BIN, errors VALUE_STR, also
 * those inside of arrays. */
const struct value *redis_reply_value(
    struct arena *arena, const struct redisReply *reply);

bool redis_reply_is_error(const struct redisReply *reply);

enum redis_verdict {
	REDIS_FINAL,     /* the answer is the answer */
	REDIS_AGAIN,     /* nothing was done; the same may do later */
	REDIS_ELSEWHERE, /* nothing was done; this server is no primary: connect again */
	REDIS_LIBRARY,   /* the function library is missing */
};

/* Returns what to do about an error text. */
enum redis_verdict redis_reply_verdict(const char *error);

#endif
