/* The protocol of a fleet, as it is built, small enough for Spin to look at everything it can do:
 * one run of two calls, two coordinators, a broker, two workers, Redis. The second call must not run
 * twice. FAULTS of them happen, in any order and at any moment: crashes of each, a lease that lapses
 * under its owner, a worker that falls silent and goes on, a broker that loses all it knew, an answer
 * of Redis that is lost (to a commit, to a claim), a claim that reaches Redis late, behind those that were
 * sent after it, a drain.
 *
 * A message that is sent until it is acknowledged is a step that happens some time, so messages are
 * no state here; what a frozen process still believes is. Nothing here is done without need, so
 * every execution ends, and that it ends well is checked without fairness.
 *
 * Each rule of the protocol can be left out by a name (run.sh has the list): then Spin must find
 * what goes wrong. Where the rules are in the code: store/own.lua (claim, commit, release),
 * broker/ (hold, announce, requeue, settle), peer/outbox.c, peer/ledger.c, coordinator/run*.c. */

#ifndef FAULTS
#define FAULTS 2
#endif
#define CALLS 2
#define MUST_NOT_REPEAT(call) ((call) == 1)

/* Outcomes. */
#define NOTHING 0
#define GOOD    1
#define LOST    2 /* nobody knows whether it ran: uncertain */

byte faults = FAULTS;
#define FAULT faults > 0; faults--

/* --- Redis: each of its functions is one step ------------------------------------------- */

bool inbox = true; /* the submission is in fl:inbox */
bool known;        /* fl_submit was done */
bool done;
byte committed;    /* calls whose outcome is committed: the version */
byte epoch, owner;
byte last_commit;  /* its id */
bool lease[4];     /* of coordinators 1 and 2; 3: of a session that is no more */

/* What who gave the run back has sent of the superstep under way: the record's `sent`, and behind a claim `given`, for
 * the same claim's next sending alone: nobody has made anything of an answer that was lost. */
#define UNKNOWN 0
#define UNSENT  1
#define SENT    2
byte given, given_to, given_ticket; /* given_to 0: to nobody yet */

byte claims[8];    /* how often each epoch was given out */
byte commits[CALLS];
byte effects[CALLS];
bool told_lost[CALLS]; /* the run was told that it is uncertain */
bool was_sent[CALLS];
bool was_new[CALLS];   /* and as what nobody has sent before, so that it may begin */
bool unsaid[CALLS];    /* an owner was lost meanwhile, or the answer to a late claim: nobody can know what was sent */
bool hurt;             /* a worker died, or was taken for dead */

/* --- the broker: forgets everything when it dies ------------------------------------------ */

#define NO     0
#define HELD   1 /* flagged, and unknown: waits for announcements */
#define QUEUED 2
#define AT     3 /* at a worker */
#define KEPT   4 /* has its outcome */

byte b_state[CALLS], b_epoch[CALLS], b_asker[CALLS], b_code[CALLS], b_at[CALLS];
bool b_settled[CALLS];
bool b_knows[3] = true; /* the worker has a session here, and has announced what it has */

/* --- the coordinators ----------------------------------------------------------------------- */

/* What one does with its run. */
#define AWAY      0
#define CALLING   1
#define ANSWERED  2
#define UNSURE    3 /* it committed, and the answer was lost */
#define COMMITTED 4 /* and has not acknowledged yet */
#define CLAIMING  5 /* it sent a claim, and the answer was lost */

byte c_phase[3], c_call[3];
byte c_newest[3]; /* the highest epoch that it was given: a claim says it, however often it is sent */
byte c_late[3];   /* a sending of a claim is under way still, and nobody waits for its answer: what it says, + 1 */

#define HAS_RUN(asker) (c_phase[asker] != AWAY && c_phase[asker] != CLAIMING)
#define WAITS_FOR(call) (HAS_RUN(b_asker[call]) && c_call[b_asker[call]] == (call))

