/* The names of hooks and jumps, and what every hook may do wherever it runs. */
#include "middleware.h"

#include <assert.h>
#include <string.h>

#include "chain.h"
#include "fiber.h"

static const char *const hook_names[HOOK_COUNT] = {
	[HOOK_BEFORE_AGENT] = "before_agent",
	[HOOK_BEFORE_MODEL] = "before_model",
	[HOOK_AFTER_MODEL] = "after_model",
	[HOOK_AFTER_AGENT] = "after_agent",
	[HOOK_MODIFY_MODEL_REQUEST] = "modify_model_request",
	[HOOK_WRAP_MODEL_CALL] = "wrap_model_call",
	[HOOK_WRAP_TOOL_CALL] = "wrap_tool_call",
};

const char *
hook_name(enum hook hook)
{
	assert(hook < HOOK_COUNT);
	return hook_names[hook];
}

static const struct {
	const char *name;
	enum jump jump;
} jumps[] = {
	{ "model", JUMP_MODEL },
	{ "tools", JUMP_TOOLS },
	{ "end", JUMP_END },
	{ "__end__", JUMP_END },
};

enum jump
jump_from_name(const char *name)
{
	size_t i;

	for (i = 0; name != NULL && i < sizeof jumps / sizeof *jumps; i++) {
		if (strcmp(jumps[i].name, name) == 0)
			return jumps[i].jump;
	}
	return JUMP_NONE;
}

const char *
jump_name(enum jump jump)
{
	size_t i;

	for (i = 0; i < sizeof jumps / sizeof *jumps; i++) {
		if (jumps[i].jump == jump)
			return jumps[i].name;
	}
	return "none";
}

static int (*sleep_of_hooks)(uint64_t ms) = fiber_sleep;

void
chain_sleep_with(int (*sleep)(uint64_t ms))
{
	sleep_of_hooks = sleep;
}

int
hook_sleep(uint64_t ms)
{
	/* Off fibers nobody else could run. */
	if (ms == 0 && fiber_current() == NULL)
		return 0;
	return sleep_of_hooks(ms);
}
