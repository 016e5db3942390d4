/* A middleware that ends its process on the spot, as a fault in it would, or the kernel for want of memory; or holds it up. */
#include "middleware.h"

#include <signal.h>
#include <string.h>
#include <time.h>

static const struct option options[] = {
	{ .name = "at",
	    .type = OPTION_TEXT,
	    .otherwise = "\"before_model\"",
	    .text = "When it does: before_model, after_model, or behind_tool, before the "
		    "model hears of a tool." },
	{ .name = "stands_ms",
	    .type = OPTION_INTEGER,
	    .otherwise = "0",
	    .text = "It does not end it, but lets it stand still for so long." },
	{ 0 },
};

static const struct value *
end_at(struct turn *turn, const char *hook)
{
	const struct value *settings = turn_settings(turn);
	int64_t stands_ms = value_get_int(settings, "stands_ms", 0);

	if (strcmp(value_get_text(settings, "at"), hook) != 0)
		return NULL;
	if (stands_ms == 0)
		raise(SIGKILL);
	nanosleep(
	    &(struct timespec){ stands_ms / 1000, stands_ms % 1000 * 1000000 }, NULL);
	return NULL;
}

static const struct value *
before_model(struct turn *turn)
{
	const struct value *messages = turn_messages(turn);
	size_t count = value_size(messages);

	if (count > 0 &&
	    value_text_is(value_get(value_at(messages, count - 1), "type"), "tool"))
		end_at(turn, "behind_tool");
	return end_at(turn, "before_model");
}

static const struct value *
after_model(struct turn *turn)
{
	return end_at(turn, "after_model");
}

static const struct middleware takes_down = {
	.abi = MIDDLEWARE_ABI,
	.name = "takes_down",
	.summary = "Takes coordinators down.",
	.options = options,
	.before_model = before_model,
	.after_model = after_model,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &takes_down, NULL };
