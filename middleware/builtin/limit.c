#include "limit.h"

struct limit_pair
limit_pair_of(const struct value *settings)
{
	return (struct limit_pair){
		.thread = value_get_int(settings, "thread_limit", LIMIT_NONE),
		.run = value_get_int(settings, "run_limit", LIMIT_NONE),
	};
}

int
limit_configure(const struct middleware_use *use, const char **error_r)
{
	struct limit_pair limits = limit_pair_of(use->settings);

	if (limits.thread != LIMIT_NONE || limits.run != LIMIT_NONE)
		return 0;
	*error_r = "/run_limit: a limit needs run_limit, thread_limit or both";
	return -1;
}

bool
limit_exceeded(struct limit_pair limits, struct limit_pair used)
{
	return (limits.thread != LIMIT_NONE && used.thread > limits.thread) ||
	       (limits.run != LIMIT_NONE && used.run > limits.run);
}

static const char *
one_text(struct arena *arena, const char *name, int64_t most, int64_t used)
{
	if (most == LIMIT_NONE || used < most)
		return "";
	return arena_printf(
	    arena, "%s limit (%lld/%lld)", name, (long long)used, (long long)most);
}

const char *
limit_text(struct arena *arena, struct limit_pair limits, struct limit_pair used)
{
	const char *thread = one_text(arena, "thread", limits.thread, used.thread);
	const char *run = one_text(arena, "run", limits.run, used.run);
	const char *comma = thread[0] != '\0' && run[0] != '\0' ? ", " : "";

	return arena_printf(arena, "%s%s%s", thread, comma, run);
}
