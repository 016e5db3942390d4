/* turn_options: what bench-turn and bench-floor are told alike, as they are measured in turns
 * (compare.sh). */
#ifndef TURN_OPTIONS_H
#define TURN_OPTIONS_H

#include <stdint.h>

#include "settings.h"

struct turn_options {
	const char *fsync;
	int64_t in_flight, runs, waiting;
	bool apart; /* no hub */
};

/* For settings_parse. */
extern const struct setting turn_options[];

#endif
