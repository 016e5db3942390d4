/* `deep_agent`: the middleware of deepagents' create_deep_agent under one key (semantics.md 6.18). It is spelled out
 * before anything else is read of the agent, so that what runs is an agent like any other: `flotilla graph`
 * shows all of it. */
#include <string.h>

#include "bounds.h"
#include "loader.h"
#include "pointer.h"
#include "registry.h"

#define KEY "deep_agent"

static const char *const keys[] = { "backend", "general_purpose_agent", "interrupt_on",
	"memory", "permissions", "skills", "subagents", "summarization", "todo_list",
	NULL };

/* What was written. */
struct deep {
	const struct value *settings;
	const struct value *own; /* the agent's `middleware` */
};

/* A list of middleware on its way. */
struct stack {
	struct arena *arena;
	const struct value *own; /* the agent's or subagent's `middleware`, or NULL */
	bool *taken;             /* of own: it has the place of one of the same name */
	const char *path;        /* of own */
	const struct value *own_places; /* of each in own; NULL: path says it */
	struct value_list list;
	struct value_list
	    places; /* of each in list, if it is ours that of its settings */
	struct value_fields *
	    parts; /* the agent's: its subagents by their place in a middleware's settings */
};

/* --- entries ---------------------------------------------------------------------------- */

static const char *
name_of(const struct value *entry)
{
	if (value_is(entry, VALUE_STR))
		return entry->text;
	return value_is(entry, VALUE_MAP) && entry->size == 1 ? entry->pairs[0].key->text
							      : "";
}

static const struct value *
entry_of(struct arena *arena, const char *name, const struct value *settings)
{
	return value_size(settings) > 0 ? value_map(arena, name, settings, NULL)
					: value_str(arena, name);
}

static void
put(struct stack *stack, const struct value *entry, const char *place)
{
	value_list_add(&stack->list, entry);
	value_list_add(&stack->places, value_str(stack->arena, place));
}

static void
put_own(struct stack *stack, size_t index)
{
	stack->taken[index] = true;
	put(stack, value_at(stack->own, index),
	    stack->own_places != NULL
		? value_text(value_at(stack->own_places, index))
		: arena_printf(stack->arena, "%s/%zu", stack->path, index));
}

/* Whether own has one of that name, which is put. */
static bool
take_own(struct stack *stack, const char *name)
{
	size_t i;

	for (i = 0; i < value_size(stack->own); i++)
		if (!stack->taken[i] &&
		    strcmp(name_of(value_at(stack->own, i)), name) == 0) {
			put_own(stack, i);
			return true;
		}
	return false;
}

/* The one of that name, or what own has in its place. */
static void
add(struct stack *stack, const char *name, const struct value *settings,
    const char *place)
{
	if (!take_own(stack, name))
		put(stack, entry_of(stack->arena, name, settings), place);
}

