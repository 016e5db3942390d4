/* play: one scenario on the fleet: what the fleet did, in the shape of `expect`. */
#ifndef PLAY_H
#define PLAY_H

#include "fleet.h"
#include "fleet_client.h"
#include "http.h"

struct player {
	struct fleet *fleet;
	struct fleet_client *client;
	struct http *http;
	unsigned number; /* of the scenario, for unique names */
};

/* Plays scenario, on a fiber. Returns {steps: [...]} or {create_error: text}, in arena; a step
 * that did not end in time has status "timeout". */
const struct value *play_scenario(
    struct player *player, struct arena *arena, const struct value *scenario);

#endif
