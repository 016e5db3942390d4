/* world: a fleet in one thread: processes, connections and a clock, driven by one heap of tasks.
 *
 * What ships is driven, not imitated: broker/core.h, peer/outbox.h, peer/ledger.h, and
 * the Lua of store/ (memory_redis.h). What is imitated is what lies between them and the kernel:
 * sockets (net.c, by libzmq's rules), sessions (session.c, after peer/peer.c) and the owner of runs
 * (coordinator.c, after coordinator/run*.c). A schedule is one seed: the same seed gives the same
 * plan, the same order of everything, and the same failure. */
#ifndef WORLD_H
#define WORLD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../broker/core.h"
#include "../../broker/gathered.h"
#include "acks.h"
#include "facts.h"
#include "ledger.h"
#include "memory_redis.h"
#include "outbox.h"
#include "region.h"
#include "wire.h"

#define CONNECTIONS 512u
#define START_MS 1000u /* a schedule begins: at 0 nothing ever happened */
#define JOBS 24u

/* --- messages -------------------------------------------------------------------------- */

/* A message's bodies, whosoever they are: the core's struct body, the outbox's struct parcel, the
 * ledger's struct cargo. */
struct payload {
	unsigned references;
	unsigned value; /* of a RESULT: which execution made it */
	struct payload *next_free;
};

struct message {
	struct message *next;
	uint64_t due_ms;
	struct header header;
	struct payload *payload;
	struct wire_service services[CALLS + 2];
	struct wire_call calls[ANNOUNCED_CALLS_MAX];
	char text[1024];
	size_t text_used;
};

/* --- processes ------------------------------------------------------------------------- */

enum process_kind { PROCESS_BROKER, PROCESS_WORKER, PROCESS_COORDINATOR, PROCESS_REDIS };

struct process {
	struct world *world;
	enum process_kind kind;
	unsigned index;
	unsigned life; /* counts its starts */
	bool up;
	uint64_t frozen_until_ms; /* SIGSTOP */
	uint64_t turn_ms, gap_ms; /* as loop.c: the last turn, the end of the last gap */
	uint64_t tick_every_ms;
	struct task tick, restart;
	char name[16];
	char session[SESSION_BYTES + 1];
};

/* --- connections ----------------------------------------------------------------------- */

struct pipe {
	struct task task;
	struct message *first, *last;
	uint64_t last_due_ms, stalled_until_ms;
};

/* One TCP connection between a DEALER and a ROUTER. */
struct connection {
	uint64_t id; /* what the core calls the peer */
	struct world *world;
	struct broker_node *broker;
	struct dealer *dealer; /* NULL: that end is closed, or has another by now */
	unsigned broker_life;
	bool open;     /* at the broker's end */
	bool is_noted; /* the broker has seen EHOSTUNREACH */
	struct pipe up, down;
	struct task lost;
};

struct dealer {
	struct peer_node *owner;
	unsigned owner_life;
	uint32_t link;
	bool exists;
	struct connection *connection;
	struct message *first, *last; /* waits for a connection */
	struct task connect;
};

struct session_end {
	bool up;
	uint64_t heartbeat_ms, liveness_ms, heard_ms, pinged_ms, greeted_ms,
	    greet_wait_ms;
	bool gathers; /* the broker reads lists of calls */
	struct acks call_acks, result_acks;
	struct peer_node *peer;
	uint64_t acks_ripe_ms;
	struct task acks_due; /* when they go */
};

/* What workers and coordinators have in common. */
struct peer_node {
	struct process process; /* first */
	const struct peer_events *events;
	struct dealer dealers[BROKERS];
	struct session_end sessions[BROKERS];
	uint64_t blocked_until_ms[BROKERS]; /* a partition: nothing gets through */
};

struct peer_events {
	void (*on_up)(struct peer_node *peer, uint32_t link);
	void (*on_down)(struct peer_node *peer, uint32_t link);
	void (*on_leaving)(struct peer_node *peer, uint32_t link);
	void (*on_message)(
	    struct peer_node *peer, uint32_t link, struct message *message);
	void (*fill)(struct peer_node *peer, struct header *header); /* HELLO and PING */
};

