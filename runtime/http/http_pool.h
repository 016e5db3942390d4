/* http_pool: what the requests of one process share: lanes, names, TLS sessions. Part of http. */
#ifndef HTTP_POOL_H
#define HTTP_POOL_H

#include "http.h"
#include "http_lane.h"
#include "http_target.h"
#include "resolver.h"

struct http {
	struct loop *loop;
	struct resolver *resolver; /* NULL: a proxy may have to find the names */
	const char *ca_file;       /* SSL_CERT_FILE, or NULL: the system's */
	CURLSH *share;
	struct http_targets *targets;
	struct http_watches *watches; /* of all lanes */
	struct http_lane **lanes;     /* last used last */
	size_t lane_count;
	struct timer *tick; /* while transfers are under way */
};

/* Returns a lane to origin with room, lent until the next call; on_ended is that of all
 * lanes. */
struct http_lane *http_pool_lane(
    struct http *http, const char *origin, http_ended_fn *on_ended);

#endif
