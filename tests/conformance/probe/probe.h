/* probe: between the files of the probe: what the settings say, and the two wraps that do it. */
#ifndef PROBE_H
#define PROBE_H

#include "middleware.h"

/* The action of this call of hook on thread, which it counts: an empty one when none applies. */
const struct value *probe_action(
    const struct value *settings, const char *hook, const char *thread);

/* The type of what the action raises. */
const char *probe_error_type(const struct value *action);

/* Traces that a wrap was entered ('>') or left ('<'). */
void probe_trace_wrap(
    struct arena *arena, const struct value *settings, const char *hook, char way);

struct model_response *probe_wrap_model_call(
    struct model_request *request, struct model_next *next);
struct tool_result *probe_wrap_tool_call(
    struct tool_request *request, struct tool_next *next);

#endif