static bool
is_one_of(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* What own has beside; later: names whose place is still to come. */
static void
add_own(struct stack *stack, const char *const *later)
{
	size_t i;

	for (i = 0; i < value_size(stack->own); i++)
		if (!stack->taken[i] &&
		    !is_one_of(name_of(value_at(stack->own, i)), later))
			put_own(stack, i);
}

static struct stack
stack_of(struct arena *arena, const struct value *own, const char *path)
{
	size_t count = value_is(own, VALUE_ARRAY) ? value_size(own) : 0;

	return (struct stack){ .arena = arena,
		.own = count > 0 ? own : NULL,
		.taken = arena_alloc(arena, count * sizeof(bool)),
		.path = path,
		.list = { .arena = arena },
		.places = { .arena = arena } };
}

/* --- settings --------------------------------------------------------------------------- */

/* {key: value, backend}, without what is not there. */
static const struct value *
with_backend(struct arena *arena, const struct value *deep, const char *key,
    const struct value *value)
{
	const struct value *backend = value_get(deep, "backend");

	return value_map(arena, "backend", value_is_nil(backend) ? NULL : backend, key,
	    value_is_nil(value) ? NULL : value, NULL);
}

static const struct value *
summarization_of(struct arena *arena, const struct value *deep)
{
	const struct value *own = value_get(deep, "summarization");

	return value_map_merge(arena, with_backend(arena, deep, "model", NULL),
	    value_is(own, VALUE_MAP) ? own : NULL);
}

static bool
wants_summarization(const struct value *deep)
{
	return value_get_bool(deep, "summarization", true);
}

static const struct value *
caching(struct arena *arena)
{
	return value_map(
	    arena, "unsupported_model_behavior", value_str(arena, "ignore"), NULL);
}

/* --- subagents -------------------------------------------------------------------------- */

static const struct value *
permissions_of(const struct value *deep, const struct value *given)
{
	return value_has(given, "permissions") ? value_get(given, "permissions")
					       : value_get(deep, "permissions");
}

/* {at, asks, middleware}: where given, a subagent, is, what has its `interrupt_on`, and each of its middleware if they
 * are known. */
static const struct value *
part_of(struct stack *stack, const struct value *given, const char *at)
{
	struct arena *arena = stack->arena;

	return value_map(arena, "at", value_str(arena, at), "asks",
	    value_str(
		arena, value_is_nil(value_get(given, "interrupt_on")) ? "/" KEY : at),
	    "middleware", value_list_end(&stack->places), NULL);
}

/* Skills or memory, if there are sources. */
static void
add_read(struct stack *stack, const struct value *deep, const char *name,
    const struct value *sources, const char *place)
{
	if (!value_is_nil(sources))
		add(stack, name, with_backend(stack->arena, deep, "sources", sources),
		    place);
}

/* What a fork has beside the stack: its parent's own middleware, or what it has in their place, and its own. Nothing
 * of its parent's that hands tasks on; and whom it asks, `interrupt_on` says, if there is one. */
static struct stack
inherited(struct stack *own, const struct deep *deep, const struct value *given)
{
	static const char *const none[] = { NULL };
	static const char *const hand_on[] = { "subagent", "async_subagent", NULL };
	bool asks = value_size(value_get(deep->settings, "interrupt_on")) > 0 ||
		    value_has(given, "interrupt_on");
	struct stack all;
	size_t i;

	for (i = 0; i < value_size(deep->own); i++) {
		const char *name = name_of(value_at(deep->own, i));

		if (!is_one_of(name, hand_on) &&
		    (!asks || strcmp(name, "human_in_the_loop") != 0) &&
		    !take_own(own, name))
			put(own, value_at(deep->own, i),
			    arena_printf(own->arena, "/middleware/%zu", i));
	}
	add_own(own, none);
	all = stack_of(own->arena, value_list_end(&own->list), "");
	all.own_places = value_list_end(&own->places);
	return all;
}

static bool
is_fork(const struct value *given)
{
	return value_text_is(value_get(given, "mode"), "fork");
}

/* A subagent's stack, but for its own. A fork reads what its parent reads. */
static void
add_stack(struct stack *stack, const struct value *deep, const struct value *given,
    const char *at)
{
	struct arena *arena = stack->arena;
	bool fork = is_fork(given);

	if (fork)
		add_read(
		    stack, deep, "skills", value_get(deep, "skills"), "/" KEY "/skills");
	add(stack, "filesystem",
	    with_backend(arena, deep, "permissions", permissions_of(deep, given)),
	    value_has(given, "permissions") ? at : "/" KEY);
	if (fork) /* that is how it refuses to hand tasks on */
		add(stack, "subagent", NULL, at);
	if (wants_summarization(deep))
		add(stack, "deepagents_summarization", summarization_of(arena, deep),
		    "/" KEY "/summarization");
	add(stack, "patch_tool_calls", NULL, at);
	if (!fork)
		add_read(stack, deep, "skills", value_get(given, "skills"),
		    arena_printf(arena, "%s/skills", at));
	add(stack, "anthropic_prompt_caching", caching(arena), at);
	add(stack, "bedrock_prompt_caching", caching(arena), at);
	if (fork)
		add_read(
		    stack, deep, "memory", value_get(deep, "memory"), "/" KEY "/memory");
}

/* given, which is at at, with the stack of a subagent as its middleware. *part_r: see part_of. */
static const struct value *
subagent_of(struct arena *arena, const struct deep *deep, const struct value *given,
    const char *at, const struct value **part_r)
{
	static const char *const none[] = { NULL };
	struct stack stack = stack_of(arena, value_get(given, "middleware"),
	    arena_printf(arena, "%s/middleware", at));

	*part_r = part_of(&stack, given, at);

	if (!value_is(given, VALUE_MAP) || value_has(given, "agent") ||
	    (value_has(given, "middleware") && stack.own == NULL &&
		!value_is(value_get(given, "middleware"), VALUE_ARRAY)))
		return given;
	if (is_fork(given))
		stack = inherited(&stack, deep, given);
	add_stack(&stack, deep->settings, given, at);
	add_own(&stack, none);
	*part_r = part_of(&stack, given, at);
	/* A fork has none of its own, and is told so where subagents are read. */
	if (!is_fork(given))
		given = value_map_with(arena, given, "skills", NULL);
	given = value_map_with(arena, given, "permissions", NULL);
	return value_map_with(arena, given, "middleware", value_list_end(&stack.list));
}

/* The subagents that are waited for, or those that are not, which a middleware has under key. */
static const struct value *
subagents_of(struct stack *stack, const struct deep *deep, bool is_async, const char *key)
{
	const struct value *given = value_get(deep->settings, "subagents"), *one, *part;
	struct arena *arena = stack->arena;
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(given); i++) {
		const char *at = arena_printf(arena, "/" KEY "/subagents/%zu", i);

		one = value_at(given, i);
		if (value_has(one, "graph_id") != is_async)
			continue;
		part = value_map(arena, "at", value_str(arena, at), NULL);
		if (!is_async)
			one = subagent_of(arena, deep, one, at, &part);
		value_fields_set(
		    stack->parts, arena_printf(arena, "/%s/%zu", key, list.count), part);
		value_list_add(&list, one);
	}
	return value_list_end(&list);
}

