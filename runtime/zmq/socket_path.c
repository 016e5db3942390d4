#include "socket_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SCHEME "ipc://"

/* Returns endpoint's path, or NULL: it has none, as an abstract name has none. */
static const char *
path_of(const char *endpoint)
{
	const char *path = endpoint + strlen(SCHEME);

	if (strncmp(endpoint, SCHEME, strlen(SCHEME)) != 0 || *path == '@')
		return NULL;
	return path;
}

bool
socket_path_is_taken(const char *endpoint)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = path_of(endpoint);
	bool taken;
	int fd;

	if (path == NULL || strlen(path) >= sizeof address.sun_path)
		return false;
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return false;
	/* Who has too many at his door to let us in (EAGAIN) is there all the same. */
	taken = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
		errno == EAGAIN;
	close(fd);
	return taken;
}

struct socket_path
socket_path_of(const char *endpoint)
{
	const char *path = path_of(endpoint);
	struct stat status;

	if (path == NULL || lstat(path, &status) == -1 || !S_ISSOCK(status.st_mode))
		return (struct socket_path){ .inode = 0 };
	return (struct socket_path){ status.st_dev, status.st_ino };
}

void
socket_path_remove(const struct socket_path *path, const char *endpoint)
{
	const struct socket_path now = socket_path_of(endpoint);

	if (path->inode != 0 && now.inode == path->inode && now.device == path->device)
		unlink(path_of(endpoint));
}
