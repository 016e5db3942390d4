/* openai_moderation: lets OpenAI's moderation judge what users, models and tools say (semantics.md
 * 6.17). The coordinator asks by way of a model worker, which has the key. */
#include "middleware.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "model_name.h"
#include "slot.h"
#include "turn_end.h"

#define ERROR "OpenAIModerationError"
#define MESSAGE                                                                          \
	"This conversation cannot go on as it was: the moderation has flagged it for "   \
	"{categories}."
#define NO_CATEGORY "a breach of the usage policies"

static const char *const exits[] = { "end", "error", "replace", NULL };

static const struct option options[] = {
	{ .name = "model",
	    .type = OPTION_TEXT,
	    .otherwise = "\"omni-moderation-latest\"",
	    .text =
		"Who judges; `provider:name` for another server of OpenAI's kind than "
		"`openai`." },
	{ .name = "check_input",
	    .type = OPTION_BOOL,
	    .otherwise = "true",
	    .text = "Has the last human message judged before each model call." },
	{ .name = "check_output",
	    .type = OPTION_BOOL,
	    .otherwise = "true",
	    .text = "Has the model's answer judged." },
	{ .name = "check_tool_results",
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "Has what tools answered judged before the model sees it." },
	{ .name = "exit_behavior",
	    .type = OPTION_TEXT,
	    .otherwise = "\"end\"",
	    .choices = exits,
	    .text =
		"What follows when something is flagged: `end` ends the run with an AI "
		"message that says so, `error` lets it fail, `replace` puts the "
		"violation message in the place of what was flagged and goes on." },
	{ .name = "violation_message",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "What is said then, with slots `{categories}`, `{category_scores}`, "
		    "`{original_content}`." },
	{ 0 },
};

/* --- settings ----------------------------------------------------------------------- */

static const char *
judge_of(struct arena *arena, const struct value *settings)
{
	const char *model = value_get_text(settings, "model");

	return strchr(model, ':') != NULL ? model
					  : arena_printf(arena, "openai:%s", model);
}

static bool
has(const struct turn *turn, const char *name)
{
	return value_get_bool(turn_settings((struct turn *)turn), name, false);
}

static bool
exits_by(const struct turn *turn, const char *behavior)
{
	return value_text_is(
	    value_get(turn_settings((struct turn *)turn), "exit_behavior"), behavior);
}

static bool
judges(const struct value *settings)
{
	return value_get_bool(settings, "check_input", false) ||
	       value_get_bool(settings, "check_output", false) ||
	       value_get_bool(settings, "check_tool_results", false);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *judge = value_str(arena, judge_of(arena, use->settings));
	const char *flaw = model_name_flaw(arena, judge);

	if (flaw != NULL) {
		*error_r = arena_printf(arena, "/model: %s", flaw);
		return -1;
	}
	if (judges(use->settings))
		use->asks_models = value_array(arena, &judge, 1);
	if (!value_text_is(value_get(use->settings, "exit_behavior"), "end"))
		use->jumps[HOOK_BEFORE_MODEL] = use->jumps[HOOK_AFTER_MODEL] = 0;
	return 0;
}

/* --- the verdict -------------------------------------------------------------------- */

/* What was flagged. */
struct violation {
	struct arena *arena;
	const char *content;
	const struct value *verdict;
};

static const char *
flagged_categories(const struct violation *violation)
{
	const struct value *categories = value_get(violation->verdict, "categories");
	const char *names = "";
	size_t i;

	for (i = 0; i < value_size(categories); i++)
		if (value_truthy(categories->pairs[i].value))
			names = arena_printf(violation->arena, "%s%s%s", names,
			    *names == '\0' ? "" : ", ",
			    value_text(categories->pairs[i].key));
	return *names == '\0' ? NO_CATEGORY : names;
}

static int
compare_names(const void *a, const void *b)
{
	const struct value_pair *one = a, *other = b;

	return strcmp(value_text(one->key), value_text(other->key));
}

static const char *
sorted_scores(const struct violation *violation)
{
	const struct value *scores = value_get(violation->verdict, "category_scores");
	size_t size = value_size(scores) * sizeof(struct value_pair);
	struct value_pair *pairs = arena_alloc(violation->arena, size);

	if (size > 0) {
		memcpy(pairs, scores->pairs, size);
		qsort(pairs, value_size(scores), sizeof *pairs, compare_names);
	}
	return json_text(
	    violation->arena, value_map_of(violation->arena, pairs, value_size(scores)));
}

static const char *
slot_value(void *arg, const char *name)
{
	const struct violation *violation = arg;

	if (strcmp(name, "categories") == 0)
		return flagged_categories(violation);
	if (strcmp(name, "category_scores") == 0)
		return sorted_scores(violation);
	return strcmp(name, "original_content") == 0 ? violation->content : NULL;
}