/* --- the workers --------------------------------------------------------------------------- */

#define IDLE     0
#define RUNNING  1
#define FINISHED 2 /* keeps its result until it is acknowledged */

byte w_state[3], w_call[3];

#define HAS(worker, call) (w_state[worker] != IDLE && w_call[worker] == (call))

/* What is held is asked for, and every worker that lives has the time to say what it has; for one
 * that fell silent nobody waits for ever. */
#ifdef NO_WINDOW
#define NOBODY_HAS(call) true
#else
#ifdef NO_ANNOUNCEMENTS
#define NOBODY_HAS(call) (hurt || (b_knows[1] && b_knows[2]))
#else
#define NOBODY_HAS(call) (hurt || (b_knows[1] && b_knows[2] && !HAS(1, call) && !HAS(2, call)))
#endif
#endif

inline settle(call)
{
	if
	:: b_state[call] != NO -> b_state[call] = NO; b_asker[call] = 0; b_epoch[call] = 0
	:: else
	fi;
	b_settled[call] = true
}

/* A worker is lost with call. */
inline lose(call, fell_silent)
{
	if
#ifndef ONCE_REPEATED
	:: MUST_NOT_REPEAT(call) && fell_silent -> b_state[call] = HELD
	:: MUST_NOT_REPEAT(call) && !fell_silent -> b_state[call] = KEPT; b_code[call] = LOST
	:: !MUST_NOT_REPEAT(call) -> b_state[call] = QUEUED
#else
	:: true -> b_state[call] = QUEUED
#endif
	fi
}

active proctype Broker()
{
	byte call;

	do
	:: atomic { !done && faults > 0 -> faults--;
		d_step {
			call = 0;
			do
			:: call < CALLS ->
				b_state[call] = NO; b_asker[call] = 0; b_epoch[call] = 0;
				b_settled[call] = false; call++
			:: else -> break
			od;
			call = 0;
			b_knows[1] = false; b_knows[2] = false
		} }
	:: atomic { b_state[0] == HELD && NOBODY_HAS(0) -> b_state[0] = QUEUED }
	:: atomic { b_state[1] == HELD && NOBODY_HAS(1) ->
		/* Not while somebody has it whom nothing has happened to. */
		assert(hurt || committed > 1 || !HAS(1, 1));
		assert(hurt || committed > 1 || !HAS(2, 1));
		b_state[1] = KEPT; b_code[1] = LOST }
	/* Nobody asks any more: RESULT_KEEP_MS, or who asked has forgotten it. */
	:: atomic { b_state[0] != NO && b_state[0] != AT && !WAITS_FOR(0) && committed > 0 -> settle(0) }
	:: atomic { b_state[1] != NO && b_state[1] != AT && !WAITS_FOR(1) && committed > 1 -> settle(1) }
	od
}

