/* pins: calls to one worker, "worker:<session>" (pins.c says what is different). */
#ifndef PINS_H
#define PINS_H

#include <stdbool.h>

#include "bounds.h"
#include "wire.h"

struct call;
struct core;
struct session;

/* A worker that was here. */
struct gone_worker {
	char id[SESSION_BYTES + 1];
	uint64_t until_ms; /* it may come back */
};

/* True when service is one worker's alone: "worker:<session>". */
bool pin_is(const char *service);
/* A worker offers a pin that is not its own. */
bool pin_is_usurped(const struct header *hello);
/* Worker may have run what was sent to service. */
bool pin_allows(const struct session *worker, const char *service);
/* A call begins to wait for its worker. */
void pin_wait(struct core *core, struct call *call);
/* A worker's session has ended; it may come back, unless it left for good. */
void pin_gone(struct core *core, const struct session *worker);
/* It has waited for so long. Ends it when the worker is not there, or leaves. */
void pin_look(struct core *core, struct call *call);

#endif
