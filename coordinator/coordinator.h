/* coordinator: the process that owns threads and advances their runs.
 *
 * It owns the connections (Redis twice: commands, and the blocking inbox; one session
 * with the broker), the catalog of served tools, the cache of compiled agents and the
 * table of runs it holds. Everything that must survive is in Redis; when this process
 * dies, another claims its threads after LEASE_MS and sends the same calls again.
 * docs/internals/coordinator.md. */
#ifndef COORDINATOR_H
#define COORDINATOR_H

#include <sys/queue.h>

#include "agents.h"
#include "caller.h"
#include "catalog.h"
#include "links.h"
#include "service.h"
#include "store.h"
#include "trace.h"

struct coordinator_settings {
	struct service_settings common;
	const char **brokers;
	const char *redis;
	int64_t slots;
	int64_t call_deadline_ms;
	int64_t served_wait_ms;
	int64_t redis_wait_ms;
	int64_t wait_replicas, wait_ms;
	int64_t thread_ttl_ms; /* 0: for ever */
	const char *thread_ttl_action;
	const char **plugins;
	const char *models;
	int64_t webhook_attempts, webhook_wait_ms, webhook_unserved_ms;
	const char *embed;         /* or NULL */
	const char **embed_fields; /* or NULL: all */
	const char *trace_endpoint, *trace_sample;
	/* In no table: how long giving runs back may take; 0: as is usual. */
	int64_t drain_ms;
	/* Likewise: what is traced is told as of that program; NULL: coordinator. */
	const char *program;
};
extern const struct setting coordinator_table[];

struct attempt;
struct run;
struct guard;
struct heard;
struct inbox;
struct shards;
struct suspects;
struct chores;
struct embedder;
struct store_service;
struct tally;
/* zhashx_t: <czmq.h> is three times as long as the rest of what is included here. */
struct _zhashx_t;

struct coordinator {
	struct service *service;
	struct loop *loop;
	const struct coordinator_settings *settings;
	struct redis *redis;
	struct redis *inbox_redis;
	struct store *store;
	struct links *links;
	struct caller *caller;
	struct catalog *catalog;
	struct agents *agents;
	struct guard *guard;
	struct heard *heard;
	struct inbox *inbox;
	struct shards *shards;
	struct chores *chores;
	struct suspects *suspects;
	struct tally *tally;
	struct store_service *store_service;
	struct embedder *embedder; /* or NULL */
	bool store_drained;
	struct trace *trace;            /* or NULL: nothing is traced */
	double trace_ratio;             /* of the runs that begin a trace */
	struct _zhashx_t *runs;         /* thread id -> struct run, this process's */
	unsigned owned[SHARDS];         /* runs held, by shard */
	struct _zhashx_t *awaited;      /* run id -> struct fiber (awaited.h) */
	size_t waiting;                 /* runs held that wait for children */
	TAILQ_HEAD(, attempt) attempts; /* to tell webhooks, under way */
	size_t webhooks;                /* how many */
	bool draining;
	char trouble[256]; /* what the last PING said of it */
};

/* Connects to everything; ends the process with a clear message when a setting is wrong.
 */
struct coordinator *coordinator_new(
    struct service *service, const struct coordinator_settings *settings);

/* Takes *coordinator_p, after the service has ended. */
void coordinator_destroy(struct coordinator **coordinator_p);

/* The orderly end: takes nothing new, gives runs back, ends the service. */
void coordinator_drain(void *arg);

/* A client of the Redis that the settings name (redis_new); or the process ends, with the reason. */
struct redis *coordinator_connect_redis(
    const struct coordinator *coordinator, const char *library);

/* How many runs more may be held that nobody here waits for. */
size_t coordinator_room(const struct coordinator *coordinator);
/* Starts a run's fiber for thread, which claims what waits there. Lends it; or NULL: the thread is held
 * here already, or there is no room. */
struct run *coordinator_hold(struct coordinator *coordinator, const char *thread);
/* The same, or the run that holds thread here looks again at its end. */
void coordinator_claim(struct coordinator *coordinator, const char *thread);

#endif
