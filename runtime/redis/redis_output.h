/* redis_output: commands as they are sent, one behind the other, until a socket has taken them. Part of redis.
 *
 * redisFormatCommandArgv lays a command out at several times the cost, in memory of its own. */
#ifndef REDIS_OUTPUT_H
#define REDIS_OUTPUT_H

#include <stddef.h>

#include "redis.h"

/* Zero is an empty one. */
struct redis_output {
	char *bytes;
	size_t sent, size, room; /* sent <= size <= room */
};

void redis_output_add(
    struct redis_output *output, const struct redis_arg *args, size_t count);

/* Lends what is to be sent next; NULL and *size_r 0 for nothing. Valid until the next add or done. */
const char *redis_output_next(const struct redis_output *output, size_t *size_r);

/* So many bytes of that have gone. */
void redis_output_done(struct redis_output *output, size_t size);

void redis_output_free(struct redis_output *output);

#endif