struct broker_node {
	struct process process; /* first */
	struct core *core;
	struct gathered *gathered;
	struct task acks_due; /* when that goes */
	unsigned steps;
	bool leaving, left;
};

/* A call on its fiber in a worker. */
struct job {
	struct task task;
	struct worker_node *worker;
	struct call_fact *call;
	bool used, stopped, effect_first;
	unsigned execution;
};

struct worker_node {
	struct peer_node peer; /* first */
	char pin[48];          /* the service of this one alone */
	struct wire_service services[CALLS + 2];
	struct outbox *outbox;
	uint32_t probe_link;
	struct job jobs[JOBS];
	struct call_fact *poisoned_by; /* it has just begun a call that kills it */
	struct task probe;
	char probe_id[32];
	bool drained;
	/* By broker: which of its lives has read DRAIN of this one; 0: none. */
	unsigned drain_heard[BROKERS];
};

/* --- Redis ----------------------------------------------------------------------------- */

struct redis_request;
typedef void redis_answer_fn(struct redis_request *request, const struct reply *reply);

struct redis_request {
	struct task task;
	struct coordinator_node *coordinator;
	unsigned coordinator_life;
	unsigned connection; /* of the coordinator's connections to Redis, its number */
	bool arrived, lost;
	uint64_t due_ms;
	const char *function;
	const char *args[REDIS_ARGS_MAX]; /* args[0] is the key */
	size_t count;
	struct reply reply;
	redis_answer_fn *answer; /* reply NULL: lost, nobody knows whether it was done */
	void *arg;
	unsigned arg_life;          /* for whoever sends it */
	struct redis_request *next; /* of the coordinator's outstanding ones, in order */
};

struct redis_node {
	struct process process; /* first */
	struct redis_memory *memory;
	int64_t clock_shift_ms; /* of its wall clock */
};

/* --- coordinators ---------------------------------------------------------------------- */

enum run_state {
	RUN_NONE,
	RUN_CLAIMING,
	RUN_COMMITTING, /* the commit before a superstep's calls */
	RUN_CALLING,
	RUN_ENDING,  /* the commit of the end */
	RUN_LEAVING, /* cancelled: its calls are still under way */
	RUN_ASKING,  /* a call was cancelled, and not by us: by whom? */
	RUN_RELEASING,
};

enum here { HERE_NONE, HERE_ASKING, HERE_CALLING, HERE_STORING, HERE_DONE };
enum news { NEWS_NONE, NEWS_DELIVERED, NEWS_REVOKED };

/* A call of the superstep under way; the ledger's waiter. */
struct held_call {
	struct held_run *run;
	struct call_fact *fact;
	enum here here;
	enum news news;
	bool has_outcome, dropped, asked_twice;
	uint64_t asked_ms;
	unsigned value;
	enum wire_code code;
	unsigned cancels; /* by others; then it was sent anew */
};

/* A run at its owner, from claim to end; after struct run. */
struct held_run {
	struct coordinator_node *coordinator;
	unsigned thread;
	enum run_state state;
	unsigned life; /* counts its claims: answers to an earlier one are not for it */
	struct run_fact *fact;
	struct run_fact *arrival; /* whose submission it asks with, while it does */
	uint64_t epoch, version, last_event;
	uint64_t asked_ms,
	    owned_ms; /* when Redis was last asked what only an owner may do */
	bool recovered, cancel_wanted, releasing, more_wait, results_stored, dirty,
	    asked_twice;
	uint64_t attempts;
	bool rests;              /* a suspect, from then until something comes */
	const char *sent_before; /* ids, or NULL: any may have been sent */
	unsigned step;           /* applied */
	unsigned commits;
	const char
	    *commit_args[REDIS_ARGS_MAX]; /* of the commit under way, to repeat it */
	size_t commit_arg_count;
	const char *status; /* it ends with, in RUN_ENDING */
	struct held_call calls[CALLS];
	unsigned call_count;
	struct held_call answered[CALLS]; /* what the next commit stores */
	unsigned answered_count;
	bool sent[CALLS];
};

