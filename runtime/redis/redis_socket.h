/* redis_socket: the socket of a connection to Redis. Part of redis. */
#ifndef REDIS_SOCKET_H
#define REDIS_SOCKET_H

#include "redis_address.h"

/* Returns a new socket that does not block and connects, or has connected, to address's path or, it being NULL, to
 * the numeric address ip; TCP finds out when the other machine is gone. -1 with errno when it
 * cannot even begin. */
int redis_socket_connect(const struct redis_address *address, const char *ip);

/* Returns what became of connecting, once it can be written to: 0, or the error, as errno has it. */
int redis_socket_error(int fd);

#endif
