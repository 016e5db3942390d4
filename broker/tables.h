/* tables: what the broker knows, and the rules on it, file by file. Private to the core.
 *
 *	session ──offers──▶ capability ──queue──▶ calls that wait
 *	   │ work: calls at this worker, or finished by it and not settled
 *	   └ asked: calls whose outcome this session waits for
 *
 * A call is in exactly one state (enum call_state) and each state in exactly one place:
 * HELD in core->held, QUEUED in its capability's queue, ASSIGNED in its worker's list,
 * KEPT with a requester or among the orphans. What dies in a step is freed in the next,
 * since the step's actions still point to it. */
#ifndef TABLES_H
#define TABLES_H

#include <sys/queue.h>

#include "core.h"
#include "heap.h"
#include "id_table.h"
#include "pins.h"
#include "queue.h"
#include "rights.h"
#include "service_kind.h"
#include "settled.h"
#include "spread.h"

/* A message's bodies, ours until dropped. */
struct blob {
	struct body *body;
	size_t bytes;
};

#define CALL_HOLDERS_MAX 8u

struct call {
	struct id_key key;
	enum call_state state;
	struct header header; /* as its requester sent it; strings in text */
	char *text;
	bool asked;        /* a CALL came; else known from a worker only */
	uint64_t asked_ms; /* when that was first */
	uint64_t
	    given_ms; /* ASSIGNED: when we gave it to its worker; 0: it had it already */
	struct blob request; /* CALL's bodies, until there is an outcome */
	unsigned attempt;    /* from 1 */
	bool given_back;     /* by a worker that may have begun it */
	unsigned losses;     /* workers that were lost, perhaps because of it */
	uint64_t
	    lost_to; /* the last of them, by its id; 0: that one came back, and has it */
	uint64_t deadline_ms; /* absolute */

	struct heap_node timer; /* in core->timers: when the call wants attention */
	uint64_t resend_ms;     /* ASSIGNED: CALL or CANCEL again; KEPT: RESULT again, */
	uint64_t pause_ms;      /* and the next time so long behind that */
	uint64_t until_ms; /* HELD: end of the hold; KEPT: given up without requester;
			      late: the worker's last chance; QUEUED: of a pin, when its worker is looked for */

	struct session *requester;     /* NULL: gone, or never was */
	TAILQ_ENTRY(call) asked_link;  /* of requester->asked */
	struct session *worker;        /* ASSIGNED; KEPT: who wants RESULT_ACK, or NULL */
	TAILQ_ENTRY(call) work_link;   /* of worker->work */
	struct capability *capability; /* until there is an outcome; NULL while !asked */
	struct offer *offer;           /* ASSIGNED: NULL when no longer offered */
	struct queue_turn *turn;       /* QUEUED: its tenant's; NULL: among the urgent */
	TAILQ_ENTRY(call)
	waiting_link;     /* HELD: in core->held; QUEUED: in its line; KEPT: among the
			       orphans; dead: in core->dead_calls */
	bool sought;      /* HELD: the workers were asked for it */
	bool apart;       /* QUEUED: among its service's suspects */
	bool watched;     /* ASSIGNED: counts as its worker's suspect */
	bool has_slot;    /* ASSIGNED: it takes one of the worker's slots */
	bool known_there; /* ASSIGNED: the worker has acknowledged or announced it */
	unsigned
	    copies; /* ASSIGNED: so often its worker was sent it, and has not refused it */
	bool
	    doubted; /* ASSIGNED: the worker refused one of several, and is asked whether it has it */
	bool untold;     /* ASSIGNED: known from that worker alone when it came there */
	bool cancelling; /* ASSIGNED, HELD: the requester wants it stopped */
	bool late;       /* ASSIGNED: its deadline has passed */

	/* Who may answer it (permits.c). */
	bool fresh; /* it came to us first, unflagged: nobody but these has had it */
	uint64_t holders[CALL_HOLDERS_MAX]; /* workers, by their ids */
	unsigned holder_count;
	char teller[KEY_TEXT_BYTES]; /* not asked: key of the worker that told us of it */

	/* KEPT */
	struct blob result;
	enum wire_code code;
	char *reason;
	char id[];
};
TAILQ_HEAD(call_list, call);

