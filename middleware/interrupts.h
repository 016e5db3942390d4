/* interrupts: what the hooks of one call, or one node hook, ask of a human. A hook that asks
 * runs again from its first line with the answers so far: they are matched by their order.
 * For chain_*.c alone. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "fault.h"

struct interrupts {
	const struct value *answers; /* [value], those given so far, or NULL */
	/* [[id] or nil]: the calls that the questions of these were about, as far as that is known; or NULL */
	const struct value *answered_calls;
	const struct value *
	    askers; /* [name or nil]: which middleware asked these, as far as that is known; or NULL */
	size_t taken;
	const struct value *asked; /* what has no answer yet, or NULL */
	const struct value *about; /* what was said beside that, or NULL */
};

/* Returns the next answer, or NULL: then value is asked, with about (a map, or NULL) beside it. NULL,
 * too, when something was asked before. value NULL asks nil. */
const struct value *interrupts_take(
    struct interrupts *interrupts, const struct value *value, const struct value *about);

/* The same inside of a call, which *control ends once it is set: nothing is asked then, and a
 * question sets it, to a fault of type "GraphInterrupt". */
const struct value *interrupts_ask(struct interrupts *interrupts, struct arena *arena,
    const struct value *value, const struct value *about, const struct fault **control);

/* What was asked, as the fields of a RESULT's body: {interrupt, about?, notes?}, in arena. */
const struct value *interrupts_body(
    const struct interrupts *interrupts, struct arena *arena, const struct value *notes);

#endif
