/* http_lane: one curl multi handle on libuv: the transfers of one upstream, LANE_TRANSFERS_MAX
 * at most (a multi looks at each connection of the host for each new transfer). Part of
 * http. */
#ifndef HTTP_LANE_H
#define HTTP_LANE_H

#include <stdbool.h>
#include <stddef.h>

#include <curl/curl.h>

#include "http_watch.h"

#define LANE_TRANSFERS_MAX 128u

struct http_lane;

/* Called on the loop's stack, never inside of curl, when a transfer has ended by itself;
 * easy is out of the lane by then. arg is its CURLOPT_PRIVATE. */
typedef void http_ended_fn(void *arg, CURLcode code);

/* Returns a new lane to origin ("https://api.example.com:443"); its sockets are among
 * watches. */
struct http_lane *http_lane_new(struct loop *loop, struct http_watches *watches,
    const char *origin, http_ended_fn *on_ended);

/* Takes *lane_p and closes its connections; it has no transfers. */
void http_lane_destroy(struct http_lane **lane_p);

/* True when the lane goes to origin. */
bool http_lane_serves(const struct http_lane *lane, const char *origin);

/* Transfers under way. */
size_t http_lane_count(const struct http_lane *lane);

/* Starts and stops easy's transfer; not from inside of curl. A transfer stopped under way
 * closes its connection. */
void http_lane_add(struct http_lane *lane, CURL *easy);
void http_lane_remove(struct http_lane *lane, CURL *easy);

/* The http_heard_fn of watches. */
void http_lane_hear(struct http_lane *lane, curl_socket_t fd, int flags);

/* Lets curl do what is due: should it ever forget to tell us of a time (7.87 and 8.10 did),
 * nothing hangs for long. */
void http_lane_nudge(struct http_lane *lane);

#endif
