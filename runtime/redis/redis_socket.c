#include "redis_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define KEEPALIVE_IDLE_S 15
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 3
#define UNANSWERED_MS 10000 /* sent bytes the other machine does not acknowledge */

static void
set_option(int fd, int level, int option, int value)
{
	/* One that a kernel does not have is no reason to do without Redis. */
	(void)setsockopt(fd, level, option, &value, sizeof value);
}

static void
set_tcp(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS);
}

/* Returns a socket that connects, or has connected, or -1 with errno. */
static int
connect_to(int family, const void *address, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd == -1)
		return -1;
	if (family != AF_UNIX)
		set_tcp(fd);
	if (connect(fd, address, size) == 0 || errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	return connect_to(AF_UNIX, &address, sizeof address);
}

static int
connect_tcp(const char *ip, uint16_t port)
{
	const struct addrinfo wanted = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *info = NULL;
	char service[8];
	int fd;

	snprintf(service, sizeof service, "%u", port);
	if (getaddrinfo(ip, service, &wanted, &info) != 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = connect_to(info->ai_family, info->ai_addr, info->ai_addrlen);
	freeaddrinfo(info);
	return fd;
}

int
redis_socket_connect(const struct redis_address *address, const char *ip)
{
	if (address->path != NULL)
		return connect_unix(address->path);
	return connect_tcp(ip, address->port);
}

int
redis_socket_error(int fd)
{
	int error = 0;
	socklen_t size = sizeof error;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}
