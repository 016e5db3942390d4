#include "chain.h"

#include <stdio.h>
#include <string.h>

#include "chain_link.h"
#include "bounds.h"
#include "loop.h"
#include "registry.h"

/* A message for a model: more names than these help nobody. */
#define NAMES_SHOWN_MAX 64u

static const struct middleware_use *
without_hooks(struct arena *arena, const struct middleware_use *use)
{
	struct middleware_use *bare = arena_alloc(arena, sizeof *bare);

	*bare = *use;
	memset(bare->hooks, 0, sizeof bare->hooks);
	return bare;
}

static const struct middleware_use *
use_from_value(struct arena *arena, const struct use_agent *agent,
    const struct value *entry, const char **error_r)
{
	const char *name = value_get_text(entry, "name"), *path, *reason;
	const struct middleware_use *use;

	if (name == NULL) {
		*error_r = "a middleware of the profile has no name";
		return NULL;
	}
	use = registry_use_of(arena, agent, value_get(entry, "models"), name,
	    value_get(entry, "settings"), &path, &reason);
	if (use == NULL)
		*error_r = arena_printf(arena, "middleware %s%s%s: %s", name,
		    path[0] == '\0' ? "" : " ", path, reason);
	else if (value_get_bool(entry, "filters_only", false))
		use = without_hooks(arena, use);
	return use;
}

struct chain *
chain_from_profile(struct arena *arena, const struct value *profile, const char **error_r)
{
	const struct use_agent agent = { .model = value_get_text(profile, "model"),
		.model_profile = value_get(profile, "model_profile") };
	const struct value *middleware = value_get(profile, "middleware");
	struct chain *chain = arena_alloc(arena, sizeof *chain);
	size_t count = value_size(middleware), i;
	const struct middleware_use **uses;

	if (!value_is_nil(middleware) && !value_is(middleware, VALUE_ARRAY)) {
		*error_r = "the profile's middleware is not a list";
		return NULL;
	}
	if (count > MIDDLEWARE_MAX) {
		*error_r = arena_printf(
		    arena, "more than %u middleware in one agent", MIDDLEWARE_MAX);
		return NULL;
	}
	uses = arena_alloc(arena, count * sizeof *uses);
	for (i = 0; i < count; i++) {
		uses[i] = use_from_value(arena, &agent, value_at(middleware, i), error_r);
		if (uses[i] == NULL)
			return NULL;
	}
	chain->uses = uses;
	chain->count = count;
	return chain;
}

const struct value *
chain_filters(struct arena *arena, const struct chain *chain, const struct value *profile)
{
	const struct value *middleware = value_get(profile, "middleware");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < chain->count; i++)
		if (chain->uses[i]->filters_tokens)
			value_list_add(
			    &list, value_map_with(arena, value_at(middleware, i),
				       "filters_only", value_bool(true)));
	return value_list_end(&list);
}

size_t
chain_next_use(const struct chain *chain, enum hook hook, size_t from)
{
	while (from < chain->count && !chain->uses[from]->hooks[hook])
		from++;
	return from;
}

void
chain_trace_hook(const struct chain *chain, const struct middleware_use *use,
    enum hook hook, bool failed, uint64_t started_us)
{
	char node[2 * ID_BYTES_MAX];

	if (chain->trace == NULL)
		return;
	snprintf(node, sizeof node, "%s.%s", use->name, hook_name(hook));
	chain->trace(chain->trace_arg, node, failed, loop_now_us() - started_us);
}

struct fault *
chain_hook_fault(struct arena *arena, const struct middleware_use *use, enum hook hook,
    const char *type, const char *reason)
{
	struct fault *fault =
	    fault_new(arena, type, "%s.%s %s", use->name, hook_name(hook), reason);

	fault->retryable = false;
	fault->fatal = true;
	return fault;
}

const char *
chain_join(struct arena *arena, const struct value *names)
{
	size_t count = value_size(names), i;
	const char *text = "";

	for (i = 0; i < count && i < NAMES_SHOWN_MAX; i++) {
		text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : ", ",
		    value_text(value_at(names, i)));
	}
	return count <= NAMES_SHOWN_MAX ? text : arena_printf(arena, "%s, ...", text);
}

void
chain_note(struct value_list *notes, const struct middleware_use *use, const char *format,
    va_list args)
{
	struct arena *arena = notes->arena;

	if (notes->count >= NOTES_MAX)
		return;
	value_list_add(
	    notes, value_map(arena, "middleware",
		       use != NULL ? value_str(arena, use->name) : NULL, "text",
		       value_str(arena, arena_vprintf(arena, format, args)), NULL));
}

const struct value *
chain_notes_end(struct value_list *notes)
{
	return notes->count > 0 ? value_list_end(notes) : NULL;
}

const struct value *
chain_ask_store(struct arena *arena,
    const struct value *(*store)(void *arg, const struct value *op), void *arg,
    const struct value *op, const struct fault **control)
{
	const struct value *answer;

	if (*control != NULL)
		return NULL;
	if (store == NULL)
		return value_map(arena, "fault",
		    fault_to_value(arena, fault_new(arena, "NotImplementedError",
					      "this process does not reach the store")),
		    NULL);
	answer = store(arg, op);
	if (answer == NULL)
		*control = fault_cancelled(arena);
	return answer;
}

static bool
brings(const struct middleware_use *use, const char *tool)
{
	size_t i;

	for (i = 0; i < value_size(use->tools); i++)
		if (value_text_is(value_get(value_at(use->tools, i), "name"), tool))
			return true;
	return false;
}

bool
chain_may_wait(const struct chain *chain, const char *tool)
{
	size_t i;

	if (tool == NULL || chain_next_use(chain, HOOK_WRAP_TOOL_CALL, 0) == chain->count)
		return false;
	for (i = 0; i < chain->count; i++)
		if (value_size(chain->uses[i]->children) > 0 &&
		    brings(chain->uses[i], tool))
			return true;
	return false;
}
