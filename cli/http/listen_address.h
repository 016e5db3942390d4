/* listen_address: "HOST:PORT" to a socket that listens there. */
#ifndef LISTEN_ADDRESS_H
#define LISTEN_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a descriptor, non-blocking, that listens at where: HOST is a name, an IPv4 address or an
 * IPv6 address in brackets, PORT 0 any that is free. May block for as long as a name takes. -1 with a
 * reason, lent for ever; *is_usage_r: where is no HOST:PORT. */
int listen_at(const char *where, const char **error_r, bool *is_usage_r);

/* Writes where fd really listens, "127.0.0.1:9464", "[::1]:9464". */
void listen_shown(int fd, char *text, size_t size);

/* Whether where is HOST:PORT at all. */
bool listen_is_address(const char *where);
/* Whether only this machine reaches where: HOST is 127.0.0.1, another of 127/8, [::1] or localhost. */
bool listen_is_local(const char *where);

#endif
