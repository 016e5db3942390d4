/* verdict: what the end of a child means for its call: content for the model, a command, a fault in
 * the words of the child, or a question to a human. */
#ifndef VERDICT_H
#define VERDICT_H

#include "fault.h"
#include "process.h"
#include "tool_file.h"

struct verdict { /* one of them */
	const char *content;
	const struct value *command; /* of a RESULT, with TOOL_OUTPUT_COMMAND */
	const struct fault *fault;
	const struct value *asked;
};

/* Judges the end of tool's child. All in arena. */
struct verdict verdict_of(struct arena *arena, const struct command_tool *tool,
    const struct process_result *result);

#endif