/* A template with slots that nobody knows is said as it is. */
static const char *
violation_message(struct turn *turn, struct violation *violation)
{
	const char *given = value_get_text(turn_settings(turn), "violation_message");
	const char *text = given != NULL ? given : MESSAGE, *filled;

	filled = slot_fill(violation->arena, text, "", slot_value, violation);
	return filled != NULL ? filled : text;
}

/* A model worker sends it, which may be of another version, or no moderation at all. */
static bool
is_verdict(const struct value *given)
{
	return value_is(value_get(given, "flagged"), VALUE_BOOL) &&
	       value_is(value_get(given, "categories"), VALUE_MAP) &&
	       value_is(value_get(given, "category_scores"), VALUE_MAP);
}

/* Returns 1 with the verdict when content is flagged, 0 when not, -1 when the hook is to return
 * NULL: nobody could say, or the run was cancelled. */
static int
judge(struct turn *turn, const char *content, const struct value **verdict_r)
{
	struct arena *arena = turn_arena(turn);
	const struct value *message = chat_human(arena, content), *body;
	const struct fault *fault;
	const char *text, *error;

	body = turn_call_model(
	    turn, value_map(arena, "model",
		      value_str(arena, judge_of(arena, turn_settings(turn))), "task",
		      VALUE_TEXT("moderation"), "messages",
		      value_array(arena, &message, 1), NULL));
	if (body == NULL)
		return -1;
	if (value_has(body, "fault")) {
		fault = fault_from_value(arena, value_get(body, "fault"));
		turn_fail(turn, fault->type, "moderation: %s", fault->message);
		return -1;
	}
	text = chat_text(arena, value_at(value_get(body, "messages"), 0));
	*verdict_r = json_parse(arena, text, strlen(text), &error);
	if (is_verdict(*verdict_r))
		return value_get_bool(*verdict_r, "flagged", true);
	turn_fail(turn, ERROR, "the moderation gave no verdict");
	return -1;
}

/* --- what follows ------------------------------------------------------------------- */

/* One hook at work. */
struct check {
	struct turn *turn;
	struct value_list replaced;
	const struct value *update; /* that ends the run, or NULL */
	bool stopped;
};

static void
act(struct check *check, const struct value *message, struct violation *violation)
{
	struct turn *turn = check->turn;
	const char *text = violation_message(turn, violation);

	if (exits_by(turn, "replace")) {
		value_list_add(
		    &check->replaced, value_map_with(violation->arena, message, "content",
					  value_str(violation->arena, text)));
		return;
	}
	check->stopped = true;
	if (exits_by(turn, "end"))
		check->update = turn_end(turn, "the moderation ended the run", text);
	else
		turn_fail(turn, ERROR, "%s", text);
}

static void
look(struct check *check, size_t index)
{
	struct turn *turn = check->turn;
	const struct value *message = value_at(turn_messages(turn), index);
	struct violation violation = { .arena = turn_arena(turn) };
	int flagged;

	violation.content = chat_text(violation.arena, message);
	if (check->stopped || *violation.content == '\0')
		return;
	flagged = judge(turn, violation.content, &violation.verdict);
	if (flagged == -1)
		check->stopped = true;
	else if (flagged == 1)
		act(check, message, &violation);
}

static const struct value *
end_check(const struct check *check)
{
	struct arena *arena = turn_arena(check->turn);
	struct value_list replaced = check->replaced;

	if (check->stopped)
		return check->update;
	if (replaced.count == 0)
		return NULL;
	return value_map(arena, "messages", value_list_end(&replaced), NULL);
}

static const struct value *
before_model(struct turn *turn)
{
	const struct value *messages = turn_messages(turn);
	struct check check = { .turn = turn, .replaced = { .arena = turn_arena(turn) } };
	long last = chat_last_ai(messages);
	size_t i;

	for (i = (size_t)last + 1; last != -1 && i < value_size(messages); i++)
		if (has(turn, "check_tool_results") &&
		    chat_is(value_at(messages, i), "tool"))
			look(&check, i);
	for (i = has(turn, "check_input") ? value_size(messages) : 0; i > 0; i--)
		if (chat_is(value_at(messages, i - 1), "human")) {
			look(&check, i - 1);
			break;
		}
	return end_check(&check);
}

static const struct value *
after_model(struct turn *turn)
{
	struct check check = { .turn = turn, .replaced = { .arena = turn_arena(turn) } };
	long last = chat_last_ai(turn_messages(turn));

	if (last == -1 || !has(turn, "check_output"))
		return NULL;
	look(&check, (size_t)last);
	return end_check(&check);
}

const struct middleware middleware_openai_moderation = {
	.abi = MIDDLEWARE_ABI,
	.name = "openai_moderation",
	.summary = "lets OpenAI's moderation judge what users, models and tools say",
	.options = options,
	.jumps = { [HOOK_BEFORE_MODEL] = JUMP_END, [HOOK_AFTER_MODEL] = JUMP_END },
	.configure = configure,
	.before_model = before_model,
	.after_model = after_model,
};
