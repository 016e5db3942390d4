/* claude_bash_tool: the shell of shell_tool as the bash tool that Anthropic's models know by themselves. */
#include "claude_tool.h"
#include "shell_options.h"
#include "shell_tool.h"

static const struct claude_tool bash = { .name = "bash", .type = "bash_20250124" };

static const struct option options[] = {
#include "shell_options.def"
	{ 0 },
};

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	return shell_configure_as(arena, use, bash.name, NULL, error_r);
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	return model_next(next, claude_tool_offer(request, &bash));
}

const struct middleware middleware_claude_bash_tool = {
	.abi = MIDDLEWARE_ABI,
	.name = "claude_bash_tool",
	.summary = "gives Claude its own bash tool: a shell that stays for the run",
	.options = options,
	.fields = shell_fields,
	.tools = shell_tools,
	.reads = shell_reads,
	.configure = configure,
	.before_agent = shell_before_agent,
	.after_agent = shell_after_agent,
	.wrap_model_call = wrap_model_call,
};
