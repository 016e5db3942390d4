/* metrics_server: what answers Prometheus (over http_server.h): GET /metrics is answered with the text that its owner
 * gives, one for all who have asked meanwhile; / has a hint, all else is 404 or 405.
 *
 * Bounds: METRICS_CONNECTIONS_MAX connections, METRICS_HEAD_BYTES_MAX for each, METRICS_IDLE_S, METRICS_REQUEST_MS. */
#ifndef METRICS_SERVER_H
#define METRICS_SERVER_H

#include "loop.h"

#define METRICS_IDLE_S 20u
#define METRICS_REQUEST_MS 40000u

struct metrics_server;

/* Returns new: listens at "HOST:PORT", HOST a name, an IPv4 address or an IPv6 address in brackets,
 * PORT 0 for any that is free. on_wanted(arg) is called, on the fiber of who asks, when somebody asks and nobody
 * else is waiting. NULL with a reason, lent until the next one; *is_usage_r: where is no HOST:PORT. */
struct metrics_server *metrics_server_new(struct loop *loop, const char *where,
    void (*on_wanted)(void *arg), void *arg, const char **error_r, bool *is_usage_r);

/* Takes *server_p; on a fiber. NULL is fine. */
void metrics_server_destroy(struct metrics_server **server_p);

/* Lends "http://127.0.0.1:9464/metrics". */
const char *metrics_server_url(const struct metrics_server *server);

/* Answers all who wait. text is copied; NULL: 503. */
void metrics_server_answer(struct metrics_server *server, const char *text);

#endif
