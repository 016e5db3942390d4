/* token_budget: so many tokens, or so much money, and no more. What is used the coordinator counts, in the
 * step of each call (field.counts_usage); here it is only compared. */
#include "middleware.h"

#include <math.h>
#include <string.h>

#include "nearest.h"
#include "pointer.h"
#include "turn_end.h"

#define RUN_USED "run_token_usage"
#define THREAD_USED "thread_token_usage"

static const char *const exits[] = { "end", "error", NULL };
static const char *const unpriced[] = { "refuse", "free", NULL };

#define LIMIT_TEXT                                                                       \
	": total tokens, or a map of `input_tokens`, `output_tokens`, `total_tokens` "   \
	"and `cost` (US dollars), each of them a limit; null: none."

static const struct option options[] = {
	{ .name = "run_limit",
	    .type = OPTION_ANY,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "What a run may use" LIMIT_TEXT },
	{ .name = "thread_limit",
	    .type = OPTION_ANY,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "What all runs of a thread may use together" LIMIT_TEXT },
	{ .name = "exit_behavior",
	    .type = OPTION_TEXT,
	    .otherwise = "\"end\"",
	    .choices = exits,
	    .text = "Instead of a call behind the limit: `end` ends the run with an AI "
		    "message that says what was used, `error` lets it fail." },
	{ .name = "unpriced",
	    .type = OPTION_TEXT,
	    .otherwise = "\"refuse\"",
	    .choices = unpriced,
	    .text =
		"With a limit of `cost`, a model whose price is not known: `refuse` "
		"does not load the agent, or ends the run that has asked one, with an "
		"error; `free` counts it as nothing." },
	{ 0 },
};

static const struct field fields[] = {
	{ .name = RUN_USED,
	    .type = "object",
	    .untracked = true,
	    .omit_from_input = true,
	    .omit_from_output = true,
	    .counts_usage = true },
	{ .name = THREAD_USED,
	    .type = "object",
	    .omit_from_input = true,
	    .omit_from_output = true,
	    .counts_usage = true },
	{ 0 },
};

/* --- settings ----------------------------------------------------------------------- */

static const char *const measures[] = { "input_tokens", "output_tokens", "total_tokens",
	"cost" };
#define MEASURES (sizeof measures / sizeof *measures)
#define COST 3u

static const char *
measure_flaw(struct arena *arena, const char *name, const struct value_pair *pair)
{
	const char *near = nearest_name(pair->key->text, measures, MEASURES);
	const struct value *value = pair->value;
	size_t i;

	for (i = 0; i < MEASURES && !value_text_is(pair->key, measures[i]); i++)
		;
	if (i == MEASURES)
		return arena_printf(arena,
		    "/%s/%s: a limit is of input_tokens, output_tokens, total_tokens or "
		    "cost%s%s%s",
		    name, pair->key->text, near != NULL ? "; did you mean \"" : "",
		    near != NULL ? near : "", near != NULL ? "\"?" : "");
	if (i == COST &&
	    !(value_number(value, 0) > 0 && isfinite(value_number(value, 0))))
		return arena_printf(
		    arena, "/%s/cost: must be a number of US dollars above 0", name);
	if (i != COST && !(value_is(value, VALUE_INT) && value->integer > 0))
		return arena_printf(
		    arena, "/%s/%s: must be a whole number from 1 on", name, measures[i]);
	return NULL;
}

/* Returns the limit of that name as a map, empty for none; NULL with *error_r. */
static const struct value *
limit_of(struct arena *arena, const struct value *settings, const char *name,
    const char **error_r)
{
	const struct value *given = value_get(settings, name);
	size_t i;

	if (value_is_nil(given))
		return value_empty_map();
	if (value_is(given, VALUE_INT))
		given = value_map(arena, "total_tokens", given, NULL);
	*error_r = NULL;
	if (!value_is(given, VALUE_MAP) || given->size == 0)
		*error_r = arena_printf(arena,
		    "/%s: must be a number of tokens, or a map as in {total_tokens: "
		    "20000, cost: 0.5}, not %s",
		    name,
		    value_is(given, VALUE_MAP) ? "an empty map"
					       : value_article_name(given));
	for (i = 0; *error_r == NULL && i < given->size; i++)
		*error_r = measure_flaw(arena, name, &given->pairs[i]);
	return *error_r == NULL ? given : NULL;
}

static bool
limits_cost(const struct value *settings)
{
	return value_has(value_get(settings, "run_limit"), "cost") ||
	       value_has(value_get(settings, "thread_limit"), "cost");
}

static bool
is_refused(const struct value *settings)
{
	return value_text_is(value_get(settings, "unpriced"), "refuse");
}

static bool
has_price(const struct value *profile)
{
	double dollars;

	return model_profile_cost(profile, NULL, &dollars);
}

