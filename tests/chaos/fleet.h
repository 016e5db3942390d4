/* fleet: the parties of a chaos run: real processes, each under its own name, log and way to
 * the others, started again whenever they have ended, on a timer of the loop: nothing here
 * waits.
 *
 * Whoever connects does it through the proxy (parts/proxy.c): a link "who>whom" for each pair,
 * so that each can be hurt alone. Redis and the brokers listen on unix sockets; who checks
 * goes there directly. Party 0 of each kind but Redis and the brokers is never killed: what it
 * holds at the end is compared with what it held at the beginning. */
#ifndef FLEET_H
#define FLEET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena.h"
#include "loop.h"

enum party_kind {
	PARTY_PROXY,
	PARTY_PROVIDER,
	PARTY_REDIS,
	PARTY_BROKER,
	PARTY_TOOLS,
	PARTY_MODEL,
	PARTY_COORDINATOR,
	PARTY_SERVE,
	PARTY_KINDS,
};

#define PARTIES_MAX 32u
#define PARTY_ARGUMENTS_MAX 64u
#define PARTY_ENVIRONMENT_MAX 16u

struct shim;

/* What a process holds, of /proc. */
struct usage {
	long rss_kb;
	long descriptors;
};

struct party {
	struct fleet *fleet;
	enum party_kind kind;
	unsigned index;
	const char *name;  /* "coordinator-1" */
	const char *space; /* the network namespace it lives in, or NULL */
	bool long_lived;   /* never killed */
	unsigned port;     /* that it listens at; 0: none */
	struct child *child;
	bool ready, stopped, ending;
	uint64_t start_at_ms; /* without child: when it is started; UINT64_MAX: not yet */
	uint64_t ending_since_ms;
	struct shim *shim; /* lent by its file; NULL: it has none */
	struct usage base;
	unsigned starts;
};

struct fleet_plan {
	unsigned counts[PARTY_KINDS];
	const char *space;         /* for the last party of each kind of ours, or NULL */
	const char *space_address; /* where the proxy is seen from there */
	bool direct;               /* no proxy: everybody connects to everybody */
	bool plain; /* nothing is preloaded into ours: sanitizers want to be first */
};

struct fleet {
	struct loop *loop;
	struct arena *arena;
	const struct fleet_plan *plan;
	const char *folder, *build;
	const char *redis_path, *data; /* of the unix socket; Redis's folder */
	struct party parties[PARTIES_MAX];
	unsigned count;
	struct timer *timer;
	int control_fd;
	bool closing;
	unsigned crashes; /* ends that nobody asked for, Redis's on a full disk apart */
	unsigned cut_drains;  /* SIGTERMs whose work did not end in time */
	unsigned late_drains; /* SIGTERMs that were not heard in time */
};

/* Takes the folder, which holds everything and stays; nothing runs yet. */
struct fleet *fleet_new(
    struct loop *loop, const struct fleet_plan *plan, const char *folder);

/* Starts everything. fleet_is_up tells when everybody is ready. Proxy and provider are ready
 * when this returns. */
void fleet_start(struct fleet *fleet);
bool fleet_is_up(const struct fleet *fleet);

/* Ends what runs by SIGTERM, who calls before who is called, and waits; returns how many did
 * not end with status 0. Frees. */
unsigned fleet_destroy(struct fleet **fleet_p);

struct party *fleet_party(struct fleet *fleet, const char *name); /* or NULL */

/* SIGKILL; started again after down_ms. */
void party_kill(struct party *party, uint64_t down_ms);
/* SIGTERM; started again once it has ended. */
void party_drain(struct party *party);
void party_stop(struct party *party);
void party_continue(struct party *party);
struct usage party_usage(const struct party *party);
pid_t party_pid(const struct party *party); /* 0: does not run */

/* To a link, by parts/link.h; "*" for all. */
void fleet_link(struct fleet *fleet, const char *link, const char *command);

/* Ends every fault of processes, links and clocks. */
void fleet_heal(struct fleet *fleet);

const char *fleet_path(struct fleet *fleet, const char *name);
const char *fleet_write(struct fleet *fleet, const char *name, const char *text);
/* One line to the run's log and to stderr. */
void fleet_say(struct fleet *fleet, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The endpoints, as somebody of that name reaches them: through its links. who NULL: directly. */
const char *fleet_redis(struct fleet *fleet, const char *who);
const char *fleet_broker(struct fleet *fleet, const char *who, unsigned index);
const char *fleet_status(struct fleet *fleet, const char *who, unsigned index);
/* Of a server of the API, as the client reaches it. */
const char *fleet_serve(struct fleet *fleet, unsigned index);

#endif
