/* fleet: the real processes that scenarios run on: Redis, broker, coordinator, worker-model,
 * the scripted model server, and a tool worker for each scenario. */
#ifndef FLEET_H
#define FLEET_H

#include "value.h"

struct fleet;

/* Starts everything but the tool worker; ends the process with a message when it cannot. Call
 * before the event loop runs. */
struct fleet *fleet_start(void);
/* Takes *fleet_p; requires that every process ends well. */
void fleet_stop(struct fleet **fleet_p);

/* Replaces the tool worker by one that plays these tools ([tool with outcomes]); hidden ones
 * are brought by a middleware and not announced. */
void fleet_play_tools(struct fleet *fleet, struct arena *arena,
    const struct value *offered, const struct value *hidden);

const char *fleet_redis(const struct fleet *fleet);
const char *fleet_folder(const struct fleet *fleet);
const char *fleet_probe(const struct fleet *fleet); /* the probe's shared object */
const char *fleet_cli(const struct fleet *fleet);   /* path of `flotilla` */
/* "http://127.0.0.1:<port>" of the model server. */
const char *fleet_server(const struct fleet *fleet);

/* Where the probe's log ends now; its lines from an offset: [{kind: value}]. */
long fleet_log_end(const struct fleet *fleet);
const struct value *fleet_log(const struct fleet *fleet, struct arena *arena, long from);

#endif
