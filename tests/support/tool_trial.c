#include "tool_trial.h"

#include <check.h>
#include <string.h>

#include "chain.h"
#include "chat.h"
#include "fiber.h"
#include "json.h"
#include "loop.h"

#define LOOK_MS 5

void
tool_trial_open(struct tool_trial *trial)
{
	*trial = (struct tool_trial){ .loop = loop_new(), .arena = arena_new() };
}

void
tool_trial_close(struct tool_trial *trial)
{
	arena_destroy(&trial->arena);
	loop_destroy(&trial->loop);
}

static int
on_run(void *arg, struct tool_request *request, struct tool_result **result_r)
{
	struct tool_trial *trial = arg;

	if (trial->run == NULL)
		return -1;
	*result_r = trial->run(trial->arg, request);
	return 0;
}

static uint64_t
on_left(void *arg)
{
	const struct tool_trial *trial = arg;

	return trial->left_ms == 0 ? UINT64_MAX : trial->left_ms;
}

static bool
on_streams(void *arg)
{
	return ((const struct tool_trial *)arg)->listens;
}

static void
on_stream(void *arg, const char *middleware, const struct value *value)
{
	struct tool_trial *trial = arg;

	(void)middleware;
	trial->told.arena = trial->arena;
	value_list_add(&trial->told, value_copy(trial->arena, value));
}

static const struct value *
call_of(const struct tool_trial *trial)
{
	struct arena *arena = trial->arena;

	return value_map(arena, "name", value_get(trial->definition, "name"), "args",
	    trial->args, "id", value_str(arena, "call_7"), "type",
	    value_str(arena, "tool_call"), NULL);
}

static void
trial_main(void *arg)
{
	static const struct chain empty;
	struct tool_trial *trial = arg;
	struct arena *arena = trial->arena;
	const struct tool_backend backend = { .run = on_run,
		.arg = trial,
		.worker = "this",
		.left_ms = on_left,
		.streams = on_streams,
		.stream = on_stream };

	trial->body = chain_tool_call(arena, trial->chain == NULL ? &empty : trial->chain,
	    value_empty_map(),
	    value_map(arena, "run", value_str(arena, "run_1"), "thread",
		value_str(arena, "thread_1"), "tool_call", call_of(trial), "tool",
		trial->definition, "answers", trial->answers, "state", trial->state,
		"context", trial->context, "internal",
		trial->internal == NULL ? NULL : value_str(arena, trial->internal), NULL),
	    "run_1/3/call_7", &backend);
	trial->fiber = NULL;
}

static void
look(void *arg)
{
	struct tool_trial *trial = arg;

	if (trial->fiber != NULL && trial->cancels != NULL && trial->cancels(trial->arg))
		fiber_cancel(trial->fiber);
}

static bool
has_ended(void *arg)
{
	const struct tool_trial *trial = arg;

	return trial->fiber == NULL;
}

void
tool_trial_call(
    struct tool_trial *trial, const struct value *definition, const char *args)
{
	struct timer *timer = timer_start(trial->loop, LOOK_MS, LOOK_MS, look, trial);
	const char *error;

	trial->definition = definition;
	trial->args = json_parse(trial->arena, args, strlen(args), &error);
	ck_assert_msg(trial->args != NULL, "%s: %s", args, error);
	trial->fiber = fiber_start(trial->loop, "trial", trial_main, trial);
	ck_assert_ptr_nonnull(trial->fiber);
	loop_run_until(trial->loop, has_ended, trial);
	timer_stop(&timer);
	ck_assert_ptr_nonnull(trial->body);
}

const char *
tool_trial_answer(const struct tool_trial *trial, const char *status)
{
	const struct value *command = value_at(value_get(trial->body, "commands"), 0);
	const struct value *message =
	    value_at(value_get(value_get(command, "update"), "messages"), 0);

	ck_assert_msg(
	    message != NULL, "no answer: %s", json_text(trial->arena, trial->body));
	ck_assert_str_eq(value_get_text(message, "status"), status);
	ck_assert_str_eq(value_get_text(message, "tool_call_id"), "call_7");
	return chat_text(trial->arena, message);
}

const struct fault *
tool_trial_fault(const struct tool_trial *trial)
{
	const struct value *fault = value_get(trial->body, "fault");

	ck_assert_msg(
	    fault != NULL, "no fault: %s", json_text(trial->arena, trial->body));
	return fault_from_value(trial->arena, fault);
}