proctype Worker(byte me)
{
	byte call;

	do
	/* CALL: one slot. */
	:: atomic { w_state[me] == IDLE && b_knows[me] && b_state[0] == QUEUED ->
		b_state[0] = AT; b_at[0] = me; w_state[me] = RUNNING; w_call[me] = 0 }
	:: atomic { w_state[me] == IDLE && b_knows[me] && b_state[1] == QUEUED ->
		b_state[1] = AT; b_at[1] = me; w_state[me] = RUNNING; w_call[me] = 1 }
	/* The same CALL again: it was not acknowledged in time. */
	:: atomic { w_state[me] == FINISHED && b_state[w_call[me]] == AT && b_at[w_call[me]] == me && faults > 0 -> faults--;
#ifdef WORKER_RUNS_AGAIN
		w_state[me] = RUNNING
#endif
		}
	/* The effect. */
	:: atomic { w_state[me] == RUNNING ->
		call = w_call[me];
		if
		:: MUST_NOT_REPEAT(call) ->
			effects[call]++;
			assert(effects[call] <= 1);
			assert(!told_lost[call] || hurt)
		:: else
		fi;
		w_state[me] = FINISHED; call = 0 }
	/* RESULT, and it is no news at the broker. */
	:: atomic { w_state[me] == FINISHED && b_knows[me] && !b_settled[w_call[me]] && b_state[w_call[me]] != KEPT ->
		b_state[w_call[me]] = KEPT; b_code[w_call[me]] = GOOD;
#ifdef RESULT_SENT_ONCE
		w_state[me] = IDLE
#endif
		}
	:: atomic { w_state[me] == FINISHED && b_knows[me] && b_settled[w_call[me]] ->
		w_state[me] = IDLE }
#ifndef NO_ANNOUNCEMENTS
	/* SEEK */
	:: atomic { w_state[me] == RUNNING && b_knows[me] && b_state[w_call[me]] == HELD ->
		b_state[w_call[me]] = AT; b_at[w_call[me]] = me }
#endif
	/* ANNOUNCE, on every new session. */
	:: atomic { !b_knows[me] ->
		b_knows[me] = true;
		if
#ifndef NO_ANNOUNCEMENTS
		:: w_state[me] == RUNNING && b_state[w_call[me]] < AT && !b_settled[w_call[me]] ->
			b_state[w_call[me]] = AT; b_at[w_call[me]] = me
		:: w_state[me] == RUNNING && (b_state[w_call[me]] >= AT || b_settled[w_call[me]]) ->
			w_state[me] = IDLE /* told to stop, and did so in time */
		:: w_state[me] == RUNNING && (b_state[w_call[me]] >= AT || b_settled[w_call[me]])
			/* too late to stop */
#endif
		:: else
		fi }
	/* It dies; the broker notices, and its next start knows nothing. */
	:: atomic { w_state[me] != IDLE && faults > 0 -> faults--;
		hurt = true; call = w_call[me]; w_state[me] = IDLE;
		if
		:: b_state[call] == AT && b_at[call] == me -> lose(call, false)
		:: else
		fi;
		b_knows[me] = true; call = 0 }
	/* It falls silent, and goes on. */
	:: atomic { w_state[me] != IDLE && b_knows[me] && faults > 0 -> faults--;
		hurt = true; call = w_call[me];
		if
		:: b_state[call] == AT && b_at[call] == me -> lose(call, true)
		:: else
		fi;
		b_knows[me] = false; call = 0 }
	od
}

#define phase   c_phase[me]
#define my_call c_call[me]
#define COMMIT_ID (my_epoch * 4 + my_call + 1)
#define IS_MINE   (owner == me && epoch == my_epoch)

/* Somebody may have sent the call before us. */
#define FLAGGED (before != UNSENT)

#define MAY_ASK (my_epoch >= b_epoch[my_call])
#ifndef BEGUN_UNASKED
#define MAY_BEGIN (!MUST_NOT_REPEAT(my_call) || FLAGGED || sent || IS_MINE)
#else
#define MAY_BEGIN true
#endif

inline drop()
{
	phase = AWAY; my_epoch = 0; my_call = 0; code = NOTHING; before = UNSENT; sent = false
}

#define MAY_CLAIM (known && !done && (owner == 0 || owner == me || !lease[owner]))

#ifndef GIVEN_TO_OWNER
#define IS_SAME_CLAIM(ticket) (given_to == me && given_ticket == (ticket))
#else
#define IS_SAME_CLAIM(ticket) (given_to == me)
#endif

