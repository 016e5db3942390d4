/* tool_call_limit: so many calls of tools, or of one tool, and no more (semantics.md 6.3). */
#include "limit.h"

#include "bounds.h"

#define THREAD_COUNT "thread_tool_call_count"
#define RUN_COUNT "run_tool_call_count"
#define ALL "__all__" /* the counters' key of a limit without tool_name */

static const char *const exits[] = { "continue", "end", "error", NULL };

static const struct option options[] = {
	{ .name = "tool_name",
	    .type = OPTION_TEXT,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "Calls of this tool only; null: of all tools together." },
#include "limit_options.def"
	{ .name = "exit_behavior",
	    .type = OPTION_TEXT,
	    .otherwise = "\"continue\"",
	    .choices = exits,
	    .text = "What a call too many does instead of being run: `continue` answers "
		    "it with an error message and the run goes on, `end` answers all "
		    "open calls and ends the run with an AI message that says so, "
		    "`error` lets it fail." },
	{ 0 },
};

/* One entry a limit of the agent: tool or "__all__" -> calls. */
static const struct field fields[] = {
	{ .name = THREAD_COUNT,
	    .type = "object",
	    .reducer = REDUCE_MERGE,
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ .name = RUN_COUNT,
	    .type = "object",
	    .reducer = REDUCE_MERGE,
	    .untracked = true,
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ 0 },
};

static int
check_name(struct arena *arena, const struct value *name, const char **error_r)
{
	uint32_t i;

	if (name->size == 0 || name->size > ID_BYTES_MAX) {
		*error_r = arena_printf(arena,
		    "/tool_name: must be the name of a tool, 1 to %u bytes",
		    (unsigned)ID_BYTES_MAX);
		return -1;
	}
	for (i = 0; i < name->size; i++) {
		if ((unsigned char)name->text[i] > ' ' && name->text[i] != 0x7f)
			continue;
		*error_r = "/tool_name: must be the name of a tool, without spaces and "
			   "control characters";
		return -1;
	}
	return 0;
}

/* Several in one agent are told apart by their tools. */
static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	struct limit_pair limits = limit_pair_of(use->settings);
	const struct value *name = value_get(use->settings, "tool_name");

	if (!value_text_is(value_get(use->settings, "exit_behavior"), "end"))
		use->jumps[HOOK_AFTER_MODEL] = 0;
	if (!value_is_nil(name)) {
		if (check_name(arena, name, error_r) == -1)
			return -1;
		use->name = arena_printf(arena, "%s[%s]", use->type->name, name->text);
	}
	if (limits.thread != LIMIT_NONE && limits.run > limits.thread) {
		*error_r = arena_printf(arena,
		    "/run_limit: must not be more than thread_limit, which is %lld",
		    (long long)limits.thread);
		return -1;
	}
	return limit_configure(use, error_r);
}

/* --- counting ----------------------------------------------------------------------- */

/* What one limit makes of the calls of one message. */
struct verdict {
	const char *tool; /* or NULL: all */
	struct limit_pair limits;
	struct limit_pair before;   /* counted up to the message */
	int64_t allowed, blocked;   /* calls of it */
	struct value_list refusals; /* ids of the blocked ones */
};

static int64_t
count_of(struct turn *turn, const char *field, const char *key)
{
	return value_whole(value_get(turn_get(turn, field), key), 0);
}

static void
judge(struct verdict *verdict, const struct value *call)
{
	const struct limit_pair next = { verdict->before.thread + verdict->allowed + 1,
		verdict->before.run + verdict->allowed + 1 };

	if (verdict->tool != NULL &&
	    !value_text_is(value_get(call, "name"), verdict->tool))
		return;
	if (limit_exceeded(verdict->limits, next)) {
		verdict->blocked++;
		value_list_add(&verdict->refusals, value_get(call, "id"));
	} else {
		verdict->allowed++;
	}
}

static const char *
key_of(const struct verdict *verdict)
{
	return verdict->tool != NULL ? verdict->tool : ALL;
}

static void
judge_all(struct verdict *verdict, struct turn *turn)
{
	const struct value *calls = turn_tool_calls(turn);
	const struct value *settings = turn_settings(turn);
	size_t i;

	*verdict = (struct verdict){
		.tool = value_get_text(settings, "tool_name"),
		.limits = limit_pair_of(settings),
		.refusals = { .arena = turn_arena(turn) },
	};
	verdict->before.thread = count_of(turn, THREAD_COUNT, key_of(verdict));
	verdict->before.run = count_of(turn, RUN_COUNT, key_of(verdict));
	for (i = 0; i < value_size(calls); i++)
		judge(verdict, value_at(calls, i));
}

