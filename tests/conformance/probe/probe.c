/* probe: the middleware of the conformance scenarios, as the shared object a user would build.
 *
 * What it does is written in tests/conformance/scenarios/README.md, "The probe". It appends
 * what it sees and in which order to the file named by FLOTILLA_PROBE_LOG, one JSON object a
 * line; lines of all processes interleave in the order things happened. Unlike a real
 * middleware it keeps something in memory: how often each hook ran in each scenario, for
 * `on_call`; scenarios run with one process of each kind. */
#include "probe.h"

#include <string.h>

#include "field.h"
#include "json.h"
#include "probe_log.h"

/* --- node hooks ------------------------------------------------------------------------------ */

static void
record_seen(struct turn *turn, const char *at, const struct value *names)
{
	struct arena *arena = turn_arena(turn);
	struct value_fields seen = { .arena = arena };
	size_t i;

	if (names == NULL)
		return;
	value_fields_set(&seen, "at", value_str(arena, at));
	for (i = 0; i < value_size(names); i++) {
		const char *name = value_text(value_at(names, i));

		if (strcmp(name, "message_count") == 0)
			value_fields_set(&seen, name,
			    value_int(arena, (int64_t)value_size(turn_messages(turn))));
		else if (!value_is_nil(turn_get(turn, name)))
			value_fields_set(&seen, name, turn_get(turn, name));
	}
	probe_log(arena, "seen", value_fields_end(&seen));
}

static const struct value *
node_hook(struct turn *turn, enum hook hook)
{
	struct arena *arena = turn_arena(turn);
	const struct value *settings = turn_settings(turn);
	const struct value *action =
	    probe_action(settings, hook_name(hook), turn_thread(turn));
	const char *at =
	    arena_printf(arena, "%s.%s", value_get_text(settings, "id"), hook_name(hook));
	const struct value *update = value_get(action, "update");

	probe_log(arena, "trace", value_str(arena, at));
	record_seen(turn, at, value_get(action, "see"));
	if (value_has(action, "raise"))
		return turn_fail(turn, probe_error_type(action), "%s",
		    value_get_text(action, "raise"));
	if (value_has(action, "jump_to"))
		update = value_map_with(
		    arena, update, "jump_to", value_get(action, "jump_to"));
	return update;
}

static const struct value *
before_agent(struct turn *turn)
{
	return node_hook(turn, HOOK_BEFORE_AGENT);
}

static const struct value *
before_model(struct turn *turn)
{
	return node_hook(turn, HOOK_BEFORE_MODEL);
}

static const struct value *
after_model(struct turn *turn)
{
	return node_hook(turn, HOOK_AFTER_MODEL);
}

static const struct value *
after_agent(struct turn *turn)
{
	return node_hook(turn, HOOK_AFTER_AGENT);
}

/* --- the settings make the middleware ---------------------------------------------------------- */

/* Adds to *jumps_r. Returns a name that is no jump, or NULL. */
static const char *
add_jumps(const struct value *actions, unsigned *jumps_r)
{
	const struct value *names = value_get(actions, "can_jump_to");
	const char *wrong = NULL;
	size_t i;

	for (i = 0; value_is(actions, VALUE_ARRAY) && i < actions->size && wrong == NULL;
	     i++)
		wrong = add_jumps(value_at(actions, i), jumps_r);
	for (i = 0; i < value_size(names) && wrong == NULL; i++) {
		enum jump jump = jump_from_name(value_text(value_at(names, i)));

		if (jump == JUMP_NONE)
			wrong = value_text(value_at(names, i));
		*jumps_r |= (unsigned)jump;
	}
	return wrong;
}

/* A field as conformance/README.md writes it; what is wrong with it, the loader says. */
static struct field
field_of(struct arena *arena, const char *name, const struct value *given)
{
	const struct value *otherwise = value_get(given, "default");
	const char *reducer = value_get_text(given, "reducer");
	bool private = value_get_bool(given, "private", false);

	return (struct field){
		.name = name,
		.type = value_get_text(given, "type"),
		.otherwise = otherwise != NULL ? json_text(arena, otherwise) : NULL,
		.reducer = reducer != NULL ? reducer_from_name(reducer) : REDUCE_LAST,
		.untracked = value_get_bool(given, "untracked", false),
		.ephemeral = value_get_bool(given, "ephemeral", false),
		.omit_from_input =
		    private || value_get_bool(given, "omit_from_input", false),
		.omit_from_output =
		    private || value_get_bool(given, "omit_from_output", false),
	};
}

static void
add_fields(struct arena *arena, struct middleware_use *use)
{
	const struct value *state = value_get(use->settings, "state");
	struct field *fields =
	    arena_alloc(arena, (value_size(state) + 1) * sizeof *fields);
	size_t i;

	for (i = 0; i < value_size(state); i++)
		fields[i] = field_of(
		    arena, value_text(state->pairs[i].key), state->pairs[i].value);
	use->fields = fields;
	use->field_count = value_size(state);
}

/* The tools it brings, without their outcomes. */
static const struct value *
definitions(struct arena *arena, const struct value *tools)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		value_list_add(
		    &list, value_map_with(arena, value_at(tools, i), "outcomes", NULL));
	return value_list_end(&list);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	unsigned hook;

	use->name = value_get_text(use->settings, "id");
	for (hook = 0; hook < HOOK_COUNT; hook++) {
		const struct value *actions = value_get(use->settings, hook_name(hook));

		const char *wrong;

		use->hooks[hook] = !value_is_nil(actions);
		use->jumps[hook] = 0;
		wrong = add_jumps(actions, &use->jumps[hook]);
		if (wrong == NULL)
			continue;
		*error_r = arena_printf(arena,
		    "/%s: can_jump_to has \"%s\"; there are model, tools and end",
		    hook_name(hook), wrong);
		return -1;
	}
	use->tools = definitions(arena, value_get(use->settings, "tools"));
	add_fields(arena, use);
	return 0;
}

static const struct option options[] = {
	{ .name = "id",
	    .type = OPTION_TEXT,
	    .required = true,
	    .text = "names the probe" },
	{ .name = "before_agent",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "before_model",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "after_model",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "after_agent",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "wrap_model_call",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "wrap_tool_call",
	    .type = OPTION_ANY,
	    .text = "an action or a list of them" },
	{ .name = "state", .type = OPTION_MAP, .text = "state fields it adds" },
	{ .name = "tools", .type = OPTION_LIST, .text = "tools it adds" },
	{ 0 },
};

static const struct middleware probe = {
	.abi = MIDDLEWARE_ABI,
	.name = "probe",
	.summary = "records what runs when, for the conformance scenarios",
	.options = options,
	.configure = configure,
	.before_agent = before_agent,
	.before_model = before_model,
	.after_model = after_model,
	.after_agent = after_agent,
	.wrap_model_call = probe_wrap_model_call,
	.wrap_tool_call = probe_wrap_tool_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &probe, NULL };