/* The agent's own model; others are known when they are asked. */
static int
check_price(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	if (use->agent_model == NULL || !limits_cost(use->settings) ||
	    !is_refused(use->settings) || has_price(use_model_profile(arena, use, NULL)))
		return 0;
	*error_r = arena_printf(arena,
	    "/unpriced: the price of %s is not known: give it (cost: {input, output}) in "
	    "the agent's model_profile or in the fleet's table of models, or set "
	    "unpriced: "
	    "free",
	    use->agent_model);
	return -1;
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *run = limit_of(arena, use->settings, "run_limit", error_r);
	const struct value *thread =
	    run == NULL ? NULL : limit_of(arena, use->settings, "thread_limit", error_r);

	if (thread == NULL)
		return -1;
	if (value_size(run) == 0 && value_size(thread) == 0) {
		*error_r = "/run_limit: a budget needs run_limit, thread_limit or both";
		return -1;
	}
	use->settings = value_map_with(
	    arena, use->settings, "run_limit", value_size(run) > 0 ? run : value_nil());
	use->settings = value_map_with(arena, use->settings, "thread_limit",
	    value_size(thread) > 0 ? thread : value_nil());
	/* What nobody asks for need not be counted. */
	if (value_size(run) == 0)
		use->fields++;
	if (value_size(run) == 0 || value_size(thread) == 0)
		use->field_count--;
	if (value_text_is(value_get(use->settings, "exit_behavior"), "error"))
		use->jumps[HOOK_BEFORE_MODEL] = use->jumps[HOOK_AFTER_MODEL] = 0;
	return check_price(arena, use, error_r);
}

/* --- what was used ------------------------------------------------------------------ */

static double
tokens_used(const struct value *used, const char *measure)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < value_size(used); i++)
		sum += value_get_number(used->pairs[i].value, measure, 0);
	return sum;
}

/* What a turn finds. */
struct finding {
	struct turn *turn;
	const char *reached; /* limits, as a text; "" when there is room */
	const char *unknown; /* a model that was asked and has no price, or NULL */
};

static double
dollars_used(struct finding *finding, const struct value *used)
{
	double sum = 0, dollars;
	size_t i;

	for (i = 0; i < value_size(used); i++) {
		const char *model = used->pairs[i].key->text;

		if (model_profile_cost(turn_model_profile(finding->turn, model),
			used->pairs[i].value, &dollars))
			sum += dollars;
		else
			finding->unknown = model;
	}
	return sum;
}

/* Compares one limit with used. */
static void
compare_one(struct finding *finding, const char *whose, const struct value_pair *limit,
    const struct value *used)
{
	struct arena *arena = turn_arena(finding->turn);
	const char *comma = finding->reached[0] == '\0' ? "" : ", ";
	const char *measure = limit->key->text;
	double most = value_number(limit->value, 0), now;

	if (strcmp(measure, measures[COST]) == 0) {
		now = dollars_used(finding, used);
		if (now >= most)
			finding->reached =
			    arena_printf(arena, "%s%s%s limit of cost ($%.6g of $%.6g)",
				finding->reached, comma, whose, now, most);
		return;
	}
	now = tokens_used(used, measure);
	if (now >= most)
		finding->reached =
		    arena_printf(arena, "%s%s%s limit of %s (%.0f of %.0f)",
			finding->reached, comma, whose, measure, now, most);
}

static void
compare(
    struct finding *finding, const char *whose, const char *setting, const char *field)
{
	const struct value *limit = value_get(turn_settings(finding->turn), setting);
	const struct value *used = turn_get(finding->turn, field);
	size_t i;

	for (i = 0; i < value_size(limit); i++)
		compare_one(finding, whose, &limit->pairs[i], used);
}

/* --- hooks -------------------------------------------------------------------------- */

static const struct value *
stop(struct turn *turn, const char *reached)
{
	struct arena *arena = turn_arena(turn);

	turn_note(turn, "%s reached", reached);
	if (value_text_is(value_get(turn_settings(turn), "exit_behavior"), "error"))
		return turn_fail(turn, "TokenBudgetExceededError",
		    "the token budget is used up: %s", reached);
	return turn_end(turn, "the token budget is used up and the run ends",
	    arena_printf(arena, "The token budget is used up: %s.", reached));
}

/* Returns the limits that are reached, "" for none; NULL: the run has failed. */
static const char *
limits_reached(struct turn *turn)
{
	struct finding finding = { .turn = turn, .reached = "" };

	compare(&finding, "run", "run_limit", RUN_USED);
	compare(&finding, "thread", "thread_limit", THREAD_USED);
	if (finding.unknown == NULL || !is_refused(turn_settings(turn)))
		return finding.reached;
	turn_fail(turn, "ValueError",
	    "token_budget limits the cost, and the price of %s, which was asked, is not "
	    "known: give it in the fleet's table of models, or set unpriced: free",
	    finding.unknown);
	return NULL;
}

static const struct value *
before_model(struct turn *turn)
{
	const char *reached = limits_reached(turn);

	return reached == NULL || reached[0] == '\0' ? NULL : stop(turn, reached);
}

/* Without room for another model call nobody would read what tools give: they do not run. An answer
 * that calls none is the end anyway. */
static const struct value *
after_model(struct turn *turn)
{
	const struct value *open =
	    chat_pending_calls(turn_arena(turn), turn_messages(turn));

	return value_size(open) == 0 ? NULL : before_model(turn);
}

const struct middleware middleware_token_budget = {
	.abi = MIDDLEWARE_ABI,
	.name = "token_budget",
	.summary = "ends a run or fails it when it has used its tokens or its money",
	.options = options,
	.fields = fields,
	.jumps = { [HOOK_BEFORE_MODEL] = JUMP_END, [HOOK_AFTER_MODEL] = JUMP_END },
	.configure = configure,
	.before_model = before_model,
	.after_model = after_model,
};
