#include "socket_endpoint.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#define TCP_SCHEME "tcp://"

bool
socket_port_fits(const char *endpoint)
{
	const char *port = strrchr(endpoint, ':');

	return strncmp(endpoint, TCP_SCHEME, strlen(TCP_SCHEME)) != 0 || port == NULL ||
	       strtoul(port + 1, NULL, 10) <= UINT16_MAX;
}

const char *
socket_trouble(int error)
{
	switch (error) {
	case ENOKEY:
		return "--key is given, and no --broker-key";
	case EINVAL:
	case EPROTONOSUPPORT:
	case ENOCOMPATPROTO:
		return "an endpoint is tcp://HOST:PORT (to 65535) or ipc://PATH";
	case ENODEV:
	case EADDRNOTAVAIL:
		return "this machine has no such address";
	default:
		return zmq_strerror(error);
	}
}
