/* coordinator: the process that owns threads and advances their runs.
 *
 * It owns the connections (Redis twice: commands, and the blocking inbox; one session
 * with the broker), the catalog of served tools, the cache of compiled agents and the
 * table of runs it holds. Everything that must survive is in Redis; when this process
 * dies, another claims its threads after LEASE_MS and sends the same calls again.
 * docs/internals/coordinator.md. */
#ifndef COORDINATOR_H
#define COORDINATOR_H

#include "agents.h"
#include "caller.h"
#include "catalog.h"
#include "peer.h"
#include "service.h"
#include "store.h"

struct coordinator_settings {
	struct service_settings common;
	const char *broker;
	const char *redis;
	int64_t slots;
	int64_t call_deadline_ms;
	int64_t served_wait_ms;
	const char **plugins;
};
extern const struct setting coordinator_table[];

struct run;
struct inbox;
struct shards;

struct coordinator {
	struct service *service;
	struct loop *loop;
	const struct coordinator_settings *settings;
	struct redis *redis;
	struct redis *inbox_redis;
	struct store *store;
	struct peer *peer;
	struct caller *caller;
	struct catalog *catalog;
	struct agents *agents;
	struct inbox *inbox;
	struct shards *shards;
	zhashx_t *runs;         /* thread id -> struct run, this process's */
	unsigned owned[SHARDS]; /* runs held, by shard */
	bool draining;
};

/* Connects to everything; ends the process with a clear message when a setting is wrong.
 */
struct coordinator *coordinator_new(
    struct service *service, const struct coordinator_settings *settings);

/* Takes *coordinator_p, after the service has ended. */
void coordinator_destroy(struct coordinator **coordinator_p);

/* The orderly end: takes nothing new, gives runs back, ends the service. */
void coordinator_drain(void *arg);

/* Claims thread on a fiber of its own, unless it is held here already or there is no
 * room. */
void coordinator_claim(struct coordinator *coordinator, const char *thread);

/* The name this process signs leases with. */
const char *coordinator_owner(const struct coordinator *coordinator);

#endif
