/* state_private: what state.c and state_apply.c share. */
#ifndef STATE_PRIVATE_H
#define STATE_PRIVATE_H

#include "state.h"
#include "thread.h"

struct channel {
	const struct field *field;
	const struct value *value;     /* or NULL: absent */
	const struct value *otherwise; /* the default, or NULL */
	bool changed;                  /* since the last commit */
	bool given;                    /* and state_changes has told so */
};

struct state {
	const struct spec *spec;
	struct arena *own;    /* the channels and the defaults */
	struct arena *values; /* all other values; made anew by state_compact */
	struct channel *channels;
	size_t count;
	struct thread *thread;
	size_t lived; /* bytes of values when there was no garbage among them */
};

struct channel *state_channel(const struct state *state, const char *name);

/* Gives channel a value, or NULL. */
void state_set(struct channel *channel, const struct value *value);

/* Absent fields get their defaults. */
void state_fill_defaults(struct state *state);

#endif
