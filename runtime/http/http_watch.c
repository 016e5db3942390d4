#include "http_watch.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <uv.h>

#include "memory.h"

#define ROOM_AT_FIRST 64u

struct watch {
	uv_poll_t poll;
	struct http_watches *watches;
	struct http_lane *lane;
	curl_socket_t fd;
	int polled;     /* what libuv looks for; 0: it is stopped */
	bool is_wanted; /* by curl */
	bool is_connection;
};

struct http_watches {
	uv_loop_t *uv;
	http_heard_fn *on_heard;
	struct watch **watches; /* by descriptor */
	size_t room;
};

struct http_watches *
http_watches_new(struct loop *loop, http_heard_fn *on_heard)
{
	struct http_watches *watches = xcalloc(1, sizeof *watches);

	watches->uv = loop_uv(loop);
	watches->on_heard = on_heard;
	return watches;
}

void
http_watches_destroy(struct http_watches **watches_p)
{
	struct http_watches *watches = *watches_p;
	size_t i;

	*watches_p = NULL;
	if (watches == NULL)
		return;
	for (i = 0; i < watches->room; i++)
		assert(watches->watches[i] == NULL);
	free(watches->watches);
	free(watches);
}

/* --- one ----------------------------------------------------------------------------- */

static void
on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Else it is what curl has for its resolver's thread, and closes by itself. */
static bool
is_connection(curl_socket_t fd)
{
	int domain = AF_UNSPEC;
	socklen_t size = sizeof domain;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       (domain == AF_INET || domain == AF_INET6);
}

static struct watch *
watch_new(struct http_watches *watches, curl_socket_t fd)
{
	struct watch *watch = xcalloc(1, sizeof *watch);

	if (uv_poll_init(watches->uv, &watch->poll, fd) != 0) {
		free(watch);
		return NULL;
	}
	watch->poll.data = watch;
	watch->watches = watches;
	watch->fd = fd;
	watch->is_connection = is_connection(fd);
	return watch;
}

static void
stop(struct watch *watch)
{
	uv_poll_stop(&watch->poll);
	watch->polled = 0;
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	int flags = 0;

	if (status < 0) { /* libuv has stopped it: curl must find out why */
		watch->polled = 0;
		flags = CURL_CSELECT_ERR;
	}
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	if (watch->is_wanted)
		watch->watches->on_heard(watch->lane, watch->fd, flags);
	else
		stop(watch); /* the server has closed it, most likely */
}

/* --- all ----------------------------------------------------------------------------- */

static void
make_room(struct http_watches *watches, size_t index)
{
	size_t room = watches->room == 0 ? ROOM_AT_FIRST : watches->room, i;

	if (index < watches->room)
		return;
	while (room <= index)
		room *= 2;
	watches->watches = xreallocarray(watches->watches, room, sizeof(struct watch *));
	for (i = watches->room; i < room; i++)
		watches->watches[i] = NULL;
	watches->room = room;
}

static struct watch *
find(const struct http_watches *watches, curl_socket_t fd)
{
	return (size_t)fd < watches->room ? watches->watches[fd] : NULL;
}

static struct watch *
find_or_make(struct http_watches *watches, curl_socket_t fd)
{
	make_room(watches, (size_t)fd);
	if (watches->watches[fd] == NULL)
		watches->watches[fd] = watch_new(watches, fd);
	return watches->watches[fd];
}

int
http_watch(
    struct http_watches *watches, struct http_lane *lane, curl_socket_t fd, int what)
{
	struct watch *watch = find_or_make(watches, fd);
	int events = 0;

	if (watch == NULL)
		return -1;
	watch->lane = lane;
	watch->is_wanted = true;
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	if (events == watch->polled)
		return 0;
	watch->polled = events;
	return uv_poll_start(&watch->poll, events, on_poll) == 0 ? 0 : -1;
}

void
http_unwatch(struct http_watches *watches, curl_socket_t fd, bool may_stay)
{
	struct watch *watch = find(watches, fd);

	if (watch == NULL)
		return;
	watch->is_wanted = false;
	/* One that was not being read is no kept connection: it may be an address that curl has
	 * tried beside the one that answered first, and closed already. */
	if (!may_stay || !watch->is_connection || watch->polled != UV_READABLE)
		http_watch_end(watches, fd);
}

void
http_watch_end(struct http_watches *watches, curl_socket_t fd)
{
	struct watch *watch = find(watches, fd);

	if (watch == NULL)
		return;
	watches->watches[fd] = NULL;
	uv_close((uv_handle_t *)&watch->poll, on_closed);
}