struct coordinator_node {
	struct peer_node peer; /* first */
	struct ledger *ledger;
	struct held_run held[THREADS];
	uint64_t redis_back_ms; /* connected to Redis again from then on */
	struct redis_request *first;
	uint64_t redis_due_ms, answer_due_ms;
	uint64_t shard_ms;   /* when to renew and sweep next */
	uint64_t renewed_ms; /* when our lease was last prolonged, or we held nothing */
	uint64_t asked_ms;   /* the same, of the renewal under way */
	bool late;           /* that was too long ago */
	uint64_t newest_epoch;
	bool shard_busy, draining;
	struct task wake;
	const char *unsent[CALLS * THREADS * 2];
	unsigned unsent_count;
	const struct message *incoming; /* for DELIVER */
};

/* --- the world ---------------------------------------------------------------------------- */

struct world {
	struct region region;
	struct rng rng;
	struct plan plan;
	uint64_t seed, now_ms, order;
	struct heap agenda;
	bool tracing, healed, failed_over;
	bool
	    workers_hurt; /* something was done to one of them, or between it and a broker */
	bool brokers_hurt;
	char violation[512]; /* empty: none */

	struct broker_node brokers[BROKERS];
	struct worker_node workers[WORKERS];
	struct coordinator_node coordinators[COORDINATORS];
	struct redis_node redis;

	struct connection *connections[CONNECTIONS];
	unsigned connection_count;
	struct message *free_messages;
	struct payload *free_payloads;
	size_t payloads; /* alive */

	struct run_fact runs[RUNS];
	struct thread_fact threads[THREADS];
	struct history *replicated; /* what a replica has of them; NULL: no copy yet */

	uint64_t events; /* tasks run, all schedules together */
};

/* Puts task where it is run at at_ms. */
void world_at(struct world *world, struct task *task, uint64_t at_ms);
void world_after(struct world *world, struct task *task, uint64_t delay_ms);
void task_cancel(struct world *world, struct task *task);
static inline bool
task_waits(const struct task *task)
{
	return task->node.place != 0;
}

/* Puts task where acknowledgements go at last, unless it is there for earlier ones: then false. */
bool world_acks_due(struct world *world, struct task *task);

/* A few milliseconds, by the plan. */
uint64_t world_latency(struct world *world);

