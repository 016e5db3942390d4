/* core: the broker's tables as a pure state machine: event and time in, actions out.
 *
 * No socket, no clock, no randomness inside: the program (broker.c) and the simulator
 * feed it alike, and the same events give the same actions. Peers are opaque numbers,
 * bodies opaque pointers.
 *
 *	actions = core_step(core, &event, now_ms);
 *	for (i = 0; i < actions.count; i++)
 *		carry out actions.items[i], in this order;
 *
 * What the core promises, whatever comes in:
 *  - a call it has acknowledged ends in exactly one outcome, which is sent to its latest
 *    requester until that one acknowledges;
 *  - a call is at one worker at a time, as far as the broker can know; one flagged
 *    WIRE_ONCE is never given to a second worker;
 *  - a worker holds no more calls than it granted slots for;
 *  - where there is an allow list, nobody does what its key does not allow (permits.c);
 *  - memory is bounded by proto/bounds.h.
 * docs/internals/broker.md has the tables and what happens when each process dies. */
#ifndef CORE_H
#define CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "inflow.h"
#include "value.h"
#include "wire.h"

struct core;
struct body; /* the program's; the core never looks inside */
struct rights_book;

struct core_options {
	const char *session; /* 32 hex digits, for WELCOME */
	const char *name;
	uint64_t seed; /* of the hash tables */
	uint64_t heartbeat_ms, liveness_ms, resend_ms, recovery_ms, seek_ms;
	uint64_t probe_ms; /* 0: no probes but those a client asks for */
	uint64_t probe_wait_ms, probe_drop_ms;
	size_t queue_calls_max; /* waiting calls of one service */
	size_t calls_max;       /* calls known at once */
	size_t kept_max;        /* results whose requester is gone */
	size_t bodies_bytes_max;
};

/* proto/bounds.h's numbers; session, name and seed are the caller's to fill. */
extern const struct core_options core_defaults;

enum event_type {
	EVENT_MESSAGE,     /* peer, header, body */
	EVENT_REFUSED,     /* a message of peer that could not be decoded: code, reason */
	EVENT_UNREACHABLE, /* sending to peer failed for good, and all that it ever sent was
			      fed: peer is gone */
	EVENT_ARRIVES,     /* bytes of peer come, of a message that is not whole yet */
	EVENT_TICK,        /* at least every heartbeat_ms */
	EVENT_LEAVE,       /* the broker goes: no new calls; LEFT within drain_ms */
	EVENT_WANTED,      /* what somebody listens to on the status channel is another */
	EVENT_RIGHTS, /* book: from now on each peer may do what it says of its key; all
			 that it no longer admits are dropped */
};

struct event {
	enum event_type type;
	uint64_t peer; /* not 0 */
	const struct header
	    *header;              /* as wire_decode gives it: in bounds, with all that its
			      type requires; borrowed for the step and its actions */
	const char *key;          /* of MESSAGE: the peer's public key as Z85, or NULL */
	struct rights_book *book; /* lent until the next EVENT_RIGHTS, or to the end */
	struct body *body;        /* taken, or NULL */
	size_t body_bytes;
	struct inflow inflow; /* of a HELLO: the connection that it came by */
	enum wire_code code;
	const char *reason;
	uint64_t drain_ms;
};

enum action_type {
	ACTION_SEND,    /* header and body to peer */
	ACTION_PUBLISH, /* body on the status channel under header.topic */
	ACTION_NOTICE, /* publish under <header.role>.<header.name>.<header.topic> what the
			   header says of a worker (session, capacity, services, reason) or
			   coordinator (session, reason) */
	ACTION_STATS,  /* answer peer's STATS with core_stats */
	ACTION_LEFT,   /* nobody waits for anything here: the program may end */
	ACTION_DROP,   /* body is nobody's any more: free it */
};

/* What somebody listens to on the status channel, for those who publish there. Of workers' keys
 * none is to learn what runs of others are called: then it is only whether. */
enum wanted_form { WANTED_UNSAID, WANTED_PREFIXES, WANTED_WHETHER };

struct action {
	enum action_type type;
	uint64_t peer;
	struct header header;
	struct body *body; /* lent for this action but for DROP, which gives it back */
	bool gathers;      /* of SEND: peer reads lists of calls in acknowledgements */
	enum wanted_form wanted; /* of SEND: is the body, which the program has */
};

struct actions {
	const struct action *items;
	size_t count;
	bool refused; /* an ERROR answers the message of the event */
};

/* Returns a new core. now_ms: the recovery window begins. */
struct core *core_new(const struct core_options *options, uint64_t now_ms);

/* Takes *core_p; gives every body it holds to drop (which may be NULL). NULL is fine. */
void core_destroy(struct core **core_p, void (*drop)(struct body *body));

/* Moves on by one event. now_ms is monotonic; a leap of more than two heartbeats since
 * the last event counts as a gap of our own, and all peers get grace. The actions and all
 * that they point to are lent until the next step. */
struct actions core_step(struct core *core, const struct event *event, uint64_t now_ms);

/* A peer that has said nothing for two heartbeats. */
struct silent {
	uint64_t peer;
	uint64_t heard_ms;     /* when it did last */
	struct inflow *inflow; /* lent until an event other than ARRIVES */
};

/* Fills list, which has room for SESSIONS_MAX, with all of these, and returns how many there are. Whose
 * inflow goes on is to be told of by EVENT_ARRIVES. */
size_t core_silent(const struct core *core, uint64_t now_ms, struct silent *list);

/* Calls known, by where they are. */
enum call_state {
	CALL_HELD,     /* sent before, by whom we do not know: a worker may have it */
	CALL_QUEUED,   /* waits for a worker with room */
	CALL_ASSIGNED, /* at a worker */
	CALL_KEPT,     /* has its outcome, which is not acknowledged yet */
	CALL_STATES,
};
size_t core_calls(const struct core *core, enum call_state state);

/* Sums since the start, counters.def. */
enum core_counter {
#define COUNTER(name, text) COUNTER_##name,
#include "counters.def"
#undef COUNTER
	CORE_COUNTERS,
};
uint64_t core_count(const struct core *core, enum core_counter counter);

/* Returns the tables as a value in arena, the body of STATS (keys: docs/protocol.md):
 *   broker    {name, session, protocol, uptime_ms, recovering, leaving}
 *   sessions  [{session, role, name, silent_ms, opened_ms, asked, errors, lag_ms,
 *             uptime_ms, restarts, trouble?, load, room, capacity, draining, services,
 *             oldest_ms, probe, probed_ms}]; the last eight of workers only; asked: calls
 *             it waits for; load: calls it runs; room: calls it could take now
 *   services  [{name, workers, queued, running, priority?, oldest_ms?}]; the last two of
 *             the next queued call and of the one that waits longest
 *   calls     {held, queued, assigned, kept}
 *   bodies    {bytes, bytes_max}
 *   counters  {each of counters.def}
 *   times     {bounds_ms, waited, ran}; the last two {kind: {counts, sum_ms}} (spread.h, service_kind.h): of calls
 *             from when they were asked for until a worker was first given them, and from when it was until its answer
 * At most STATS_ROWS_MAX sessions and services. */
#define STATS_ROWS_MAX 1000u
const struct value *core_stats(const struct core *core, struct arena *arena);

/* Counts everything again: sums, lists, heaps, room, bytes. Returns 0, or -1 with what
 * does not add up (lent for ever). For tests and simulations: it walks all tables. */
int core_audit(const struct core *core, const char **error_r);

#endif
