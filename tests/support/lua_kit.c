#include "lua_kit.h"

#include <check.h>

#include "literal.h"
#include "registry.h"

static const struct middleware_use *
make(struct arena *arena, const char *code, const char *settings, const char **path_r,
    const char **error_r)
{
	const struct value *map =
	    settings == NULL ? value_empty_map() : literal(arena, settings);

	return registry_use(arena, "lua",
	    value_map_with(arena, map, "code", value_str(arena, code)), path_r, error_r);
}

const struct middleware_use *
lua_use(struct arena *arena, const char *code, const char *settings)
{
	const char *path = "", *error = "";
	const struct middleware_use *use = make(arena, code, settings, &path, &error);

	ck_assert_msg(use != NULL, "%s: %s\n%s", path, error, code);
	return use;
}

const char *
lua_refusal(struct arena *arena, const char *code, const char *settings)
{
	const char *path = "", *error = "";

	ck_assert_msg(make(arena, code, settings, &path, &error) == NULL,
	    "nobody minds this:\n%s", code);
	return arena_printf(arena, "%s: %s", path, error);
}

const struct value *
lua_turn(struct arena *arena, const struct middleware_use *use, enum hook hook,
    const char *state)
{
	const struct value *all = literal(arena, state), *update;
	struct turn turn = { .arena = arena,
		.use = use,
		.messages = value_get(all, "messages"),
		.state = value_map_with(arena, all, "messages", NULL),
		.context = literal(arena, "{'user': 'u'}"),
		.run = "r",
		.thread = "t",
		.agent = "helper",
		.tenant = "acme" };

	if (turn.messages == NULL)
		turn.messages = value_empty_array();
	update = chain_node_hook(&turn, hook);
	if (turn.fault == NULL)
		return update;
	return value_map(arena, "fault",
	    value_printf(arena, "%s: %s", turn.fault->type, turn.fault->message), NULL);
}
