/* rubric: work goes on until a grader finds that it fulfils a rubric (semantics.md 6.26). */
#include "rubric.h"

#include <string.h>

#define RUBRIC "rubric"
#define STATUS "_rubric_status"
#define ITERATIONS "_rubric_iterations"
#define EVALUATIONS "_rubric_evaluations"
#define GRADING_RUN "_current_grading_run_id"
#define ACTIVE "_active_rubric"

#define ITERATIONS_MAX 1000

static const struct option options[] = {
	{ .name = "model",
	    .type = OPTION_MODEL,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "The model that grades; null: the agent's." },
	{ .name = "system_prompt",
	    .type = OPTION_TEXT,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "What the grader is told to do, instead of the built-in "
		    "instructions." },
	{ .name = "max_iterations",
	    .type = OPTION_INTEGER,
	    .otherwise = "3",
	    .min = 1,
	    .max = ITERATIONS_MAX,
	    .text = "How often the work on one rubric is graded at most." },
	{ 0 },
};

#define PRIVATE .omit_from_input = true, .omit_from_output = true

static const struct field fields[] = {
	{ .name = RUBRIC, .type = "string" },
	{ .name = STATUS, .type = "string", PRIVATE },
	{ .name = ITERATIONS, .type = "integer", PRIVATE },
	{ .name = EVALUATIONS, .type = "array", .reducer = REDUCE_APPEND, PRIVATE },
	{ .name = GRADING_RUN, .type = "string", PRIVATE },
	{ .name = ACTIVE, .type = "string", PRIVATE },
	{ 0 },
};

/* The rubric of the run; NULL: there is nothing to grade. */
static const char *
rubric_of(struct turn *turn)
{
	const char *rubric = value_text(turn_get(turn, RUBRIC));

	return rubric != NULL && *rubric != '\0' ? rubric : NULL;
}

/* A grading goes on in the next run only where the last one ended in its middle. */
static const struct value *
before_agent(struct turn *turn)
{
	const char *rubric = rubric_of(turn);
	const struct value *status = turn_get(turn, STATUS);

	if (rubric == NULL)
		return NULL;
	if (value_text_is(turn_get(turn, ACTIVE), rubric) &&
	    (value_is_nil(status) || value_text_is(status, "needs_revision")))
		return NULL;
	return value_map(turn_arena(turn), ITERATIONS, value_int(turn_arena(turn), 0),
	    STATUS, value_nil(), GRADING_RUN, value_str(turn_arena(turn), turn_run(turn)),
	    ACTIVE, value_str(turn_arena(turn), rubric), NULL);
}

/* --- what follows --------------------------------------------------------------------- */

static const char *
gaps_of(struct arena *arena, const struct value *criteria)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i;

	for (i = 0; i < value_size(criteria); i++) {
		const struct value *criterion = value_at(criteria, i);
		const char *gap = value_get_text(criterion, "gap");

		if (value_get_bool(criterion, "passed", false))
			continue;
		text =
		    arena_printf(arena, "\n- %s%s%s", value_get_text(criterion, "name"),
			gap == NULL || *gap == '\0' ? "" : ": ", gap == NULL ? "" : gap);
		packet_append(&packet, text, strlen(text));
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return text;
}

/* What tells the model to go on. */
static const struct value *
feedback(struct arena *arena, const struct value *evaluation)
{
	const char *explanation = value_get_text(evaluation, "explanation");
	const char *gaps = gaps_of(arena, value_get(evaluation, "criteria"));
	const struct value *message = chat_human(arena,
	    arena_printf(arena,
		"Your work was graded against the rubric and is not done yet.%s%s%s%s\n\n"
		"Mend all of this, and answer again when the rubric is fulfilled.",
		*explanation == '\0' ? "" : "\n\nThe grader says: ", explanation,
		*gaps == '\0' ? "" : "\n\nWhat does not pass:", gaps));

	message = value_map_with(arena, message, "name", VALUE_TEXT(RUBRIC_SOURCE));
	return value_map_with(arena, message, "additional_kwargs",
	    value_map(arena, "lc_source", VALUE_TEXT(RUBRIC_SOURCE), NULL));
}

static const struct value *
evaluation_of(struct turn *turn, const struct value *verdict, int64_t iteration)
{
	struct arena *arena = turn_arena(turn);
	const struct value *grading_run = turn_get(turn, GRADING_RUN);
	const struct value *criteria = value_get(verdict, "criteria");
	const struct value *result = value_get(verdict, "result");

	if (value_text_is(result, "needs_revision") &&
	    iteration + 1 >= value_get_int(turn_settings(turn), "max_iterations", 1))
		result = VALUE_TEXT("max_iterations_reached");
	return value_map(arena, "grading_run_id",
	    value_is_nil(grading_run) ? value_str(arena, turn_run(turn)) : grading_run,
	    "iteration", value_int(arena, iteration), "result", result, "explanation",
	    value_get(verdict, "explanation"), "criteria",
	    value_is_nil(criteria) ? value_empty_array() : criteria, NULL);
}

static const struct value *
after_agent(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	const char *rubric = rubric_of(turn);
	int64_t iteration = value_whole(turn_get(turn, ITERATIONS), 0);
	const struct value *verdict, *evaluation, *update, *message;

	if (rubric == NULL)
		return NULL;
	verdict = rubric_grade(turn, rubric, iteration + 1);
	if (verdict == NULL)
		return NULL;
	evaluation = evaluation_of(turn, verdict, iteration);
	turn_note(turn, "%s: %s", value_get_text(evaluation, "result"),
	    value_get_text(evaluation, "explanation"));
	update = value_map(arena, STATUS, value_get(evaluation, "result"), ITERATIONS,
	    value_int(arena, iteration + 1), EVALUATIONS,
	    value_array(arena, &evaluation, 1), NULL);
	if (!value_text_is(value_get(evaluation, "result"), "needs_revision"))
		return update;
	message = feedback(arena, evaluation);
	return value_map_merge(arena, update,
	    value_map(arena, "messages", value_array(arena, &message, 1), "jump_to",
		VALUE_TEXT("model"), NULL));
}

const struct middleware middleware_rubric = {
	.abi = MIDDLEWARE_ABI,
	.name = "rubric",
	.summary = "lets a grader judge the work by a rubric, and has it revised",
	.options = options,
	.fields = fields,
	.jumps = { [HOOK_AFTER_AGENT] = JUMP_MODEL },
	.before_agent = before_agent,
	.after_agent = after_agent,
};
