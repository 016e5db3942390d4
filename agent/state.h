/* state: the channels of one thread while a run advances them: messages and fields,
 * reducers, what changed since the last commit.
 *
 * Owns its values in an arena of its own; what is applied is copied in, what is read is
 * lent until the next state_apply, state_begin or state_compact. Rules: semantics.md,
 * section 2. */
#ifndef STATE_H
#define STATE_H

#include "digest.h"
#include "spec.h"

struct state;

/* One writer's update in a superstep: the name is for error messages. */
struct state_write {
	const char *writer; /* "A.before_model", "tools:add" */
	const struct value
	    *update; /* map; unknown keys are dropped; jump_to is not for here */
};

/* Returns new: an empty thread of spec's fields; keeps spec. ids of messages without one
 * are "<prefix>-<n>" with a prefix set by state_begin and state_step: deterministic, so
 * that a step that is done again gives the same ids. */
struct state *state_new(const struct spec *spec);
void state_destroy(struct state **state_p);
/* Lends an arena for what is to live as long as the state. */
struct arena *state_arena(struct state *state);

/* What Redis holds of a thread. */
struct thread;
struct state_stored {
	const struct value *messages; /* all, by number, as value_unpack gives them */
	bool outlive;                 /* the messages live longer than the state */
	const struct value *order;    /* [[first, last], ...] of numbers, or NULL */
	const struct value *fields;   /* a map, or NULL */
	/* What state_leave gave, when it was left of these very messages, or NULL; taken, and NULL
	 * then, if order says that they are in the same places. */
	struct thread **left;
};
/* Fills a new state with it. Messages that outlive it are kept, all else is copied. What order says
 * of messages that are not there is left out; fields that are not there get their defaults. */
void state_restore(struct state *state, const struct state_stored *stored);

/* Takes the messages out of the state, with all that is known of them, for the next state of the
 * thread: which need not begin anew with them. stored: all messages by number, as they were committed,
 * which outlive what is returned. Returns new, or NULL when not all of them are stored. */
struct thread *state_leave(struct state *state, const struct value *stored);
/* NULL is fine. */
void state_left_destroy(struct thread **left_p);
size_t state_left_bytes(const struct thread *left);

/* Lends the values of ephemeral fields, which the next step is to see, as a map; NULL: none. They
 * are no part of what is stored: who stops in front of that step keeps them, and gives them
 * back behind state_restore. */
const struct value *state_ephemeral(const struct state *state, struct arena *arena);
/* The same of untracked fields, which live as long as the run: who takes a run over in the middle
 * needs them as its owner left them. */
const struct value *state_untracked(const struct state *state, struct arena *arena);
void state_recall(struct state *state, const struct value *kept);

/* Starts a run: fields that live a run (untracked, ephemeral, structured_response) are
 * reset, defaults filled in, then input applied (fields of the input view only; messages
 * brought into form). input: a map, or NULL or nil. Returns 0, or -1 with a reason in
 * arena that names the place ("messages[2].type: ..."); then fields and messages are what
 * they were. */
int state_begin(struct state *state, struct arena *arena, const char *id_prefix,
    const struct value *input, const char **error_r);
/* The same for a child's run: a field that its parent gives it begins with that, where one of a user's input is folded
 * into the default. */
int state_begin_child(struct state *state, struct arena *arena, const char *id_prefix,
    const struct value *input, const char **error_r);

/* Starts a superstep: message ids made from now on begin with id_prefix. */
void state_step(struct state *state, const char *id_prefix);

/* Applies the writes of one superstep, in order, all or nothing: reducers fold; two
 * writes of a last-value field are an error naming field and writers; types are checked
 * against the field's. Afterwards ephemeral fields that were not written are gone.
 * Returns 0, or -1 with a reason in arena; then nothing has changed. */
int state_apply(struct state *state, struct arena *arena,
    const struct state_write *writes, size_t count, const char **error_r);

/* What the fields that the writes of a superstep which is not done yet write would be behind them: {name: value}, nil for one that
 * would be gone, in arena. Of those fields alone that state_output shows, or that are stored. Changes nothing. NULL: they write
 * none of these, or do not fit. */
enum state_view { STATE_SHOWN, STATE_STORED };
const struct value *state_foresee(struct state *state, struct arena *arena,
    const struct state_write *writes, size_t count, enum state_view view);

/* Lays messages over the thread in the middle of a superstep, before what it calls sees them:
 * fields stay as they are, ephemeral ones as well. Returns 0, or -1 with a reason in arena;
 * then nothing has changed. */
int state_mend(struct state *state, struct arena *arena, const struct value *messages,
    const char **error_r);

/* Reading. */
const struct value *state_messages(const struct state *state);
/* Their name (proto/digest.h), and how many bytes they are when packed. Each costs what was appended
 * since it was asked last; after another edit all of them. */
void state_digest(struct state *state, uint8_t digest_r[DIGEST_BYTES]);
size_t state_packed_bytes(struct state *state);
/* Whether digest is the name of the first count messages. False, too, when more than these have
 * been digested already, unless they were all at that time. */
bool state_begins_with(
    struct state *state, size_t count, const uint8_t digest[DIGEST_BYTES]);
/* The index of the first message that nobody of ours has stored, or -1; what was looked at once, and
 * not edited, is not looked at again. */
long state_find_damaged(struct state *state);
/* As chat_answer_dangling, of messages that were not found to have none before; state_messages itself
 * when there is nothing to answer. */
const struct value *state_answer_dangling(struct state *state, struct arena *arena);
const struct value *state_field(
    const struct state *state, const char *name); /* or NULL */
/* All fields as one map (without messages): what hooks see. */
const struct value *state_fields(struct state *state, struct arena *arena);
/* The fields named in names (array), for a worker's slice; NULL when none is set.
 * "messages" among the names adds the messages, "*" all there is. */
const struct value *state_slice(
    struct state *state, struct arena *arena, const struct value *names);
/* The output view: fields but private and omitted ones, structured_response when set;
 * without messages. */
const struct value *state_output(struct state *state, struct arena *arena);

/* What a commit must write, since the last state_committed. */
struct state_changes {
	const struct value
	    *messages; /* [message] not stored yet, in the order of their numbers */
	uint32_t first_number; /* the number of the first of them */
	const struct value
	    *order;         /* the thread's order as [[first, last], ...] of numbers */
	bool order_changed; /* else the order is the old one */
	const struct value *fields; /* {name: value, nil when it is gone}; {} when none */
};
/* Fills changes in arena; numbers are given to new messages at once (the same ones when
 * asked again before state_committed). */
void state_changes(
    struct state *state, struct arena *arena, struct state_changes *changes_r);
/* The changes last given are stored. */
void state_committed(struct state *state);

/* Frees what replaced values hold: copies what lives to a new arena when the old one has
 * become twice of what lived the last time. So a state is at most about two thirds
 * garbage, and one that only grows is copied as rarely as a growing array. */
void state_compact(struct state *state);

/* Bytes the state holds, garbage included. */
size_t state_bytes(const struct state *state);

#endif
