/* lua: a user's own middleware, written in Lua (docs/middleware-lua.md). */
#include "middleware.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "json.h"
#include "lua_describe.h"
#include "lua_hooks.h"
#include "pointer.h"
#include "schema.h"

#define CODE_BYTES_MAX (256u << 10)

static const struct option options[] = {
	{ .name = "name",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text =
		"Its name in the agent, as in `NAME.before_model`; without it: that of "
		"the file, or lua." },
	{ .name = "code",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "The code itself." },
	{ .name = "file",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "A file with the code, beside the agent's file; it is read when that "
		    "is, and the agent keeps what was in it." },
	{ .name = "state",
	    .type = OPTION_MAP,
	    .otherwise = "{}",
	    .text = "State fields it brings, as in an agent's `state`." },
	{ .name = "tools",
	    .type = OPTION_LIST,
	    .otherwise = "[]",
	    .text = "Tools it brings, each {name, description, parameters}: its "
		    "wrap_tool_call answers their calls." },
	{ .name = "settings",
	    .type = OPTION_MAP,
	    .otherwise = "{}",
	    .text = "Anything: what the code finds as `runtime.settings`." },
	{ .name = "instruction_limit",
	    .type = OPTION_INTEGER,
	    .otherwise = "1000000",
	    .min = 1000,
	    .max = 1e8,
	    .text = "Instructions that one call of a hook may take; a million takes "
		    "about 20 ms." },
	{ .name = "memory_limit_bytes",
	    .type = OPTION_INTEGER,
	    .otherwise = "16777216",
	    .min = 131072,
	    .max = 268435456,
	    .text = "Memory that one call of a hook may take." },
	{ 0 },
};

/* --- settings ----------------------------------------------------------------------- */

static bool
is_name(const char *name)
{
	const char *at;

	for (at = name; *at != '\0'; at++) {
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			return false;
	}
	return isalpha((unsigned char)name[0]) && at - name < (long)ID_BYTES_MAX;
}

/* "hooks/limit.lua" is "limit". */
static const char *
name_of(struct arena *arena, const struct value *settings)
{
	const char *name = value_get_text(settings, "name"), *dot;

	if (name != NULL)
		return name;
	name = value_get_text(settings, "file");
	if (name == NULL)
		return "lua";
	if (strrchr(name, '/') != NULL)
		name = strrchr(name, '/') + 1;
	dot = strrchr(name, '.');
	return dot == NULL || dot == name ? name
					  : arena_copy(arena, name, (size_t)(dot - name));
}

static const char *
flaw_of_code(struct arena *arena, const struct value *settings)
{
	const struct value *code = value_get(settings, "code");

	if (value_is_nil(code) && !value_is_nil(value_get(settings, "file")))
		return "/file: a file is read when an agent is loaded from a file "
		       "itself; "
		       "elsewhere give its text as code";
	if (value_is_nil(code))
		return "needs the setting \"code\", or \"file\"";
	if (code->size > CODE_BYTES_MAX)
		return arena_printf(
		    arena, "/code: more than %u bytes of code", CODE_BYTES_MAX);
	return NULL;
}

static const char *
flaw_of_tool(struct arena *arena, const struct value *tool)
{
	const struct value *parameters = value_get(tool, "parameters");
	const char *name = value_get_text(tool, "name"), *reason;

	if (name == NULL || !is_name(name))
		return "needs a name, of letters, digits, _ and -";
	if (value_get_text(tool, "description") == NULL)
		return "needs a description";
	if (parameters != NULL && schema_usable(arena, parameters, &reason) == -1)
		return arena_printf(arena, "parameters: %s", reason);
	return NULL;
}

static const char *
set_tools(struct arena *arena, struct middleware_use *use)
{
	struct value_list list = { .arena = arena };
	const struct value *given = value_get(use->settings, "tools");
	size_t i;

	for (i = 0; i < value_size(given); i++) {
		const struct value *tool = given->items[i];
		const char *flaw = flaw_of_tool(arena, tool);

		if (flaw != NULL)
			return arena_printf(arena, "/tools/%zu: %s", i, flaw);
		if (!value_has(tool, "parameters"))
			tool = value_map_with(arena, tool, "parameters",
			    value_map(arena, "type", value_str(arena, "object"), NULL));
		value_list_add(&list, tool);
	}
	if (list.count > 0 && !use->hooks[HOOK_WRAP_TOOL_CALL])
		return "/tools: the code has no wrap_tool_call that could answer their "
		       "calls";
	use->tools = value_list_end(&list);
	return NULL;
}

/* --- state fields ------------------------------------------------------------------- */

static const char *const field_keys[] = { "type", "default", "reducer", "untracked",
	"ephemeral", "private", "omit_from_input", "omit_from_output", NULL };

static const struct {
	const char *name;
	enum reducer reducer;
} reducers[] = {
	{ "append", REDUCE_APPEND },
	{ "add", REDUCE_ADD },
	{ "merge", REDUCE_MERGE },
};

static const char *
unknown_key(const struct value *map)
{
	size_t i, j;

	for (i = 0; i < map->size; i++) {
		for (j = 0; field_keys[j] != NULL; j++) {
			if (value_text_is(map->pairs[i].key, field_keys[j]))
				break;
		}
		if (field_keys[j] == NULL)
			return map->pairs[i].key->text;
	}
	return NULL;
}

