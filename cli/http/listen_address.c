#include "listen_address.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64

struct parts {
	char host[256], port[6];
};

/* "[::1]" without its brackets. */
static int
copy_host(char *host, size_t room, const char *text, size_t size)
{
	if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
		text++;
		size -= 2;
	} else if (memchr(text, ':', size) != NULL) {
		return -1;
	}
	if (size == 0 || size >= room || memchr(text, '[', size) != NULL)
		return -1;
	memcpy(host, text, size);
	host[size] = '\0';
	return 0;
}

static int
split(const char *where, struct parts *parts_r)
{
	const char *colon = strrchr(where, ':');
	const char *port = colon != NULL ? colon + 1 : "";
	size_t size = strlen(port);

	if (size == 0 || size > 5 || strspn(port, "0123456789") != size ||
	    strtol(port, NULL, 10) > 65535)
		return -1;
	memcpy(parts_r->port, port, size + 1);
	return copy_host(
	    parts_r->host, sizeof parts_r->host, where, (size_t)(colon - where));
}

static int
open_socket(const struct addrinfo *address)
{
	int fd = socket(address->ai_family,
	    address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);
	int saved;

	if (fd == -1)
		return -1;
	/* Else who is started again has to wait for the connections of who was there before. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) == 0 &&
	    bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int
listen_at(const char *where, const char **error_r, bool *is_usage_r)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *addresses = NULL;
	struct parts parts;
	int status, fd;

	*is_usage_r = split(where, &parts) == -1;
	if (*is_usage_r) {
		*error_r = "must be HOST:PORT, as 127.0.0.1:9464 or [::1]:9464";
		return -1;
	}
	status = getaddrinfo(parts.host, parts.port, &hints, &addresses);
	if (status != 0) {
		*error_r =
		    status == EAI_SYSTEM ? strerrordesc_np(errno) : gai_strerror(status);
		return -1;
	}
	fd = open_socket(addresses);
	freeaddrinfo(addresses);
	if (fd == -1)
		*error_r = strerrordesc_np(errno);
	return fd;
}

void
listen_shown(int fd, char *text, size_t size)
{
	struct sockaddr_storage address = { 0 };
	socklen_t address_size = sizeof address;
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getsockname(fd, (struct sockaddr *)&address, &address_size) == -1 ||
	    getnameinfo((struct sockaddr *)&address, address_size, host, sizeof host,
		port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
		snprintf(text, size, "?");
		return;
	}
	snprintf(
	    text, size, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

bool
listen_is_address(const char *where)
{
	struct parts parts;

	return split(where, &parts) == 0;
}

bool
listen_is_local(const char *where)
{
	struct parts parts;

	return split(where, &parts) == 0 &&
	       (strcmp(parts.host, "localhost") == 0 || strcmp(parts.host, "::1") == 0 ||
		   (strncmp(parts.host, "127.", 4) == 0 &&
		       strspn(parts.host, "0123456789.") == strlen(parts.host)));
}
