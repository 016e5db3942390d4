#include "http_lane.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "http_transfer.h"
#include "memory.h"

/* Idle connections kept, as many as a burst needs again; else curl keeps four for each transfer
 * at the moment, and closes most when a burst is over. */
#define CONNECTIONS_KEPT ((long)LANE_TRANSFERS_MAX)

struct http_lane {
	CURLM *multi;
	struct http_watches *watches;
	uv_timer_t timer;
	char *origin;
	size_t count;
	http_ended_fn *on_ended;
};

static void
take_ended(struct http_lane *lane)
{
	CURLMsg *message;
	CURLcode code;
	CURL *easy;
	void *arg;
	int left;

	while ((message = curl_multi_info_read(lane->multi, &left)) != NULL) {
		if (message->msg != CURLMSG_DONE)
			continue;
		easy = message->easy_handle;
		code = message->data.result;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &arg);
		http_lane_remove(lane, easy); /* frees message */
		lane->on_ended(arg, code);
	}
}

static void
act(struct http_lane *lane, curl_socket_t fd, int events)
{
	int running;

	curl_multi_socket_action(lane->multi, fd, events, &running);
	take_ended(lane);
}

void
http_lane_hear(struct http_lane *lane, curl_socket_t fd, int flags)
{
	act(lane, fd, flags);
}

/* True when curl has connected the socket of easy's transfer: one that it gives up before
 * that it may close without telling us. */
static bool
is_connected(CURL *easy)
{
	struct transfer *transfer = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
	return transfer != NULL && transfer->was_sent;
}

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct http_lane *lane = arg;

	(void)socket_arg;
	if (what != CURL_POLL_REMOVE)
		return http_watch(lane->watches, lane, fd, what);
	http_unwatch(lane->watches, fd, is_connected(easy));
	return 0;
}

static void
on_time(uv_timer_t *timer)
{
	act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* curl calls this from inside of itself: even 0 ms must only be noted. */
static int
on_timeout(CURLM *multi, long timeout_ms, void *arg)
{
	struct http_lane *lane = arg;

	(void)multi;
	if (timeout_ms < 0)
		uv_timer_stop(&lane->timer);
	else if (timeout_ms == 0)
		uv_timer_start(&lane->timer, on_time, 0, 0);
	else
		loop_arm(&lane->timer, (uint64_t)timeout_ms, on_time);
	return 0;
}

struct http_lane *
http_lane_new(struct loop *loop, struct http_watches *watches, const char *origin,
    http_ended_fn *on_ended)
{
	struct http_lane *lane = xcalloc(1, sizeof *lane);

	lane->watches = watches;
	lane->origin = xstrdup(origin);
	lane->on_ended = on_ended;
	lane->timer.data = lane;
	uv_timer_init(loop_uv(loop), &lane->timer);
	lane->multi = curl_multi_init();
	assert(lane->multi != NULL); /* out of memory */
	curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
	curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
	curl_multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT);
	return lane;
}

static void
on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void
http_lane_destroy(struct http_lane **lane_p)
{
	struct http_lane *lane = *lane_p;

	if (lane == NULL)
		return;
	assert(lane->count == 0);
	curl_multi_cleanup(lane->multi);
	free(lane->origin);
	uv_close((uv_handle_t *)&lane->timer, on_timer_closed);
	*lane_p = NULL;
}

bool
http_lane_serves(const struct http_lane *lane, const char *origin)
{
	return strcmp(lane->origin, origin) == 0;
}

size_t
http_lane_count(const struct http_lane *lane)
{
	return lane->count;
}

void
http_lane_add(struct http_lane *lane, CURL *easy)
{
	CURLMcode code = curl_multi_add_handle(lane->multi, easy);

	assert(code == CURLM_OK);
	lane->count++;
}

void
http_lane_remove(struct http_lane *lane, CURL *easy)
{
	CURLMcode code = curl_multi_remove_handle(lane->multi, easy);

	assert(code == CURLM_OK);
	lane->count--;
}

void
http_lane_nudge(struct http_lane *lane)
{
	if (lane->count > 0)
		act(lane, CURL_SOCKET_TIMEOUT, 0);
}