/* ticket: what the claim says of epochs. Fills said: what is known to have been sent. */
inline claim(ticket)
{
	if
	:: owner != 0 && owner != me -> unsaid[committed] = true
	:: else
	fi;
	said = (epoch == 0 -> UNSENT : UNKNOWN);
	if
#ifndef GIVEN_ONCE
	:: given != UNKNOWN && given_to == 0 -> said = given; given_to = me; given_ticket = ticket
#else
	:: given != UNKNOWN && given_to == 0 -> said = given; given = UNKNOWN
#endif
	:: given != UNKNOWN && given_to != 0 && IS_SAME_CLAIM(ticket) -> said = given
	:: given != UNKNOWN && given_to != 0 && !IS_SAME_CLAIM(ticket) -> forget_given()
	:: else
	fi;
#ifndef EPOCH_KEPT
	epoch++;
#else
	epoch = (epoch == 0 -> 1 : epoch);
#endif
	claims[epoch]++;
	assert(claims[epoch] == 1);
	owner = me; lease[me] = true
}

inline forget_given()
{
	given = UNKNOWN; given_to = 0; given_ticket = 0
}

#if !defined(NO_COMMIT_ID) && !defined(NO_VERSION)
#define WAS_DONE (last_commit == COMMIT_ID)
#else
#define WAS_DONE false
#endif
#ifndef NO_FENCING
#define MAY_COMMIT (IS_MINE && VERSION_FITS)
#else
#define MAY_COMMIT VERSION_FITS
#endif
#ifndef NO_VERSION
#define VERSION_FITS (committed == my_call)
#else
#define VERSION_FITS true
#endif

inline commit()
{
	if
	:: WAS_DONE -> phase = COMMITTED
	:: !WAS_DONE && MAY_COMMIT ->
		assert(IS_MINE);
		assert(commits[my_call] == 0);
		commits[my_call]++;
		committed = my_call + 1;
		last_commit = COMMIT_ID;
		told_lost[my_call] = (code == LOST);
		assert(code != LOST || hurt || effects[my_call] == 0);
		/* Told as uncertain means: it may have begun, as far as anybody can know. */
		assert(code != LOST || was_new[my_call] || unsaid[my_call]);
		forget_given();
		if
		:: committed == CALLS -> done = true; owner = 0
		:: else
		fi;
		if
		:: phase = COMMITTED
		:: FAULT; phase = UNSURE
		fi
	:: else ->
		assert(!IS_MINE); /* STALE is not for an owner */
#ifdef FENCED_KEEPS
		phase = CALLING; sent = true
#else
		drop()
#endif
	fi
}

