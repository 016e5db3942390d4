/* redis_lookup: the addresses of a host, by libuv. Part of redis.
 *
 * A lookup cannot be taken back, and where no name server answers it takes half a minute and more: one is
 * left alone when there is something else to try, and the next who asks for its host waits for it. */
#ifndef REDIS_LOOKUP_H
#define REDIS_LOOKUP_H

#include <netdb.h>
#include <stddef.h>

#include "loop.h"

struct redis_lookups;

/* status is libuv's; info is lent, and NULL when there is none. */
typedef void redis_found_fn(
    void *arg, size_t index, int status, const struct addrinfo *info);

/* Returns new: lookups for so many hosts, by index. */
struct redis_lookups *redis_lookups_new(
    struct loop *loop, size_t count, redis_found_fn *found, void *arg);

/* Takes *lookups_p; found is not called any more. */
void redis_lookups_destroy(struct redis_lookups **lookups_p);

/* Has found called, later, unless it is to be already. Returns 0, or libuv's status: then it is not. */
int redis_lookup(struct redis_lookups *lookups, size_t index, const char *host);

#endif
