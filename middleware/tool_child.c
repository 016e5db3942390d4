/* tool_child: what a tool has another agent do. The worker has no part in it: the call ends with what is
 * wanted, and another one goes on with what came of it. */
#include "tool_request.h"

const struct value *
tool_children(const struct tool_request *request)
{
	return request->use == NULL ? NULL : request->use->children;
}

const struct value *
tool_children_ask(struct tool_request *request, const struct value *ask)
{
	struct tool_run *run = request->run;
	const struct value *outcome;

	if (run->control != NULL)
		return NULL;
	outcome = value_at(value_get(run->request, "children"), run->children_taken);
	if (outcome == NULL) {
		run->child = value_map_with(run->arena, ask, "middleware",
		    value_str(run->arena, tool_middleware(request)));
		if (run->backend->await_child != NULL)
			outcome = run->backend->await_child(
			    run->backend->arg, run->child, run->children_taken);
	}
	if (outcome != NULL) {
		run->child = NULL;
		run->children_taken++;
	} else {
		run->control =
		    fault_new(run->arena, "GraphInterrupt", "waits for a child");
	}
	return outcome;
}

const struct value *
tool_child(struct tool_request *request, const char *name, const struct value *messages)
{
	struct arena *arena = request->run->arena;

	return tool_children_ask(request,
	    value_map(arena, "name", value_str(arena, name), "messages", messages, NULL));
}
