/* traffic: what requests of `flotilla serve` came to: counted for Prometheus (the metrics whose names begin with flotilla_http_), and
 * written to the log, a line each, if that is wanted. All of it belongs to the loop's thread. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>

#include "http_server.h"
#include "metrics_text.h"

struct traffic;

/* Returns new: has seen nothing. is_logged: a line for each request. */
struct traffic *traffic_new(bool is_logged);
/* Takes *traffic_p. NULL is fine. */
void traffic_destroy(struct traffic **traffic_p);

/* A request is over; its kind is its route's number from 1 on (openapi_route); tenant or NULL. The log has its method, its path without the
 * query, in which secrets may be, what was answered (499: who asked was gone before), ms, bytes, and whether that was all. */
void traffic_note(
    struct traffic *traffic, const struct http_done *done, const char *tenant);

/* What was seen, and what goes on in server, as metrics_text takes it; in arena. */
void traffic_rows(const struct traffic *traffic, const struct http_server *server,
    struct arena *arena, struct metrics_rows *rows_r);

#endif