/* One worker's share in one capability. */
struct offer {
	struct session *session;
	struct capability *capability;
	struct heap_node ready; /* in capability->ready while it could take a call */
	uint32_t limit;         /* at most so many at once; 0: as the session has room */
	uint32_t running;
};

/* A service: who waits for it and who has room for it. Lives while somebody offers it or
 * a call names it. */
struct capability {
	struct id_key key;
	struct queue queue;
	struct call_list suspects; /* wait for workers that have none (suspects.c) */
	size_t suspect_count;
	struct heap ready; /* of offers: most room first, then least recently used */
	enum service_kind kind;
	size_t workers;      /* offers */
	size_t calls;        /* that point here */
	size_t running;      /* of these: at a worker */
	uint64_t served_ms;  /* when it last lost its last worker; 0: never had one */
	uint64_t turn;       /* core->turns when it was served last */
	bool touched;        /* in core->touched */
	const char *nearest; /* the served name nearest to its own, or NULL */
	uint64_t nearest_of; /* core->fleet when that was looked up */
	TAILQ_ENTRY(capability) link, touched_link;
	char name[];
};
TAILQ_HEAD(capability_list, capability);

/* Whether a worker's calls move: a call of ours that touches nothing, now and then. */
struct probe {
	bool wanted;          /* the worker answers probes */
	bool asked;           /* one is under way: id */
	bool answered;        /* some time: answered_ms */
	bool stuck;           /* unanswered for too long: it gets no calls */
	uint64_t asked_ms;    /* when that one, or the one before, was sent first */
	uint64_t sent_ms;     /* and last */
	uint64_t answered_ms; /* the last answer came */
	char id[32];
};

/* What a peer says of itself, for people. */
struct report {
	uint64_t lag_ms, oldest_ms, uptime_ms, restarts;
	char *trouble; /* why it cannot work although it is alive, or NULL */
};

struct session {
	struct id_key key, peer_key;
	uint64_t peer;
	enum wire_role role;
	char *name;
	uint64_t heard_ms, spoke_ms, opened_ms;
	struct inflow inflow; /* of its connection */
	unsigned errors;
	bool gathers;          /* reads lists of calls in acknowledgements */
	bool quiet;            /* publishes only what WANTED says, and waits for it */
	struct rights *rights; /* of its key; NULL: there are no keys */
	char *revoked;         /* why its key does not admit it any more, or NULL */
	struct report report;
	struct call_list asked;
	size_t asked_count;
	TAILQ_ENTRY(session) heard_link, spoke_link, role_link;

	/* Of a worker. Slots it grants in all, as of its last report: what it said was
	   free then plus what it ran then. Calls under way to it are not known to it yet;
	   that is why they are not subtracted from what it says is free. */
	uint32_t slots;
	uint32_t taken;    /* slots of calls assigned */
	uint32_t reported; /* of these: the worker knows of them */
	uint32_t capacity; /* as it says, for people */
	uint64_t used;     /* core->turns when it got its last call */
	uint64_t turns;    /* calls it got that had waited */
	struct probe probe;
	bool draining;
	bool fell_silent; /* or we, why it ended: its ONCE calls wait for it */
	bool said_bye;    /* it will not come back */
	bool touched;     /* in core->touched_sessions */
	TAILQ_ENTRY(session) touched_link;
	struct offer *offers;
	struct wire_service *services; /* the same, as OFFER tells them */
	size_t offer_count;
	struct blob catalog;
	struct call_list work;
	unsigned suspects; /* of these */
	uint32_t untold;   /* of these: not asked for by anybody */
	bool blamed;       /* it was lost, and had some */
	char id[SESSION_BYTES + 1];
};
TAILQ_HEAD(session_list, session);

/* What the SEEKs of a step point into. */
struct sought {
	SLIST_ENTRY(sought) next;
	struct wire_call calls[];
};

struct core {
	struct core_options options;
	char *session, *name;
	uint64_t started_ms, now_ms;
	uint64_t gap_ms; /* end of our last gap, or our start: no silence before it */
	bool leaving;
	struct rights_book *book; /* lent; NULL: everybody may do everything */
	uint64_t leave_ms;        /* leaving: the latest end */
	bool left;                /* leaving: there is nothing left to do */

