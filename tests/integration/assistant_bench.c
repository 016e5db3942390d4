#include "assistant_bench.h"

#include <check.h>

#include "../../cli/command.h"

static struct fleet_up *const fleet = &serve_bench.fleet;

/* Says what its context has. */
static const char teller_text[] =
    "name: teller\n"
    "description: tells its context\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - lua:\n"
    "      name: tell\n"
    "      code: |\n"
    "        before_model = {\n"
    "          can_jump_to = {'end'},\n"
    "          run = function(state, runtime)\n"
    "            local c = runtime.context or {}\n"
    "            local text = tostring(c.tone) .. ' ' .. tostring(c.n)\n"
    "            return {messages = {{role = 'assistant', content = text}},\n"
    "              jump_to = 'end'}\n"
    "          end,\n"
    "        }\n"
    "script: {m: [{content: Hi.}]}\n";

void
ab_apply_teller(void)
{
	fleet_up_write(fleet, "teller.yaml", teller_text);
	ck_assert_int_eq(
	    CLI(&fleet->flotilla, "agents", "apply", "teller.yaml").status, STATUS_OK);
}

void
ab_open(void)
{
	serve_open();
	ab_apply_teller();
}

const struct value *
ab_ask(const char *method, const char *path, const char *body, long status)
{
	struct serve_answer answer = ASK(.method = method, .path = path,
	    .body = body != NULL ? serve_text("%s", body) : NULL);

	ck_assert_msg(answer.status == status, "%s %s %s: %ld: %s", method, path,
	    body != NULL ? body : "", answer.status, answer.body);
	return answer.json;
}

const char *
ab_path(const char *id, const char *rest)
{
	return arena_printf(fleet->arena, "/assistants/%s%s", id, rest);
}

const char *
ab_create(const char *keys)
{
	const struct value *made = ab_ask("POST", "/assistants",
	    arena_printf(fleet->arena, "{'graph_id': 'teller'%s%s}",
		*keys != '\0' ? ", " : "", keys),
	    200);

	return value_get_text(made, "assistant_id");
}

const char *
ab_said(const char *path, const char *id, const char *keys)
{
	return serve_last_text(ab_ask("POST", path,
	    arena_printf(fleet->arena, "{'assistant_id': '%s', " HI "%s}", id, keys),
	    200));
}

void
ab_check(const struct value *map, const char *name, const char *text)
{
	ck_assert_pstr_eq(value_get_text(map, name), text);
}
