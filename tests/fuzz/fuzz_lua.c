/* A chunk of Lua, and behind a line "--" a request in JSON: whatever the chunk is, it is
 * refused with a reason or its hooks end with an answer or a fault, within their limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "json.h"
#include "registry.h"

#define LINE "\n--\n"

static struct model_response *
answer(void *arg, struct model_request *request, unsigned attempt, const char *tag)
{
	struct arena *arena = model_arena(request);

	(void)arg;
	if (attempt % 3 == 0 || tag != NULL)
		return model_fail(
		    request, fault_new(arena, "TimeoutError", "attempt %u", attempt));
	return model_answer(
	    request, value_printf(arena, "%zu %zu", value_size(model_messages(request)),
			 value_size(model_tools(request))));
}

static int
run_tool(void *arg, struct tool_request *request, struct tool_result **result_r)
{
	(void)arg;
	*result_r = tool_answer(request, tool_name(request), "success");
	return 0;
}

static const struct value *
ask(struct turn *turn, const struct value *request)
{
	return value_map(turn->arena, "messages", value_get(request, "messages"), NULL);
}

static void
run_hooks(struct arena *arena, struct middleware_use *use, const struct value *request)
{
	const struct middleware_use *const uses[] = { use, use };
	const struct chain chain = { .uses = uses, .count = 2 };
	const struct model_backend model = { .send = answer };
	const struct tool_backend tools = { .run = run_tool };
	const struct value *profile =
	    value_map(arena, "model", value_str(arena, "m:x"), "tools",
		value_array(arena, (const struct value *[]){ value_str(arena, "t") }, 1),
		NULL);
	struct turn turn = { .arena = arena,
		.use = use,
		.messages = value_get(request, "messages"),
		.state = value_get(request, "state"),
		.call_model = ask };
	int hook;

	for (hook = HOOK_BEFORE_AGENT; hook <= HOOK_AFTER_AGENT; hook++) {
		if (use->hooks[hook])
			chain_node_hook(&turn, (enum hook)hook);
	}
	if (chain_model_call(arena, &chain, profile, request, &model) == NULL ||
	    chain_tool_call(arena, &chain, profile, request, "k", &tools) == NULL)
		abort();
}

static const struct value *
request_of(struct arena *arena, const char *text, size_t size)
{
	const struct value *request, *messages;
	const char *error;

	request = json_parse(arena, text, size, &error);
	if (!value_is(request, VALUE_MAP))
		request = value_empty_map();
	messages = value_get(request, "messages");
	messages = messages == NULL ? NULL : chat_normalise(arena, messages, &error);
	if (messages == NULL)
		messages = value_empty_array();
	return value_map_with(arena, request, "messages", messages);
}

int __wrap_hook_sleep(uint64_t ms);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int
__wrap_hook_sleep(uint64_t ms)
{
	return ms % 7 == 6 ? -1 : 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *text = arena_copy(arena, data, size), *path = NULL, *error = NULL;
	const char *line = memmem(text, size, LINE, strlen(LINE)), *rest;
	size_t code_size = line == NULL ? size : (size_t)(line - text);
	struct middleware_use *use;

	rest = line == NULL ? text + size : line + strlen(LINE);
	use = registry_use(arena, "lua",
	    value_map(arena, "code", value_strn(arena, text, code_size),
		"instruction_limit", value_int(arena, 20000), "memory_limit_bytes",
		value_int(arena, 1 << 20), NULL),
	    &path, &error);
	if (use == NULL && (error == NULL || path == NULL))
		abort();
	if (use != NULL)
		run_hooks(
		    arena, use, request_of(arena, rest, (size_t)(text + size - rest)));
	arena_destroy(&arena);
	return 0;
}
