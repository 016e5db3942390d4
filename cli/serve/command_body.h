/* command_body: a run's `command` in LangGraph's API: an answer, and where the run begins and what it writes before. Pure. */
#ifndef COMMAND_BODY_H
#define COMMAND_BODY_H

#include "run_body.h"

struct command_body {
	const struct value
	    *resume; /* the answer, of a command that is no more; or NULL */
	const struct value
	    *moves; /* {goto?: node, update?: map, resume?} of another; or NULL */
	const struct value
	    *ends; /* what one writes that goes to the end, a map; or NULL */
};

/* Reads command, of a run on place that names that checkpoint (run_body_checkpoint). Returns NULL, or what is wrong with it,
 * in arena. */
const char *command_body_read(struct arena *arena, const struct value *command,
    const struct run_place *place, int64_t checkpoint, struct command_body *body_r);

#endif
