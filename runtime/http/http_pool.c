#include "http_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define LANES_MAX 128u /* then idle ones go, the longest unused first */
#define TICK_MS 1000u

/* True when the environment names a proxy, as curl looks for them: HTTP_PROXY in capitals
 * is what a CGI client can set. */
static bool
has_proxy(void)
{
	static const char *const names[] = { "http_proxy", "https_proxy", "HTTPS_PROXY",
		"all_proxy", "ALL_PROXY" };
	const char *value;
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		value = getenv(names[i]);
		if (value != NULL && value[0] != '\0')
			return true;
	}
	return false;
}

struct http *
http_new(struct loop *loop)
{
	struct http *http = xcalloc(1, sizeof *http);

	curl_global_init(CURL_GLOBAL_DEFAULT);
	http->loop = loop;
	http->ca_file = getenv("SSL_CERT_FILE");
	if (!has_proxy())
		http->resolver = resolver_new(loop, RESOLVER_FRESH_MS);
	http->share = curl_share_init();
	assert(http->share != NULL); /* out of memory */
	http->targets = http_targets_new();
	http->watches = http_watches_new(loop, http_lane_hear);
	curl_share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
	curl_share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
	return http;
}

void
http_destroy(struct http **http_p)
{
	struct http *http = *http_p;
	size_t i;

	if (http == NULL)
		return;
	for (i = 0; i < http->lane_count; i++)
		http_lane_destroy(&http->lanes[i]);
	http_watches_destroy(&http->watches);
	http_targets_destroy(&http->targets);
	curl_share_cleanup(http->share);
	timer_stop(&http->tick);
	resolver_destroy(&http->resolver);
	free(http->lanes);
	free(http);
	curl_global_cleanup();
	*http_p = NULL;
}

/* --- lanes --------------------------------------------------------------------------- */

static struct http_lane *
remove_lane(struct http *http, size_t index)
{
	struct http_lane *lane = http->lanes[index];

	http->lane_count--;
	memmove(&http->lanes[index], &http->lanes[index + 1],
	    (http->lane_count - index) * sizeof(struct http_lane *));
	return lane;
}

static void
remove_idle_lane(struct http *http)
{
	struct http_lane *lane;
	size_t i = 0;

	while (i < http->lane_count && http_lane_count(http->lanes[i]) > 0)
		i++;
	if (i == http->lane_count)
		return;
	lane = remove_lane(http, i);
	http_lane_destroy(&lane);
}

/* Returns a lane, out of the list, that goes to origin and has room, or NULL. */
static struct http_lane *
take_lane(struct http *http, const char *origin)
{
	size_t i;

	for (i = 0; i < http->lane_count; i++)
		if (http_lane_serves(http->lanes[i], origin) &&
		    http_lane_count(http->lanes[i]) < LANE_TRANSFERS_MAX)
			return remove_lane(http, i);
	return NULL;
}

static void
on_tick(void *arg)
{
	struct http *http = arg;
	size_t i, running = 0;

	for (i = 0; i < http->lane_count; i++) {
		http_lane_nudge(http->lanes[i]);
		running += http_lane_count(http->lanes[i]);
	}
	if (running == 0)
		timer_stop(&http->tick);
}

struct http_lane *
http_pool_lane(struct http *http, const char *origin, http_ended_fn *on_ended)
{
	struct http_lane *lane = take_lane(http, origin);

	if (lane == NULL) {
		if (http->lane_count >= LANES_MAX)
			remove_idle_lane(http);
		lane = http_lane_new(http->loop, http->watches, origin, on_ended);
		http->lanes = xreallocarray(
		    http->lanes, http->lane_count + 1, sizeof(struct http_lane *));
	}
	http->lanes[http->lane_count++] = lane;
	if (http->tick == NULL)
		http->tick = timer_start(http->loop, TICK_MS, TICK_MS, on_tick, http);
	return lane;
}
