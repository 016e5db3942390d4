#include "tools.h"

#include <stddef.h>

static const struct tool *const builtin[] = {
	&tool_calculate,
	&tool_http_get,
	&tool_now,
	NULL,
};

static struct tools_world world;

void
tools_open(struct loop *loop, bool allow_private)
{
	world = (struct tools_world){ loop, http_new(loop), allow_private };
}

void
tools_close(void)
{
	if (world.http != NULL)
		http_destroy(&world.http);
}

const struct tools_world *
tools_world(void)
{
	return &world;
}

const struct tool *const *
tools_builtin(void)
{
	return builtin;
}