/* As if all had been run: what is told. */
static struct limit_pair
wanted(const struct verdict *verdict)
{
	int64_t calls = verdict->allowed + verdict->blocked;

	return (struct limit_pair){ verdict->before.thread + calls,
		verdict->before.run + calls };
}

/* --- answering ---------------------------------------------------------------------- */

static bool
is_refused(const struct verdict *verdict, const struct value *id)
{
	size_t i;

	for (i = 0; i < verdict->refusals.count; i++)
		if (value_equal(verdict->refusals.items[i], id))
			return true;
	return false;
}

static const char *
refusal_text(struct arena *arena, const struct verdict *verdict, const char *name)
{
	if (verdict->tool == NULL)
		return arena_printf(arena,
		    "Error: the limit of tool calls is reached, and this call of '%s' "
		    "was "
		    "not executed. Do not call any tool again.",
		    name);
	return arena_printf(arena,
	    "Error: the limit of calls of '%s' is reached, and this one was not "
	    "executed. Do not call '%s' again.",
	    name, name);
}

/* Answers the refused calls that are still open (another limit, or a human, may have
 * answered one), and all other open ones when the run ends. */
static void
answer_calls(struct turn *turn, const struct verdict *verdict, bool ends,
    struct value_list *messages)
{
	struct arena *arena = turn_arena(turn);
	const struct value *open = chat_pending_calls(arena, turn_messages(turn));
	size_t i;

	for (i = 0; i < value_size(open); i++) {
		const struct value *id = value_get(value_at(open, i), "id");
		const char *name = value_get_text(value_at(open, i), "name"), *text;

		if (is_refused(verdict, id))
			text = refusal_text(arena, verdict, name);
		else if (ends)
			text = arena_printf(arena,
			    "Error: this call of '%s' was not executed: the run ends at "
			    "a limit of tool calls.",
			    name);
		else
			continue;
		value_list_add(
		    messages, chat_tool(arena, text, value_text(id), name, "error"));
	}
}

/* A limit that all calls would just have come to blocks none. */
static const char *
end_text(struct arena *arena, const struct verdict *verdict)
{
	struct limit_pair limits = verdict->limits, used = wanted(verdict);
	const char *reached;

	if (used.thread == limits.thread)
		limits.thread = LIMIT_NONE;
	if (used.run == limits.run)
		limits.run = LIMIT_NONE;
	reached = limit_text(arena, limits, used);
	if (verdict->tool == NULL)
		return arena_printf(
		    arena, "The limit of tool calls is reached: %s.", reached);
	return arena_printf(
	    arena, "The limit of calls of '%s' is reached: %s.", verdict->tool, reached);
}

/* Where the run ends none of the calls is run: the thread has not used them up. */
static const struct value *
make_update(struct turn *turn, const struct verdict *verdict, bool ends,
    struct value_list *messages)
{
	struct arena *arena = turn_arena(turn);
	const char *key = key_of(verdict);
	int64_t thread = verdict->before.thread + (ends ? 0 : verdict->allowed);

	return value_map(arena, THREAD_COUNT,
	    value_map(arena, key, value_int(arena, thread), NULL), RUN_COUNT,
	    value_map(arena, key, value_int(arena, wanted(verdict).run), NULL),
	    "messages", messages->count > 0 ? value_list_end(messages) : NULL, "jump_to",
	    ends ? value_str(arena, "end") : NULL, NULL);
}

static const struct value *
block(struct turn *turn, const struct verdict *verdict)
{
	struct arena *arena = turn_arena(turn);
	const struct value *exit = value_get(turn_settings(turn), "exit_behavior");
	struct value_list messages = { .arena = arena };
	bool ends = value_text_is(exit, "end");
	const char *text = end_text(arena, verdict);

	turn_note(turn, "%s", text);
	if (value_text_is(exit, "error"))
		return turn_fail(turn, "ToolCallLimitExceededError", "%s", text);
	answer_calls(turn, verdict, ends, &messages);
	if (ends)
		value_list_add(&messages, chat_ai(arena, text));
	return make_update(turn, verdict, ends, &messages);
}

static const struct value *
after_model(struct turn *turn)
{
	struct value_list none = { .arena = turn_arena(turn) };
	struct verdict verdict;

	judge_all(&verdict, turn);
	if (verdict.blocked > 0)
		return block(turn, &verdict);
	return verdict.allowed > 0 ? make_update(turn, &verdict, false, &none) : NULL;
}

const struct middleware middleware_tool_call_limit = {
	.abi = MIDDLEWARE_ABI,
	.name = "tool_call_limit",
	.summary = "answers, ends or fails where a run calls tools too often",
	.options = options,
	.fields = fields,
	.jumps = { [HOOK_AFTER_MODEL] = JUMP_END },
	.configure = configure,
	.after_model = after_model,
};
