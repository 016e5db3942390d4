/* http_watch: the sockets curl wants to hear of, on libuv. Part of http.
 *
 * For curl each request begins and ends with its socket. Telling the kernel so costs six
 * system calls a request; a kept connection stays as it is between two of them instead,
 * until something is heard of it that nobody waits for. */
#ifndef HTTP_WATCH_H
#define HTTP_WATCH_H

#include <stdbool.h>

#include <curl/curl.h>

#include "loop.h"

struct http_watches;
struct http_lane;

/* Called on the loop's stack with CURL_CSELECT_ flags. */
typedef void http_heard_fn(struct http_lane *lane, curl_socket_t fd, int flags);

struct http_watches *http_watches_new(struct loop *loop, http_heard_fn *on_heard);

/* Takes *watches_p; all sockets are closed. NULL is fine. */
void http_watches_destroy(struct http_watches **watches_p);

/* Has lane hear of fd: what is CURL_POLL_IN, _OUT or _INOUT. Returns 0, or -1 when libuv
 * cannot. */
int http_watch(
    struct http_watches *watches, struct http_lane *lane, curl_socket_t fd, int what);

/* Nobody waits for fd. With may_stay it is one that, if it is a connection that was read last, will
 * not be closed without a call of http_watch_end. */
void http_unwatch(struct http_watches *watches, curl_socket_t fd, bool may_stay);

/* fd is about to be closed. */
void http_watch_end(struct http_watches *watches, curl_socket_t fd);

#endif
