/* runs: submissions by HTTP, and what all calls on runs and threads share. */
#ifndef SERVE_RUNS_H
#define SERVE_RUNS_H

#include "api.h"
#include "feed.h"
#include "run_body.h"

/* A run that the call's body asks for, submitted and taken. */
struct run_begun {
	const char *thread, *run;
	bool has_key; /* and may be asked for again (once.h) */
	struct run_body body;
	const struct value
	    *record;       /* of one that was there, of which there is no feed yet */
	struct feed *feed; /* from behind its first event; the caller destroys it */
};
/* Begins it, on the thread of the path, or on one of its own; or finds it, where the request was made before (once.h). Returns false after answering why not. */
bool runs_begin(struct call *call, const struct value *body, enum feed_what what,
    struct run_begun *begun_r);

/* Begins an answer of status 200 that is JSON, and waits for the run's end, with a line break now and then. Returns
 * its last event, in the call's arena; NULL: who asked has gone, or the run, or Redis (feed_status). */
const struct value *runs_await_end(struct call *call, const struct run_begun *begun);
/* The same, and returns what it came to, in the call's arena: the state, with `__interrupt__` when it asks; {__error__: {error, message}};
 * NULL: who asked has gone. *has_ended_r: for runs_leave: whether that was its end, and not what Redis did not say of it. */
const struct value *runs_await(
    struct call *call, const struct run_begun *begun, bool *has_ended_r);
/* Writes value, which is the rest of that answer. Returns 0, or -1: who asked has gone. */
int runs_write(struct call *call, const struct value *value);

/* Shows the run of begun as server-sent events, for which the answer has begun (reply_events), with ids that name it or
 * not, from behind last_id, if one is given; takes begun's feed. Returns whether all of it was shown; else the reader is gone,
 * or Redis. */
bool runs_show(
    struct call *call, struct run_begun *begun, bool names_run, const char *last_id);
/* What is shown to who joins and does not say what. */
#define RUNS_JOIN_MODES                                                                  \
	((unsigned)(MODE_VALUES | MODE_UPDATES | MODE_MESSAGES_TUPLE | MODE_CUSTOM))
/* Reads the query's stream_mode, of which there may be several with commas, as enum mode bits. Returns false after answering that there is no such mode. */
bool runs_read_modes(struct call *call, unsigned *modes_r);

/* The run of the path, on the thread of the path: its record, or NULL after answering that there is none. Of one that no
 * coordinator has taken yet, a record without status. One that was rolled back and has ended is not there, as with LangGraph, which
 * deletes it: its record is kept for who submits it again. */
const struct value *runs_find(struct call *call);

/* Says where the run is: Content-Location. */
void runs_say_where(struct call *call, const struct run_begun *begun);

/* A name as a segment of a path (RFC 3986, section 3.3), in arena. Names have no bytes but of ASCII. */
const char *runs_segment(struct arena *arena, const char *name);

/* Says where a client whose connection breaks finds the rest of a stream of run, or, for NULL, of the thread: Location. */
void runs_say_stream(
    struct call *call, const char *thread, const char *run, unsigned modes);

/* Reads how runs are to be cancelled: `action` of the query, interrupt or rollback. Returns store_cancel or
 * store_cancel_back, or NULL after answering that it is neither. */
typedef enum store_status runs_cancel_fn(struct store *store, struct arena *arena,
    const char *thread, const char *run, const char **answer_r, const char **status_r);
runs_cancel_fn *runs_read_action(struct call *call);

/* Who waited for the run has gone away, or it has ended: cancels it, if that was asked for; deletes the thread of a
 * stateless one that has ended. */
void runs_leave(struct call *call, const struct run_begun *begun, bool has_ended);

#endif
