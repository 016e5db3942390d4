/* tools: the tools written in C. One file each, one line in the table of tools.c. */
#ifndef TOOLS_H
#define TOOLS_H

#include <stdbool.h>

#include "http.h"
#include "loop.h"
#include "middleware.h"

/* What they work with; a tool is called with its request alone. One a process. */
struct tools_world {
	struct loop *loop;
	struct http *http;
	bool allow_private; /* http_get may open addresses that are not public */
};

void tools_open(struct loop *loop, bool allow_private); /* keeps loop */
void tools_close(void); /* after the last call has ended; safe to repeat */
const struct tools_world *tools_world(void);

/* Lends the table, NULL-ended. */
const struct tool *const *tools_builtin(void);

extern const struct tool tool_calculate;
extern const struct tool tool_http_get;
extern const struct tool tool_now;

#endif