	struct id_table *sessions; /* by session id */
	struct id_table *peers;    /* the same, by routing id */
	struct session_list heard; /* longest silent first */
	struct session_list spoke; /* longest not spoken to first */
	struct session_list workers, coordinators, clients;
	struct gone_worker gone[GONE_WORKERS_MAX]; /* a ring, the last ones that went */
	size_t gone_count;                         /* ever */

	struct id_table *calls;
	size_t states[CALL_STATES];
	struct heap timers;
	struct call_list held;
	size_t unsought;          /* of these: not looked for yet */
	struct call_list orphans; /* KEPT without requester, oldest first */
	size_t orphan_count;
	struct settled *settled;
	size_t bodies_bytes;
	size_t catalog_bytes; /* of these: what workers say of their tools */

	struct id_table *capabilities;
	struct capability_list served, unserved; /* each is in one of them */
	uint64_t fleet;  /* from 1: counts how often these two changed */
	uint64_t turns;  /* calls handed out */
	uint64_t probes; /* sent so far */

	/* This step. */
	unsigned lookups;              /* of nearest names */
	char denied[REASON_BYTES_MAX]; /* why something was */
	struct action *actions;
	size_t action_count, action_room;
	bool refused;
	struct capability_list touched;       /* have new work */
	struct session_list touched_sessions; /* have new room */
	struct call_list dead_calls;
	struct session_list dead_sessions;
	SLIST_HEAD(, sought) sought;

	uint64_t counters[CORE_COUNTERS];
	/* Of calls that were given to a worker for the first time: since they were asked for. Of those that were
	 * answered by whom we gave them to: since then. */
	struct spread waited[SERVICE_KINDS], ran[SERVICE_KINDS];
};

/* A message under way through the core. */
struct message {
	uint64_t peer;
	struct session *session; /* NULL before HELLO */
	const struct header *header;
	const char *key;      /* the peer's, or NULL */
	struct inflow inflow; /* of a HELLO */
	struct blob blob;     /* whoever keeps it takes it out; what is left is dropped */
};

#define COUNT(core, counter) ((core)->counters[COUNTER_##counter]++)

/* --- actions.c ---------------------------------------------------------------------- */

/* Each appends an action. header is copied, its strings are lent as the action is. */
void send_to(struct core *core, struct session *session, const struct header *header,
    struct body *body);
/* To a quiet session: what is wanted of it, as a message of type. */
void send_wanted(struct core *core, struct session *session, enum message_type type);
void send_to_stranger(struct core *core, uint64_t peer, const struct header *header);
void publish(struct core *core, const char *topic, struct body *body);
void notice(struct core *core, const struct session *session, const char *kind,
    const char *reason);
void ask_for_stats(struct core *core, const struct session *session);
void act_left(struct core *core);
/* Takes *blob, which may be empty, and empties it. */
void blob_drop(struct core *core, struct blob *blob);
/* Takes message's blob out of it. */
struct blob blob_take(struct message *message);

/* --- calls.c: a call's life --------------------------------------------------------- */

struct call *call_find(const struct core *core, const char *id);

/* Returns new, in the tables, in no state yet (call_place). */
struct call *call_new(struct core *core, const char *id);

/* Takes over what the CALL (or RESULT) says. */
void call_fill(struct call *call, const struct header *header);

/* Ties call to the service its header names, and unties it. */
void call_bind(struct core *core, struct call *call);
void call_unbind(struct core *core, struct call *call);

/* Takes call out of its state's place. */
void call_leave(struct core *core, struct call *call);

/* Counts call in state; call_leave came before. */
void call_place(struct core *core, struct call *call, enum call_state state);

/* Makes session the one who gets the outcome; NULL: nobody. */
void call_ask(struct core *core, struct call *call, struct session *session);

/* Sets the timer by the call's state and times. */
void call_arm(struct core *core, struct call *call);

/* The timer rang. */
void call_due(struct core *core, struct call *call);

/* Out of all tables; freed in the next step. */
void call_bury(struct core *core, struct call *call);
void call_free(struct call *call);

