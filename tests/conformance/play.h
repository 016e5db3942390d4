/* play: one scenario on the fleet: what the fleet did, in the shape of `expect`. */
#ifndef PLAY_H
#define PLAY_H

#include "fleet.h"
#include "http.h"
#include "store.h"

struct player {
	struct loop *loop;
	struct fleet *fleet;
	struct store *store;
	struct http *http;
	struct redis *waiting; /* for blocking reads */
	struct store *waiting_store;
	unsigned number; /* of the scenario, for unique names */
};

/* Plays scenario, on a fiber. Returns {steps: [...]} or {create_error: text}, in arena; a step
 * that did not end in time has status "timeout". */
const struct value *play_scenario(
    struct player *player, struct arena *arena, const struct value *scenario);

#endif
