/* up_words: the command lines of the children of `flotilla up`. */
#ifndef UP_WORDS_H
#define UP_WORDS_H

#include <stddef.h>

#include "fleet_file.h"
#include "up_settings.h"

struct up_child {
	const char
	    *kind; /* the program: broker, coordinator, hub, worker-model, worker-tools */
	const char *name;
	size_t place;      /* of a broker: which of the fleet's endpoints it binds */
	const char *slots; /* of a worker, else NULL */
};

/* Returns the words of a child of this fleet, NULL-ended, in arena. programs: the folder that ours lie in; they may
 * have "flotilla-" in front there. */
const char *const *up_words(struct arena *arena, const char *programs,
    const struct up_settings *settings, const struct fleet_file *fleet,
    const struct up_child *child);
/* The same of `flotilla serve`, which is the program that runs. */
const char *const *up_serve_words(struct arena *arena, const char *programs,
    const struct up_settings *settings, const struct fleet_file *fleet);

#endif
