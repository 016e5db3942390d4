#include "notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define WATCHDOG_SHARE 3u

/* A leading @ is an abstract name: its first byte is NUL. */
static int
fill_address(struct sockaddr_un *address, socklen_t *size_r)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t size = path == NULL ? 0 : strlen(path);

	if (size == 0 || size >= sizeof address->sun_path) {
		errno = size == 0 ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path, path, size);
	if (path[0] == '@')
		address->sun_path[0] = '\0';
	*size_r = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
	return 0;
}

int
notify(const char *state)
{
	struct sockaddr_un address;
	socklen_t size;
	ssize_t sent;
	int fd;

	if (fill_address(&address, &size) == -1)
		return -1;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -1;
	sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL,
	    (const struct sockaddr *)&address, size);
	close(fd);
	return sent == -1 ? -1 : 0;
}

uint64_t
notify_watchdog_ms(void)
{
	uint64_t us;

	if (sd_watchdog_enabled(0, &us) <= 0)
		return 0;
	return us / 1000 / WATCHDOG_SHARE > 0 ? us / 1000 / WATCHDOG_SHARE : 1;
}

uint64_t
notify_restarts(void)
{
	const char *text = getenv("FLOTILLA_RESTARTS");
	long long count = text == NULL ? 0 : strtoll(text, NULL, 10);

	return count > 0 && count <= UINT32_MAX ? (uint64_t)count : 0;
}
