#include "chain_play.h"

#include <check.h>
#include <string.h>

#include "literal.h"

static const char *
next_outcome(struct play *play)
{
	ck_assert_uint_lt(play->count, PLAY_OUTCOMES_MAX);
	return play->outcomes[play->count++];
}

/* "!Type text" */
static const struct fault *
fault_of(struct arena *arena, const char *outcome)
{
	return fault_new(arena, arena_copy(arena, outcome + 1, strcspn(outcome, " ") - 1),
	    "%s", strchr(outcome, ' ') + 1);
}

/* --- models ------------------------------------------------------------------------- */

static struct model_response *
on_send(void *arg, struct model_request *sent, unsigned attempt, const char *tag)
{
	struct play *play = arg;
	struct arena *arena = play->arena;
	const char *outcome = next_outcome(play);

	stub_log_add("send");
	play->tag = tag;
	play->attempt = attempt;
	play->seen = value_map(arena, "model", value_str(arena, model_name(sent)),
	    "system", value_str(arena, model_system_prompt(sent)), "messages",
	    model_messages(sent), "tools", model_tools(sent), "choice",
	    model_tool_choice(sent), "format", model_response_format(sent), "settings",
	    model_model_settings(sent), NULL);
	if (outcome == NULL)
		return model_answer(sent, value_str(arena, "ok"));
	if (outcome[0] == '-')
		return NULL;
	if (outcome[0] == '!')
		return model_fail(sent, fault_of(arena, outcome));
	return model_answer(sent, outcome[0] == '{' && outcome[1] == '\''
				      ? literal(arena, outcome)
				      : value_str(arena, outcome));
}

static bool
on_gives_structured_output(void *arg, const char *model, bool with_tools)
{
	const struct play *play = arg;

	return play->capable != NULL && strcmp(play->capable, model) == 0 && !with_tools;
}

static uint64_t
on_left(void *arg)
{
	const struct play *play = arg;

	return play->left_ms == 0 ? UINT64_MAX : play->left_ms;
}

const struct value *
play_model(struct play *play, const struct chain *chain)
{
	const struct model_backend backend = { .send = on_send,
		.left_ms = on_left,
		.gives_structured_output = on_gives_structured_output,
		.arg = play };

	return chain_model_call(
	    play->arena, chain, play->profile, play->request, &backend);
}

/* --- tools -------------------------------------------------------------------------- */

static struct tool_result *
asked(struct tool_request *call, const struct value *question)
{
	const struct value *answer = tool_interrupt(call, question);

	return answer == NULL ? NULL : tool_answer(call, value_text(answer), "success");
}

static struct tool_result *
result_of(struct play *play, struct tool_request *call, const char *outcome)
{
	struct arena *arena = play->arena;

	if (outcome == NULL)
		return tool_answer(call,
		    arena_printf(arena, "%g", value_get_number(tool_args(call), "a", -1)),
		    "success");
	if (outcome[0] == '!')
		return tool_fail(call, fault_of(arena, outcome));
	if (outcome[0] == '-')
		return NULL;
	if (outcome[0] == '?')
		return asked(call, value_str(arena, outcome + 1));
	return tool_command(call, literal(arena, outcome));
}

static int
on_run(void *arg, struct tool_request *call, struct tool_result **result_r)
{
	struct play *play = arg;
	const char *outcome = next_outcome(play);

	if (outcome != NULL && strcmp(outcome, "none") == 0)
		return -1;
	stub_log_add("tool");
	play->ran =
	    arena_printf(play->arena, "%s %s", tool_name(call), tool_call_id(call));
	*result_r = result_of(play, call, outcome);
	return 0;
}

/* This worker has one more tool. */
static const struct value *
on_find(void *arg, const char *name)
{
	const struct play *play = arg;

	return strcmp(name, "mul") == 0 ? literal(play->arena, "{'name': 'mul'}") : NULL;
}

const struct value *
play_tool(struct play *play, const struct chain *chain)
{
	const struct tool_backend backend = {
		.run = on_run,
		.find = on_find,
		.call_model = play->call_model,
		.left_ms = on_left,
		.arg = play,
	};

	return chain_tool_call(
	    play->arena, chain, play->profile, play->request, "key-1", &backend);
}
