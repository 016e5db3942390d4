/* sample_agent: agents put together by hand, with middleware that exists only on paper:
 * for what looks at hooks, jumps, fields and tools but runs none of them. */
#ifndef SAMPLE_AGENT_H
#define SAMPLE_AGENT_H

#include "spec.h"

#define SAMPLE_USES_MAX 8u

/* One bit a hook, as in ON(BEFORE_MODEL) | ON(AFTER_MODEL). */
#define ON(hook) (1u << HOOK_##hook)
#define ON_ALL_NODES                                                                     \
	(ON(BEFORE_AGENT) | ON(BEFORE_MODEL) | ON(AFTER_MODEL) | ON(AFTER_AGENT))

struct sample_agent {
	struct spec spec; /* change it as you like */
	const struct middleware_use *uses[SAMPLE_USES_MAX];
	struct arena *arena;
};

/* Returns an agent without anything, in arena. */
struct sample_agent *sample_agent(struct arena *arena);

/* Adds a use of that name with these hooks; change it as you like. */
struct middleware_use *sample_use(
    struct sample_agent *agent, const char *name, unsigned hooks);

/* A response_format of strategy with one schema of that title. */
const struct value *sample_format(
    struct arena *arena, const char *strategy, const char *title);

#endif
