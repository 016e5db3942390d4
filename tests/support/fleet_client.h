/* fleet_client: a test's fiber that talks to a fleet's Redis as a user's program would:
 * submits runs by XADD, waits for their ends in their event logs. */
#ifndef FLEET_CLIENT_H
#define FLEET_CLIENT_H

#include "loop.h"
#include "store.h"
#include "value.h"

struct fleet_client {
	struct loop *loop;
	struct redis *redis, *waiting_redis;
	struct store *store;
	struct store *waiting; /* on a connection of its own: for reads that block */
};

/* Makes a loop, connects to Redis at url and runs play(client, arg) on a fiber; returns
 * when that has ended. */
void client_run(
    const char *url, void (*play)(struct fleet_client *client, void *arg), void *arg);

/* Submits: fields are {name: text}. Waits for a Redis that is away; ends the test when it
 * stays away. An answer that was lost is no reason to submit again: a run with an id of its
 * own may be submitted twice. */
void client_submit(
    struct fleet_client *client, struct arena *arena, const struct value *fields);

/* Waits until run has ended, at most wait_ms (times PATIENCE); false when it has not. */
bool client_wait_end(
    struct fleet_client *client, const char *thread, const char *run, uint64_t wait_ms);

/* Calls holds(arg) now and then until it is true, at most wait_ms (times PATIENCE); returns the
 * last answer. */
bool client_wait(
    struct fleet_client *client, bool (*holds)(void *arg), void *arg, uint64_t wait_ms);

#endif
