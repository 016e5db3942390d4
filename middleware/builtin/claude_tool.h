/* claude_tool: tools that Anthropic's models know by themselves: claude_bash_tool, claude_text_editor, claude_memory.
 *
 * Their definition has no description and no schema; Anthropic is told a type, and knows the rest. Models of others
 * are offered the same tool as any, with both. */
#ifndef CLAUDE_TOOL_H
#define CLAUDE_TOOL_H

#include "middleware.h"

struct claude_tool {
	const char *name, *type;
	const char *beta; /* that the API wants to be asked for it, or NULL */
};

/* Returns request, or one like it where the model is Anthropic's: the tool of that name goes out as its own. */
struct model_request *claude_tool_offer(
    struct model_request *request, const struct claude_tool *tool);

/* Asks the API for what it still calls beta: the setting `betas`, once. */
struct model_request *claude_with_beta(struct model_request *request, const char *beta);

#endif