/* What would be taken for not there. */
static const char *
flaw_of_texts(struct arena *arena, const struct value *map)
{
	static const char *const names[] = { "type", "reducer" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		const struct value *value = value_get(map, names[i]);

		if (!value_is_nil(value) && !value_is(value, VALUE_STR))
			return arena_printf(arena, "%s must be a string, not %s",
			    names[i], value_article_name(value));
	}
	return NULL;
}

static const char *
flaw_of_field(struct arena *arena, const struct value *map)
{
	const char *unknown, *flaw, *reducer = value_get_text(map, "reducer");
	size_t i;

	if (!value_is(map, VALUE_MAP))
		return arena_printf(arena,
		    "must be a map, as in {type: integer, reducer: add}, not %s",
		    value_article_name(map));
	unknown = unknown_key(map);
	if (unknown != NULL)
		return arena_printf(arena, "a state field has no \"%s\"", unknown);
	flaw = flaw_of_texts(arena, map);
	if (flaw != NULL)
		return flaw;
	for (i = 3; field_keys[i] != NULL; i++) {
		if (value_has(map, field_keys[i]) &&
		    !value_is(value_get(map, field_keys[i]), VALUE_BOOL))
			return arena_printf(
			    arena, "%s must be true or false", field_keys[i]);
	}
	for (i = 0; i < sizeof reducers / sizeof *reducers && reducer != NULL; i++) {
		if (strcmp(reducers[i].name, reducer) == 0)
			reducer = NULL;
	}
	return reducer == NULL
		   ? NULL
		   : arena_printf(arena,
			 "there is no reducer \"%s\" (append, add or merge)", reducer);
}

/* type and default are checked where all fields are (agent/spec_state.c). */
static void
set_field(struct arena *arena, struct field *field, const struct value *map)
{
	const char *reducer = value_get_text(map, "reducer");
	bool is_private = value_get_bool(map, "private", false);
	size_t i;

	field->type = value_get_text(map, "type");
	if (!value_is_nil(value_get(map, "default")))
		field->otherwise = json_text(arena, value_get(map, "default"));
	for (i = 0; i < sizeof reducers / sizeof *reducers && reducer != NULL; i++) {
		if (strcmp(reducers[i].name, reducer) == 0)
			field->reducer = reducers[i].reducer;
	}
	field->untracked = value_get_bool(map, "untracked", false);
	field->ephemeral = value_get_bool(map, "ephemeral", false);
	field->omit_from_input =
	    is_private || value_get_bool(map, "omit_from_input", false);
	field->omit_from_output =
	    is_private || value_get_bool(map, "omit_from_output", false);
}

static const char *
set_fields(struct arena *arena, struct middleware_use *use)
{
	const struct value *state = value_get(use->settings, "state");
	struct field *fields = arena_alloc(arena, value_size(state) * sizeof *fields);
	const char *flaw;
	size_t i;

	for (i = 0; i < value_size(state); i++) {
		fields[i].name = state->pairs[i].key->text;
		flaw = flaw_of_field(arena, state->pairs[i].value);
		if (flaw != NULL)
			return arena_printf(arena, "/state/%s: %s", fields[i].name, flaw);
		set_field(arena, &fields[i], state->pairs[i].value);
	}
	use->fields = fields;
	use->field_count = i;
	return NULL;
}

/* What it brings its worker slices read, unless it says what. */
static void
set_reads(struct arena *arena, struct middleware_use *use, const struct value *declared)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < use->field_count; i++)
		value_list_add(&list, value_str(arena, use->fields[i].name));
	use->reads = declared != NULL ? declared : value_list_end(&list);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *reads;
	const char *reason;

	*error_r = flaw_of_code(arena, use->settings);
	if (*error_r != NULL)
		return -1;
	use->name = name_of(arena, use->settings);
	if (!is_name(use->name)) {
		*error_r = arena_printf(arena,
		    "\"%s\" is no name for a middleware: give it one of letters, digits, "
		    "_ and - as the setting \"name\"",
		    use->name);
		return -1;
	}
	if (lua_describe(arena, use, &reads, &reason) == -1) {
		*error_r = arena_printf(arena, "/code: %s", reason);
		return -1;
	}
	*error_r = set_fields(arena, use);
	if (*error_r == NULL)
		*error_r = set_tools(arena, use);
	set_reads(arena, use, reads);
	return *error_r == NULL ? 0 : -1;
}

/* --- hooks -------------------------------------------------------------------------- */

static const struct value *
before_agent(struct turn *turn)
{
	return lua_node_hook(turn, HOOK_BEFORE_AGENT);
}

static const struct value *
before_model(struct turn *turn)
{
	return lua_node_hook(turn, HOOK_BEFORE_MODEL);
}

static const struct value *
after_model(struct turn *turn)
{
	return lua_node_hook(turn, HOOK_AFTER_MODEL);
}

static const struct value *
after_agent(struct turn *turn)
{
	return lua_node_hook(turn, HOOK_AFTER_AGENT);
}

const struct middleware middleware_lua = {
	.abi = MIDDLEWARE_ABI,
	.name = "lua",
	.summary = "a middleware of your own, written in Lua",
	.options = options,
	.configure = configure,
	.before_agent = before_agent,
	.before_model = before_model,
	.after_model = after_model,
	.after_agent = after_agent,
	.modify_model_request = lua_modify,
	.wrap_model_call = lua_wrap_model,
	.wrap_tool_call = lua_wrap_tool,
};