/* The middleware of the one that comes by itself: what the agent has in the place of one of them, it has as well, but
 * nothing else of the agent's own. */
static const struct value *
general_purpose(struct arena *arena, const struct deep *deep, const struct value **part_r)
{
	const struct value *given =
	    value_map(arena, "skills", value_get(deep->settings, "skills"), NULL);
	struct stack stack = stack_of(arena, deep->own, "/middleware");

	add_stack(&stack, deep->settings, given, "/" KEY);
	*part_r = part_of(&stack, given, "/" KEY);
	return value_list_end(&stack.list);
}

static void
add_subagents(struct stack *stack, const struct deep *deep)
{
	struct arena *arena = stack->arena;
	const struct value *interrupt_on = value_get(deep->settings, "interrupt_on");
	bool general = value_get_bool(deep->settings, "general_purpose_agent", true);
	const struct value *subagents = subagents_of(stack, deep, false, "subagents");
	const struct value *ours, *part;

	if (value_size(subagents) == 0 && !general)
		return;
	ours = general_purpose(arena, deep, &part);
	value_fields_set(stack->parts, "", part);
	add(stack, "subagent",
	    value_map(arena, "general_purpose_agent", value_bool(general),
		"general_purpose_middleware", ours, "subagents", subagents,
		"default_interrupt_on", value_is_nil(interrupt_on) ? NULL : interrupt_on,
		NULL),
	    "/" KEY);
}

static void
add_async(struct stack *stack, const struct deep *deep)
{
	const struct value *subagents =
	    subagents_of(stack, deep, true, "async_subagents");

	if (value_size(subagents) > 0)
		add(stack, "async_subagent",
		    value_map(stack->arena, "async_subagents", subagents, NULL), "/" KEY);
}

/* --- the whole --------------------------------------------------------------------------- */

static const struct value *
spelled_out(struct loader *loader, const struct value *source, const struct value *deep)
{
	static const char *const later[] = { "anthropic_prompt_caching",
		"bedrock_prompt_caching", "memory", "human_in_the_loop", NULL };
	static const char *const none[] = { NULL };
	struct arena *arena = loader->arena;
	const struct deep all = { .settings = deep,
		.own = value_get(source, "middleware") };
	const struct value *interrupt_on = value_get(deep, "interrupt_on");
	struct stack stack = stack_of(arena, all.own, "/middleware");
	struct value_fields parts = { .arena = arena };

	stack.parts = &parts;
	if (value_get_bool(deep, "todo_list", false))
		add(&stack, "todo_list", NULL, "/" KEY "/todo_list");
	add_read(&stack, deep, "skills", value_get(deep, "skills"), "/" KEY "/skills");
	add(&stack, "filesystem",
	    with_backend(arena, deep, "permissions", value_get(deep, "permissions")),
	    "/" KEY);
	add_subagents(&stack, &all);
	if (wants_summarization(deep))
		add(&stack, "deepagents_summarization", summarization_of(arena, deep),
		    "/" KEY "/summarization");
	add(&stack, "patch_tool_calls", NULL, "/" KEY);
	add_async(&stack, &all);
	add_own(&stack, later);
	add(&stack, "anthropic_prompt_caching", caching(arena), "/" KEY);
	add(&stack, "bedrock_prompt_caching", caching(arena), "/" KEY);
	add_read(&stack, deep, "memory", value_get(deep, "memory"), "/" KEY "/memory");
	if (value_size(interrupt_on) > 0)
		add(&stack, "human_in_the_loop",
		    value_map(arena, "interrupt_on", interrupt_on, NULL), "/" KEY);
	add_own(&stack, none);
	loader->places = value_list_end(&stack.places);
	loader->parts = value_fields_end(&parts);
	return value_map_with(arena, source, "middleware", value_list_end(&stack.list));
}

