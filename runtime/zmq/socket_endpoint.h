/* socket_endpoint: what an endpoint may be, and what people are told of one that cannot. Part of socket. */
#ifndef SOCKET_ENDPOINT_H
#define SOCKET_ENDPOINT_H

#include <stdbool.h>

/* Whether the port of a tcp:// endpoint, if it has one, is a port: of a larger number libzmq takes the
 * lowest 16 bits. */
bool socket_port_fits(const char *endpoint);

/* Returns what people are told when a socket could not be made of an endpoint: error is errno. */
const char *socket_trouble(int error);

#endif