/* The first is kept: the schedule ends with it. */
void violate(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define TRACE(world, ...)                                                                \
	do {                                                                             \
		if ((world)->tracing)                                                    \
			world_trace(world, __VA_ARGS__);                                 \
	} while (0)
void world_trace(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- processes --- */

/* Makes process run from now on: a new session. */
void process_begin(struct process *process);
/* Returns true when process can act on task now; else task is put off until it thaws, or dropped
 * with the process. Notes gaps. */
bool process_turn(struct process *process, struct task *task);

/* --- message.c --- */

struct payload *payload_new(struct world *world, unsigned value);
struct payload *payload_ref(struct payload *payload);
void payload_unref(struct world *world, struct payload *payload);
/* Refers to payload; copies what header points to. */
struct message *message_new(
    struct world *world, const struct header *header, struct payload *payload);
void message_free(struct world *world, struct message *message);

/* --- net.c --- */

void dealer_open(struct peer_node *peer, uint32_t link);
void dealer_close(struct peer_node *peer, uint32_t link);
void dealer_send(struct peer_node *peer, uint32_t link, const struct header *header,
    struct payload *payload);
void router_send(struct broker_node *broker, uint64_t peer, const struct header *header,
    struct payload *payload);
void net_cut(struct world *world, struct connection *connection);
void net_block(
    struct peer_node *peer, uint32_t link, uint64_t until_ms, bool up, bool down);
void net_unblock(struct world *world);
void net_broker_gone(struct broker_node *broker);
void net_clear(struct world *world);

/* --- session.c --- */

void session_start(struct peer_node *peer, uint32_t link);
void session_check(struct peer_node *peer, uint32_t link);
void session_receive(struct peer_node *peer, uint32_t link, struct message *message);
/* Sends when the session is up. Returns 0 or -1. */
int session_send(struct peer_node *peer, uint32_t link, const struct header *header,
    struct payload *payload);
void session_bye(struct peer_node *peer, uint32_t link);

/* --- the processes --- */

void broker_start(struct broker_node *broker);
void broker_stop(struct broker_node *broker);
void broker_leave(struct broker_node *broker);
void broker_receive(struct broker_node *broker, uint64_t peer, struct message *message);
void broker_lost_peer(struct broker_node *broker, uint64_t peer);

void worker_start(struct worker_node *worker);
void worker_stop(struct worker_node *worker);
void worker_drain_now(struct worker_node *worker);

void coordinator_start(struct coordinator_node *coordinator);
void coordinator_stop(struct coordinator_node *coordinator);
void coordinator_drain_now(struct coordinator_node *coordinator);
bool coordinator_idle(const struct coordinator_node *coordinator);
void coordinator_claim(struct coordinator_node *coordinator, unsigned thread);
/* Hands event to the ledger, carries out what it wants; who waits is woken a task later. */
void coordinator_feed(
    struct coordinator_node *coordinator, const struct ledger_event *event);

/* --- owner.c --- */

void owner_begin(struct held_run *run);
/* The same with the submission of arrival, whose thread that is. */
void owner_arrive(struct held_run *run, struct run_fact *arrival);
void owner_cancel(struct held_run *run);
void owner_release(struct held_run *run);
/* One of its calls has news, or a cancelled one may have ended. */
void owner_wake(struct held_run *run);

void redis_start(struct redis_node *redis);
void redis_stop(struct redis_node *redis);
struct redis_request *redis_send(struct coordinator_node *coordinator,
    const char *function, const char *const *args, size_t count, redis_answer_fn *answer,
    void *arg);
/* The coordinator's connection breaks, and there is none for for_ms and a moment. */
void redis_cut(struct coordinator_node *coordinator, uint64_t for_ms);
uint64_t redis_clock_ms(const struct world *world);
const char *world_text(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define SIM_PREFIX "fl:{s7}:"
#define SIM_DUE SIM_PREFIX "due"

/* --- check.c --- */

/* After fcall was carried out on Redis. */
void check_step(
    struct world *world, const struct redis_request *request, const struct reply *reply);
/* A worker begins call, or call has its effect. */
void check_begin(struct world *world, struct call_fact *call);
void check_effect(struct world *world, struct call_fact *call);
/* worker has dropped the good result of a call. */
void check_forgotten(struct world *world, const char *call_id);
void check_outcome(struct world *world, struct call_fact *call, enum wire_code code);

void check_broker(struct broker_node *broker);
void check_end(struct world *world);
/* NULL: at rest; else what is not, lent for ever. */
const char *world_unrest(struct world *world);
bool runs_over(struct world *world);
bool everybody_is_up(const struct world *world);

/* --- check_once.c --- */

/* A claim of run is done, and its thread is still as it was before. */
void once_claimed(const struct thread_fact *thread, struct run_fact *run,
    const struct redis_request *request);
void once_sent(const struct held_call *call, bool is_new);
/* The call's outcome has come. */
void once_told(const struct held_call *call);

/* --- check_blame.c --- */

/* Redis has carried out what is said; thread is still as it was before. */
void blame_claimed(struct world *world, const struct thread_fact *thread,
    struct run_fact *run, const struct redis_request *request, bool is_recovered);
void blame_quarantined(
    struct world *world, const struct thread_fact *thread, struct run_fact *run);
void blame_progress(struct run_fact *run);
void blame_released(struct world *world, struct run_fact *run);
/* Who had that epoch was told that the run is another's. */
void blame_fenced(struct run_fact *run, uint64_t epoch);
/* fl_attempts */
void blame_counted(
    struct world *world, const struct redis_request *request, const struct reply *reply);

/* --- history.c --- */

/* What Redis has done until now is in the replica; or: is all that was ever done. */
void history_copy(struct world *world);
void history_restore(struct world *world);

/* --- facts --- */

struct call_fact *call_fact_of(struct world *world, const char *id);
struct run_fact *run_fact_of(struct world *world, const char *id);
unsigned run_steps(const struct run_fact *run);
unsigned step_calls(const struct run_fact *run, unsigned step);

/* --- plan.c --- */

void plan_make(struct world *world, uint64_t seed, uint64_t without);
void plan_print(const struct world *world);

/* --- faults.c --- */

void faults_start(struct world *world);
void world_heal(struct world *world);
/* Everybody stops. */
void plan_end(struct world *world);
/* The task of a process that is to start again. */
void process_restart(struct task *task);

#endif