/* What is given to more than one is looked at here, for its place. */
static int
check(struct loader *loader, const struct value *deep, const char *key,
    enum value_type type, const char *kind)
{
	const struct value *given = value_get(deep, key);

	if (value_is_nil(given) || value_is(given, type))
		return 0;
	return loader_fail(loader, pointer_add(loader->arena, "/" KEY, key),
	    "must be %s, not %s", kind, value_article_name(given));
}

const struct value *
load_deep_agent(struct loader *loader, const struct value *source)
{
	const struct value *deep = value_get(source, KEY),
			   *own = value_get(source, "middleware");

	if (value_is_nil(deep) || (value_is(deep, VALUE_BOOL) && !deep->boolean))
		return value_map_with(loader->arena, source, KEY, NULL);
	if (value_is(deep, VALUE_BOOL))
		deep = value_empty_map();
	if (!value_is(deep, VALUE_MAP)) {
		loader_fail(loader, "/" KEY, "must be true or a map, not %s",
		    value_article_name(deep));
		return NULL;
	}
	if (loader_known_keys(loader, "/" KEY, deep, keys, KEY) == -1)
		return NULL;
	if (check(loader, deep, "subagents", VALUE_ARRAY, "a list") == -1 ||
	    check(loader, deep, "interrupt_on", VALUE_MAP, "a map") == -1 ||
	    check(loader, deep, "todo_list", VALUE_BOOL, "true or false") == -1 ||
	    check(loader, deep, "general_purpose_agent", VALUE_BOOL, "true or false") ==
		-1 ||
	    (!value_is(value_get(deep, "summarization"), VALUE_BOOL) &&
		check(loader, deep, "summarization", VALUE_MAP, "true, false or a map") ==
		    -1))
		return NULL;
	/* Each fork has what its agent has: both are counted before that. */
	if (value_size(value_get(deep, "subagents")) > AGENT_CHILDREN_MAX) {
		loader_fail(loader, "/" KEY "/subagents", "must be at most %u",
		    AGENT_CHILDREN_MAX);
		return NULL;
	}
	source = value_map_with(loader->arena, source, KEY, NULL);
	/* What is no list, or too long, is refused where lists are read. */
	return value_is_nil(own) ||
		       (value_is(own, VALUE_ARRAY) && value_size(own) <= MIDDLEWARE_MAX)
		   ? spelled_out(loader, source, deep)
		   : source;
}

/* --- names that it takes ----------------------------------------------------------------- */

static bool
brings(const struct middleware *type, const char *tool)
{
	size_t i;

	for (i = 0; type != NULL && type->tools[i] != NULL; i++)
		if (!type->tools[i]->internal && strcmp(type->tools[i]->name, tool) == 0)
			return true;
	return false;
}

/* All that the three may bring, as in deepagents JS, whatever this agent has of it. */
const char *
deep_agent_objection(struct arena *arena, const struct value *source, const char **path_r)
{
	static const char *const names[] = { "filesystem", "subagent", "async_subagent" };
	const struct value *deep = value_get(source, KEY),
			   *tools = value_get(source, "tools");
	size_t i, j;

	if (value_is_nil(deep) || (value_is(deep, VALUE_BOOL) && !deep->boolean))
		return NULL;
	for (i = 0; i < value_size(tools); i++) {
		const struct value *tool = value_at(tools, i);
		const char *name =
		    value_is(tool, VALUE_STR) ? tool->text : value_get_text(tool, "name");

		for (j = 0; name != NULL && j < sizeof names / sizeof *names; j++) {
			if (!brings(registry_find(names[j]), name))
				continue;
			*path_r = arena_printf(arena, "/tools/%zu", i);
			return arena_printf(arena,
			    "a tool \"%s\" would take the place of the one that " KEY
			    " brings with %s: give yours another name",
			    name, names[j]);
		}
	}
	return NULL;
}
