/* verdict: what the end of a child means for its call: content for the model, or a fault
 * in the words of the child. */
#ifndef VERDICT_H
#define VERDICT_H

#include "fault.h"
#include "process.h"
#include "tool_file.h"

struct verdict {
	const char *content; /* NULL with a fault */
	const struct fault *fault;
};

/* Judges the end of tool's child. All in arena. */
struct verdict verdict_of(struct arena *arena, const struct command_tool *tool,
    const struct process_result *result);

#endif
