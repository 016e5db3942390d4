/* schedule: what goes wrong and when, made from a seed alone. Pure. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

enum fault_kind {
#define FAULT(NAME, name, aim, weight, low, high, text) FAULT_##NAME,
#include "faults.def"
#undef FAULT
	FAULT_KINDS,
};

struct fault {
	uint64_t at_ms; /* since the begin of the attack */
	uint64_t lasts_ms;
	enum fault_kind kind;
	const char *target; /* of a party or a link; "" when the kind says it */
	int64_t up, down; /* how strong: ms, bytes, bytes a second; in both directions */
};

/* What there is to hurt: NULL-ended names. */
struct schedule_targets {
	const char *const *killable;  /* parties that may be killed */
	const char *const *stoppable; /* that may be stopped, or have a wrong clock */
	const char *const *links;
	bool has_space, has_disk;
};

/* Returns the faults within length_ms, on average one every interval_ms, in order of time. */
const struct fault *schedule_make(struct arena *arena, uint64_t seed, uint64_t length_ms,
    uint64_t interval_ms, const struct schedule_targets *targets, size_t *count_r);

const char *fault_name(enum fault_kind kind);
const char *fault_text(enum fault_kind kind);
/* A line for people. */
const char *fault_line(struct arena *arena, const struct fault *fault);

#endif
