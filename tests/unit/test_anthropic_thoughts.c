/* What was thought, and where it goes back in the words of Anthropic's Messages API. */
#include <check.h>

/* Interface under test */
#include "../../worker-model/anthropic_request.h"

#include "literal.h"

TCase *tcase_anthropic_thoughts(void);

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* By whom, whose model, who is asked for which, and whether it goes back: with a signature, and without. */
static const struct {
	const char *by, *model, *provider, *asked;
	bool is_signed, goes_back;
} thoughts[] = {
	{ "anthropic", "claude-x", "anthropic", "claude-x", true, true },
	{ "anthropic", "claude-x", "anthropic", "claude-x", false, false },
	{ "gateway", "eu.anthropic.claude-x", "anthropic", "claude-y", true, true },
	{ "gateway", "glm-5", "anthropic", "claude-x", true, false },
	{ "gateway", "glm-5", "gateway", "claude-x", false, false },
	/* Some that speak like Anthropic sign nothing, and want it back. */
	{ "gateway", "glm-5", "gateway", "glm-5", false, true },
	{ "anthropic", "mimo", "anthropic", "mimo", false, true },
	{ "other", "glm-5", "gateway", "glm-5", false, false },
	{ "other", "glm-5", "gateway", "kimi", true, false },
};

START_TEST(a_thought_goes_back_where_it_may_be_good)
{
	const struct value *given = literal(arena,
	    arena_printf(arena,
		"{'messages':[{'type':'ai','content':[{'type':'thinking','thinking':'hm',"
		"'signature':'%s'},{'type':'text','text':'a'}],'response_metadata':{"
		"'model_provider':'%s','model_name':'%s'}}]}",
		thoughts[_i].is_signed ? "S" : "", thoughts[_i].by, thoughts[_i].model));
	struct ask ask = { .arena = arena,
		.provider = thoughts[_i].provider,
		.model = thoughts[_i].asked,
		.messages = value_get(given, "messages") };
	const char *error = NULL;
	const struct value *sent;

	sent = value_get(anthropic_request(&ask, false, &error), "messages");
	ck_assert_uint_eq(value_size(value_get(value_at(sent, 0), "content")),
	    1 + thoughts[_i].goes_back);
}
END_TEST

TCase *
tcase_anthropic_thoughts(void)
{
	TCase *tcase = tcase_create("anthropic_thoughts");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_thought_goes_back_where_it_may_be_good, 0,
	    sizeof thoughts / sizeof *thoughts);
	return tcase;
}
