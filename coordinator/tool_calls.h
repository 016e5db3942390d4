/* tool_calls: the calls of a round under way: all at once, or as many as the run may have under way
 * together (`max_concurrency`, semantics.md 4.1), each on a fiber; outcomes are stored as they arrive.
 *
 * Who takes the run over does not know which calls had been sent, and takes all for that, with one exception: one that had to
 * wait for others to end is begun when the stored outcomes say that it is, under "<call id>!". Where they do not say so, nobody
 * has sent it. */
#ifndef TOOL_CALLS_H
#define TOOL_CALLS_H

#include "run_round.h"

struct tool_calls;

/* One call of the round. Its arena lives until the round is over. */
struct tool_call {
	struct tool_calls *round;
	struct arena *arena;
	struct fiber
	    *fiber; /* while it is under way on one that is not the run's; or NULL */
	size_t index;
	struct effect *effect;
	const struct value *body; /* its outcome; NULL: it was cut off, or never begun */
	enum go go;
	bool failed; /* the run, of what it answered */
	bool told;   /* its events are in the next commit */
};

struct tool_calls {
	struct run *run;
	struct agent_profiles *profiles;
	struct tool_call *calls;
	struct effect *effects; /* of the calls, by index */
	size_t count;
	bool
	    stop; /* one failed for good: no other begins, those under way are cancelled */
	bool over; /* the run is to stop: none is looked at any more */

	/* tool_calls_run's own. */
	struct fiber *waiting; /* the run's */
	size_t next;           /* the first that nobody has begun */
	size_t left;           /* that have not ended */
	size_t lanes;          /* fibers that make them, each one after the other */
};

/* Whether the outcomes that the run's claim found say that call, whose effect is set but for call.is_new, was never begun. */
bool tool_calls_is_new(const struct tool_call *call);

/* Makes the calls of round, of which all else is set, in their order; what they gave is in each. Returns when none is under way any
 * more, cancelled or not: GO_ON, or GO_DROP when the run is cancelled, given back or given up. */
enum go tool_calls_run(struct tool_calls *round);

/* The outcome of tool_call with what it writes: beside an error that does not end the run, the message that tells the model of it. In
 * arena, but for what is outcome's. */
const struct value *tool_calls_told(const struct run *run, struct arena *arena,
    const struct value *tool_call, const struct value *outcome);

#endif
