/* redis_reply: what Redis answers, as values, and what its refusals ask for. Part of
 * redis. */
#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include <stdbool.h>

#include "redis.h" /* before hiredis.h, whose macros REDIS_OK and the like would hide ours */
#include "value.h"

struct redisReader; /* hiredis' */
struct redisReply;

/* Returns a copy of reply in arena: strings and statuses VALUE_BIN, errors VALUE_STR, also
 * those inside of arrays. */
const struct value *redis_reply_value(
    struct arena *arena, const struct redisReply *reply);

/* Has reader refuse, as REDIS_ERR_OOM, an array of more than REDIS_REPLY_ELEMENTS_MAX: hiredis
 * takes the room for what an array's head promises before an element has come; and a reply that takes more than
 * bytes_max with all that is in it. And has each reply be of one arena: it is freed by reader's fn->freeObject. Called before
 * the reader is fed. */
void redis_reply_bound(struct redisReader *reader, size_t bytes_max);

bool redis_reply_is_error(const struct redisReply *reply);

enum redis_verdict {
	REDIS_FINAL,     /* the answer is the answer */
	REDIS_AGAIN,     /* nothing was done; the same may do later */
	REDIS_REFUSED,   /* nothing was done, until somebody mends something */
	REDIS_ELSEWHERE, /* nothing was done; not on this connection: connect again */
	REDIS_LIBRARY,   /* the function library is missing */
};

/* Returns what to do about an error text. */
enum redis_verdict redis_reply_verdict(const char *error);

#endif
