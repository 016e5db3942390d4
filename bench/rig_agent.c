#include "rig_agent.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

static void
write_layer(FILE *file, enum rig_layer layer, unsigned number)
{
	static const char wrap[] =
	    "function wrap_model_call(request, handler) return handler(request) end";
	static const char node[] = "function before_model(state, runtime) end";

	if (layer == RIG_C_WRAP || layer == RIG_C_NODE)
		fprintf(file, "  - bench_layer: {number: %u, %s: true}\n", number,
		    layer == RIG_C_WRAP ? "wrap" : "node");
	else
		fprintf(file, "  - lua: {name: layer%u, code: \"%s\"}\n", number,
		    layer == RIG_LUA_WRAP ? wrap : node);
}

void
rig_agent_write(const char *path, const struct rig_options *options)
{
	FILE *file = fopen(path, "we");
	unsigned i;

	if (file == NULL)
		err(EXIT_FAILURE, "%s", path);
	fputs(
	    "name: bench\nmodel: openai:bench\nsystem_prompt: You answer questions, and "
	    "work numbers out with calculate.\n",
	    file);
	if (options->script.bytes == 0 && !options->script.tasks)
		fputs("tools: [" RIG_TOOL "]\n", file);
	fputs("middleware:\n", file);
	if (options->script.tasks)
		fputs("  - subagent:\n"
		      "      general_purpose_agent: false\n"
		      "      subagents: [{name: aide, description: Looks things up., "
		      "model: openai:aide, tools: []}]\n",
		    file);
	if (options->script.bytes > 0)
		fputs("  - bench_recite\n", file);
	for (i = 1; i <= options->layers; i++)
		write_layer(file, options->layer, i);
	if (fclose(file) == EOF)
		err(EXIT_FAILURE, "%s", path);
}
