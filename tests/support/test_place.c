#include "test_place.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char *
place_folder(struct arena *arena)
{
	char path[4096], *slash;
	ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

	if (size <= 0) {
		perror("/proc/self/exe");
		abort();
	}
	path[size] = '\0';
	slash = strrchr(path, '/');
	*slash = '\0';
	return arena_strdup(arena, path);
}

const char *
place_port(struct arena *arena)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == -1 ||
	    bind(fd, (struct sockaddr *)&address, size) == -1 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) == -1) {
		perror("a free port");
		abort();
	}
	return arena_printf(arena, "%u", ntohs(address.sin_port));
}
