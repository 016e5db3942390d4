#include "sample_agent.h"

#include <check.h>

struct sample_agent *
sample_agent(struct arena *arena)
{
	struct sample_agent *agent = arena_alloc(arena, sizeof *agent);

	agent->arena = arena;
	agent->spec = (struct spec){
		.name = "sample",
		.version = "0000000000000000000000000000000000000000",
		.model = "scripted:sample",
		.provider = "scripted",
		.source = value_empty_map(),
		.model_settings = value_empty_map(),
		.tools = value_empty_array(),
		.uses = agent->uses,
		.recursion_limit = 100,
		.interrupt_before = value_empty_array(),
		.interrupt_after = value_empty_array(),
		.reads = value_empty_array(),
	};
	return agent;
}

struct middleware_use *
sample_use(struct sample_agent *agent, const char *name, unsigned hooks)
{
	struct middleware_use *use = arena_alloc(agent->arena, sizeof *use);
	int hook;

	ck_assert_uint_lt(agent->spec.use_count, SAMPLE_USES_MAX);
	use->name = name;
	use->settings = value_empty_map();
	use->tools = value_empty_array();
	use->reads = value_empty_array();
	for (hook = 0; hook < HOOK_COUNT; hook++)
		use->hooks[hook] = (hooks & 1u << hook) != 0;
	agent->uses[agent->spec.use_count++] = use;
	return use;
}

const struct value *
sample_format(struct arena *arena, const char *strategy, const char *title)
{
	const struct value *schema =
	    value_map(arena, "title", value_str(arena, title), NULL);

	return value_map(arena, "strategy", value_str(arena, strategy), "schemas",
	    value_array(arena, &schema, 1), "handle_errors", value_bool(true), NULL);
}
