/* wanted: what somebody listens to on a broker's status channel, as the broker has told.
 *
 * The safe answer is that everything is wanted: until a broker has told (an old one never does),
 * when what it told cannot be read, and from a lost session to the next WANTED. It tells behind
 * WELCOME, when something is wanted that was not, and with each PONG, so that what was lost on
 * the way is missing no longer than a heartbeat. It does not tell at once that something is no
 * longer wanted: that costs messages, and nothing else. */
#ifndef WANTED_H
#define WANTED_H

#include <stdbool.h>

#include "socket.h"

/* Zero-initialised: everything is wanted. */
struct wanted {
	const struct value *prefixes; /* of topics; NULL: not told */
	struct arena *arena;          /* of these */
	struct packet packed; /* the same, as it came: most PONGs bring the same */
};

/* Takes in the body behind a WANTED's or PONG's header; a PONG without one says nothing. */
void wanted_learn(struct wanted *wanted, const struct parts *message);

/* Everything is wanted again; frees what is held. */
void wanted_forget(struct wanted *wanted);

bool wanted_has(const struct wanted *wanted, const char *topic);

#endif
