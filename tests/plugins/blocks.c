/* A middleware that does what none may: it blocks the loop. Once, which a file remembers. */
#include <fcntl.h>
#include <unistd.h>

#include "middleware.h"

static const struct option options[] = {
	{ .name = "once", .type = OPTION_TEXT, .text = "The file it leaves behind." },
	{ 0 },
};

static bool
is_first(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) != -1;
}

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	if (!is_first(value_get_text(tool_settings_of(request), "once")))
		return tool_next(next, request);
	for (;;)
		pause();
}

static const struct value *
before_model(struct turn *turn)
{
	if (!is_first(value_get_text(turn_settings(turn), "once")))
		return NULL;
	for (;;)
		pause();
}

static const struct middleware blocks = {
	.abi = MIDDLEWARE_ABI,
	.name = "blocks",
	.summary = "Blocks the loop of the first worker that runs it.",
	.options = options,
	.wrap_tool_call = wrap_tool_call,
};

static const struct middleware blocks_hook = {
	.abi = MIDDLEWARE_ABI,
	.name = "blocks_hook",
	.summary = "Blocks the loop of the first coordinator that runs it.",
	.options = options,
	.before_model = before_model,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &blocks, &blocks_hook, NULL };