/* --- waiting.c: calls that wait ----------------------------------------------------- */

/* A held call is not wanted any more: it ends as CANCELLED when the hold does, which is not before
 * known_ms, unless a worker announces it; that one is told to stop it. */
void call_hold_cancelled(struct core *core, struct call *call, uint64_t known_ms);
/* Ends the hold: queues call, or ends it when it must not run twice. */
void call_unhold(struct core *core, struct call *call);
void call_hold(struct core *core, struct call *call, uint64_t until_ms);
void call_queue(struct core *core, struct call *call, bool urgent);
/* How long a call that was sent before waits for a worker that has it. */
uint64_t hold_end(const struct core *core, unsigned flags);
/* Its worker has it no more, and does not say why. */
void call_missed(struct core *core, struct call *call);
/* What happens to a call that left a worker without an outcome. */
void call_requeue(struct core *core, struct call *call);
/* The same, when the worker was lost. */
void call_lost(struct core *core, struct call *call);
/* Ends call, which no worker has had in time. */
void call_expire(struct core *core, struct call *call);

/* --- dispatch.c: who runs what ------------------------------------------------------ */

/* Gives worker the call; has_slot: it takes one of its slots. */
void call_assign(struct core *core, struct call *call, struct offer *offer);
/* The same for a call that runs (or is finished) there already. */
void call_attach(
    struct core *core, struct call *call, struct session *worker, bool has_slot);
/* The CALL of a call that only a worker knew came, and call_fill with it: ties both. */
void call_identify(struct core *core, struct call *call);
/* The worker says that it has the call. */
void call_acknowledged(struct call *call);
/* It has said so, and then refused it: what it was sent besides is for it to answer. */
void call_unknown_there(struct call *call);
void call_unassign(struct core *core, struct call *call);
/* The call is about to leave its worker, which still runs it: the slot is not ours to
 * give until the worker reports it free. */
void slot_forfeit(struct call *call);
void call_send(struct core *core, struct call *call);
/* Tells the worker to stop it, now and again until it answers. */
void call_stop(struct core *core, struct call *call);
/* Tells the worker to stop what is wanted of it no more, for it ended elsewhere. */
void call_stop_unwanted(struct core *core, struct call *call); /* answers.c */
/* Slots that it may say it has. */
uint32_t slots_max(const struct session *session);
/* Slots left. */
uint32_t session_room(const struct session *session);
/* The worker's report: free slots. */
void session_report(struct core *core, struct session *session, uint64_t credit);
/* One slot more than it has reported, but not more than it has in all. */
void session_more(struct session *session);
/* No more for it until it says that it has room. */
void session_full(struct core *core, struct session *session);
/* Its place among the ready ones changed. */
void session_rank(struct core *core, struct session *session);
/* Once at the end of each step: work that waits meets room that came. */
void hand_out(struct core *core);

/* --- suspects.c --------------------------------------------------------------------- */

/* Puts call among its service's suspects, and takes it out, if it is one. Each answers whether
 * it was. */
bool suspect_queue(struct call *call);
bool suspect_unqueue(struct call *call);

/* Of every call that a worker gets, and that leaves it. */
void suspect_arrives(struct call *call);
void suspect_leaves(struct call *call);

/* worker is lost with the calls it has: who is to blame? */
void suspect_judge(struct session *worker);
/* Worker has call, or had: if it was the last that call has lost, that is taken back. */
void suspect_lives(struct core *core, struct call *call, const struct session *worker);
/* Counts the loss of its worker. Returns true when call has lost too many. */
bool suspect_charge(struct call *call);

/* Hands out what suspects wait. */
void suspects_serve(struct core *core, struct capability *capability);
void suspects_serve_with(struct core *core, struct session *worker);
bool suspects_are_served(const struct capability *capability);

/* Lends the call waiting for the service that was asked for first, or NULL. */
const struct call *capability_oldest(const struct capability *capability);

/* --- capabilities.c ----------------------------------------------------------------- */

