/* subagent: what the middleware share whose tools have other agents do something. */
#ifndef SUBAGENT_H
#define SUBAGENT_H

#include "middleware.h"

/* The answer to a call for an agent that is none of the use's children. */
struct tool_result *subagent_unknown(struct tool_request *request, const char *name);

#endif
