/* redis_greeting: what is said first on a connection to Redis, and whether the answers will
 * do. Part of redis. */
#ifndef REDIS_GREETING_H
#define REDIS_GREETING_H

#include "value.h"

/* Our own commands, in the order of the greeting. */
enum redis_own { OWN_AUTH, OWN_SELECT, OWN_ROLE, OWN_LIBRARY, OWN_PING };

enum redis_greeted {
	GREETED_WELL,
	GREETED_REFUSED, /* the connection will do; but no writes now, says Redis */
	GREETED_DENIED,  /* we have not the rights */
	GREETED_BADLY,   /* not now, or not this server */
};

/* Judges the answer to own, a copy of the reply (an error when is_error). reason_r is set
 * unless GREETED_WELL, in arena. */
enum redis_greeted redis_greeting_judge(struct arena *arena, enum redis_own own,
    const struct value *reply, bool is_error, const char **reason_r);

#endif
