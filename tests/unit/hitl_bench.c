#include "hitl_bench.h"

#include "json.h"
#include "literal.h"
#include "registry.h"

#define PROFILE                                                                          \
	"{'tools': [{'name': 'pay', 'parameters': " PAY_PARAMETERS "}, "                 \
	"{'name': 'mail', 'parameters': {'type': 'object'}}, "                           \
	"{'name': 'look', 'parameters': {'type': 'object'}}]}"

const struct middleware_use *
hitl_use_with(struct arena *arena, const struct value *settings)
{
	const char *path = "", *error = "";
	const struct middleware_use *use =
	    registry_use(arena, HITL, settings, &path, &error);

	ck_assert_msg(use != NULL, "%s: %s: %s", json_text(arena, settings), path, error);
	return use;
}

const struct middleware_use *
hitl_use(struct arena *arena, const char *settings)
{
	return hitl_use_with(arena, literal(arena, settings));
}

struct turned
hitl_turn(struct arena *arena, const struct middleware_use *use, const char *message,
    const char *state, const char *answer)
{
	struct turn turn = { .arena = arena,
		.use = use,
		.profile = literal(arena, PROFILE),
		.notes = { .arena = arena },
		.state = literal(arena, state),
		.context = literal(arena, "{'limit': 100}"),
		.messages = literal(
		    arena, arena_printf(arena, "[{'type': 'human', 'content': 'go'}, %s]",
			       message)) };
	struct turned turned;

	if (answer != NULL) {
		const struct value *one = literal(arena, answer);

		turn.interrupts.answers = value_array(arena, &one, 1);
	}
	turned.update = chain_node_hook(&turn, HOOK_AFTER_MODEL);
	turned.asked = turn.interrupts.asked;
	turned.about = turn.interrupts.about;
	turned.fault = turn.fault;
	return turned;
}
