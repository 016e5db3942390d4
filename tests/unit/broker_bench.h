/* broker_bench: a broker's core on a bench: messages in by hand, actions looked at, time
 * moved by hand. After every step the core is audited, and bodies are counted. */
#ifndef BROKER_BENCH_H
#define BROKER_BENCH_H

#include "../../broker/core.h"
#include "../../broker/rights.h"

#define ACTIONS_MAX 512u
#define PEERS_MAX 21u

struct bench {
	struct core *core;
	uint64_t now_ms;
	struct actions actions; /* of the last step (or steps, see bench_tick) */
	long bodies;            /* given to the core and not dropped */
	size_t body_bytes;      /* of those that are given next; 0: some */
	struct arena *kept;     /* strings of the actions */
	struct action collected[ACTIONS_MAX];
	size_t collected_count;
	const char *keys[PEERS_MAX]; /* by number: what the peer's connection has */
	struct inflow inflow;        /* of the next HELLO's connection */
	bool talks[PEERS_MAX];       /* by number: was opened and not silenced */
};

/* The recovery window is over unless bench_start is told otherwise. */
void bench_start(struct bench *bench);
void bench_start_with(struct bench *bench, const struct core_options *options);
void bench_end(struct bench *bench); /* every body came back */

/* Peers are numbers of the test's choice. */
void bench_coordinator(struct bench *bench, uint64_t peer);
/* services: "tool:a tool:b". Its name is "w<peer>". */
void bench_worker(
    struct bench *bench, uint64_t peer, const char *services, uint64_t credit);

/* The same process on a new connection; says nothing of its capacity. */
void bench_worker_as(struct bench *bench, uint64_t peer, uint64_t as,
    const char *services, uint64_t credit);

/* One that says it answers probes; the test does that for it. */
void bench_probed_worker(
    struct bench *bench, uint64_t peer, const char *services, uint64_t credit);

/* Feeds a message; with a body when its type has one. */
void bench_send(struct bench *bench, uint64_t peer, struct header header);

/* Short forms. */
void bench_call(struct bench *bench, uint64_t peer, const char *id, const char *service);
/* For "tool:a", with flags. */
void bench_flagged(struct bench *bench, uint64_t peer, const char *id, unsigned flags);
void bench_about(
    struct bench *bench, uint64_t peer, enum message_type type, const char *id);
void bench_announce(
    struct bench *bench, uint64_t peer, const char *id, enum wire_call_state state);

/* From now on this list is in force. */
void bench_rights(struct bench *bench, struct rights_book *book);
/* Somebody begins or ends to listen on the status channel. */
void bench_wanted(struct bench *bench);
void bench_leave(struct bench *bench, uint64_t drain_ms);
/* In the last step (or steps). */
bool bench_has_left(const struct bench *bench);

void bench_unreachable(struct bench *bench, uint64_t peer);
/* The worker from is given asker's call "c1" of tool:a and falls away; the worker to has it now. */
void bench_call_moves(struct bench *bench, uint64_t asker, uint64_t from, uint64_t to);
void bench_refused(struct bench *bench, uint64_t peer);
/* A message of peer's is under way. */
void bench_arrives(struct bench *bench, uint64_t peer);

/* Lets ms pass in ticks of 100 ms, during which the peers 1 to 20 that the test has opened
 * and not silenced say PONG. The actions are those of all ticks. */
void bench_pass(struct bench *bench, uint64_t ms);
void bench_silence(struct bench *bench, uint64_t peer);
/* One tick after ms of our own stillness. */
void bench_leap(struct bench *bench, uint64_t ms);

/* Returns the last action that sends type to peer (0: to anybody), or NULL; for id when
 * that is not NULL. */
const struct action *bench_sent(
    const struct bench *bench, uint64_t peer, enum message_type type, const char *id);
size_t bench_sent_count(
    const struct bench *bench, uint64_t peer, enum message_type type, const char *id);
/* The same, and fails the test when there is none. */
const struct action *bench_expect(
    const struct bench *bench, uint64_t peer, enum message_type type, const char *id);

/* The same for a RESULT with this code. */
void bench_expect_outcome(
    const struct bench *bench, uint64_t peer, const char *id, enum wire_code code);

/* Fails unless so many calls are in this state. */
void bench_expect_calls(const struct bench *bench, enum call_state state, size_t count);

#endif