struct capability *capability_find(const struct core *core, const char *name);
struct capability *capability_get(struct core *core, const char *name); /* or new */
/* Frees it when nothing points to it. */
void capability_unused(struct core *core, struct capability *capability);
void capability_touch(struct core *core, struct capability *capability);
void session_touch(struct core *core, struct session *session);
/* Replaces what worker offers by what its HELLO says. */
void offers_set(struct core *core, struct session *worker, const struct header *hello);
/* Returns worker's offer of capability, or NULL (also for no capability). */
struct offer *offer_find(struct session *worker, const struct capability *capability);
void offers_release(struct core *core, struct session *worker);
/* Whether any worker has served it since since_ms. */
bool capability_served(const struct capability *capability, uint64_t since_ms);
/* Returns the served name nearest to capability's, lent for the step, or NULL. Costs much:
 * remembered, and refused when a step has looked for too many. */
const char *capability_nearest(struct core *core, struct capability *capability);

/* --- outcomes.c --------------------------------------------------------------------- */

struct outcome {
	enum wire_code code;
	char *reason;         /* malloced, or NULL */
	struct blob result;   /* the worker's answer; empty in an outcome of ours */
	struct session *from; /* the worker that wants RESULT_ACK for it, or NULL */
};

/* Ends call; takes what is in outcome. */
void call_finish(struct core *core, struct call *call, struct outcome outcome);
/* Sends the outcome to session once; whose it is does not change. */
void result_show(struct core *core, const struct call *call, struct session *session);
/* Sends the outcome to the requester, now and again until it acknowledges: ever less often; resend is one of these. */
void result_send(struct core *core, struct call *call);
void result_resend(struct core *core, struct call *call);
/* The outcome is acknowledged or given up: tells the worker, forgets the call. */
void call_settle(struct core *core, struct call *call, enum core_counter counter);
/* Tells worker to forget a result we do not need. */
void result_unneeded(struct core *core, struct session *worker, const char *id);

/* --- sessions.c --------------------------------------------------------------------- */

struct session *session_of_peer(const struct core *core, uint64_t peer);
/* It lives. */
void session_heard(struct core *core, struct session *session);
/* Ends it: its calls go elsewhere, its outcomes wait for the next who asks. */
void session_end(struct core *core, struct session *session, const char *reason);
void session_free(struct session *session);
void sessions_expire(struct core *core);
void sessions_ping(struct core *core);

/* --- seeking.c ---------------------------------------------------------------------- */

/* Asks all workers for the calls that are held and were not looked for yet. */
void seek_new(struct core *core);
/* Asks a worker that has just come for all that are held. */
void seek_at(struct core *core, struct session *worker);
/* Asks one that has come back what became of the calls that it had acknowledged. While we could
 * not hear it, another broker may have settled them. */
void seek_again(struct core *core, struct session *worker);
/* Asks the worker of call, which it was sent more than once, whether it has it: it refused one of them, and the wire is in order. Now and
 * again until it answers. */
void call_doubt(struct core *core, struct call *call);

/* --- leaving.c ---------------------------------------------------------------------- */

void leave_begin(struct core *core, uint64_t drain_ms);
/* Is it time to go? */
void leave_check(struct core *core);
/* Tells a session that came meanwhile. */
void leave_greet(struct core *core, struct session *session);
/* Gives back to its requester a call that is nowhere and goes nowhere any more. */
void call_return(struct core *core, struct call *call);

/* --- probes.c ----------------------------------------------------------------------- */

/* A worker's HELLO came: the first probe follows at once. */
void probes_hello(struct core *core, struct session *worker, const struct header *hello);
/* Sends the probes that are due; those unanswered for too long have their consequences. */
void probes_check(struct core *core);
/* Keeps what HELLO or PING says of its sender. */
void session_says(
    struct core *core, struct session *session, const struct header *header);

/* --- handlers, one a message -------------------------------------------------------- */

typedef void message_fn(struct core *core, struct message *message);

void sessions_tell_wanted(struct core *core);                        /* on a change */
message_fn on_hello, on_bye, on_drain, on_ping, on_pong, on_credit;  /* sessions.c */
message_fn on_call, on_cancel, on_result_ack;                        /* requests.c */
message_fn on_call_ack, on_result, on_busy, on_release, on_announce; /* answers.c */
message_fn on_probe;                                                 /* probes.c */
message_fn on_event, on_progress, on_stats;                          /* core.c */

#endif