proctype Coordinator(byte me)
{
	byte my_epoch, code, call, said;
	byte before = UNSENT; /* whether who had the run before us has sent the call */
	bool sent;            /* we did */
#ifdef SAID_BY_FIRST
	bool took_over;
#endif

	do
	/* The inbox. */
#ifdef ACKNOWLEDGED_FIRST
	:: atomic { inbox && !known -> inbox = false };
		if
		:: atomic { FAULT }
		:: known = true
		fi
#else
	:: atomic { inbox && !known -> known = true }
	:: atomic { inbox && known -> inbox = false }
#endif
	/* fl_claim, sent until it is answered. */
	:: atomic { (phase == AWAY || phase == CLAIMING) && MAY_CLAIM ->
		if
		:: claim(c_newest[me] + 1);
#ifdef SAID_BY_FIRST
			took_over = epoch > 1;
#endif
			my_epoch = epoch; c_newest[me] = epoch; my_call = committed; before = said;
			phase = CALLING
		:: FAULT; claim(c_newest[me] + 1); phase = CLAIMING
		:: c_late[me] == 0 && FAULT; c_late[me] = c_newest[me] + 1; phase = CLAIMING
		fi;
		said = UNKNOWN }
	:: atomic { phase == CLAIMING && !MAY_CLAIM -> drop() }
	:: atomic { c_late[me] != 0 ->
		if
		:: MAY_CLAIM -> claim(c_late[me]); said = UNKNOWN; unsaid[committed] = true
		:: else
		fi;
		c_late[me] = 0 }
	/* CALL. What must not run twice is not begun on the word of a lease that is over. */
	:: atomic { phase == CALLING && b_asker[my_call] != me && MAY_ASK && MAY_BEGIN ->
		if
#ifdef UNFLAGGED
		:: b_state[my_call] == NO -> b_state[my_call] = QUEUED
#else
		:: b_state[my_call] == NO && (FLAGGED || sent) -> b_state[my_call] = HELD
		:: b_state[my_call] == NO && !FLAGGED && !sent ->
			b_state[my_call] = QUEUED
#endif
		:: else
		fi;
		b_settled[my_call] = false;
		/* Unflagged means: nobody has sent it. */
		assert(!MUST_NOT_REPEAT(my_call) || FLAGGED || sent || !was_sent[my_call]);
		was_sent[my_call] = true;
		was_new[my_call] = was_new[my_call] || !(FLAGGED || sent);
		b_asker[my_call] = me; b_epoch[my_call] = my_epoch; sent = true }
	/* RESULT */
	:: atomic { phase == CALLING && b_state[my_call] == KEPT && b_asker[my_call] == me ->
		code = b_code[my_call]; phase = ANSWERED;
#ifdef ACKNOWLEDGED_EARLY
		settle(my_call)
#endif
		}
	/* fl_advance */
	:: atomic { phase == ANSWERED || phase == UNSURE -> commit() }
	/* RESULT_ACK, and on. */
	:: atomic { phase == COMMITTED ->
		if
		:: b_epoch[my_call] <= my_epoch -> settle(my_call)
		:: else
		fi;
		if
		:: my_call + 1 == CALLS -> drop()
		:: else ->
#ifdef SAID_BY_FIRST
			took_over = false;
#endif
			my_call++; code = NOTHING; before = UNSENT; sent = false;
			phase = CALLING
		fi }
	/* fl_renew says that the lease had lapsed, and fl_result that another has the run. */
#ifndef FENCED_KEEPS
	:: atomic { phase == CALLING && !IS_MINE -> drop() }
#endif
	/* It is frozen: its lease ends. */
	:: atomic { owner == me && lease[me] && faults > 0 -> faults--; lease[me] = false }
	/* It dies. */
	:: atomic { phase != AWAY && faults > 0 -> faults--;
		lease[me] = false;
#ifdef LEASE_FOREVER
		lease[3] = true;
#endif
		if
		:: owner == me -> owner = 3 /* of a session that is no more */
		:: else
		fi;
		if
		:: given_to == me -> given_to = 3
		:: else
		fi;
		c_newest[me] = 0; c_late[me] = 0;
		call = 0;
		do
		:: call < CALLS ->
			if
			:: b_asker[call] == me -> b_asker[call] = 0;
#ifdef RESULT_DROPPED
				if
				:: b_state[call] == KEPT -> settle(call)
				:: else
				fi
#endif
			:: else
			fi;
			call++
		:: else -> break
		od;
		call = 0;
		drop() }
	/* It is drained: fl_release. */
	:: atomic { phase == CALLING && IS_MINE && faults > 0 -> faults--;
#ifndef RELEASE_FORGETS
		owner = 0;
#else
		owner = 3; lease[3] = true;
#endif
#ifndef SAID_BY_FIRST
		given = (before != UNKNOWN && sent -> SENT : before);
#else
		given = (took_over -> UNKNOWN : (sent -> SENT : UNSENT));
#endif
		given_to = 0; given_ticket = 0;
		if
		:: b_asker[my_call] == me -> b_asker[my_call] = 0
		:: else
		fi;
		drop() }
	od
}

/* When nothing can happen any more, all has ended well and nothing is left anywhere. */
active proctype Checker()
{
	timeout;
	assert(done && committed == CALLS && !inbox);
	assert(b_state[0] == NO && b_state[1] == NO);
	assert(w_state[1] == IDLE && w_state[2] == IDLE);
	assert(c_phase[1] == AWAY && c_phase[2] == AWAY)
}

init
{
	atomic { run Coordinator(1); run Coordinator(2); run Worker(1); run Worker(2) }
}

ltl ends { <> done }
