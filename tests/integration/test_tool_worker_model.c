/* A middleware of a tool worker asks a model. */
#include <check.h>
#include <string.h>

#include "chat.h"
#include "tool_bench.h"
#include "worker.h"

TCase *tcase_tool_worker_model(void);

static struct tool_bench bench;
static struct worker *model;
static bool model_has_ended;

static void
set_up(void)
{
	tool_bench_start(&bench);
}

static void
tear_down(void)
{
	tool_bench_stop(&bench);
}

/* Answers with what it was asked. */
static const struct value *
answer_as_model(void *arg, struct worker_call *call)
{
	struct arena *arena = call->arena;
	const struct value *question = value_at(value_get(call->request, "messages"), 0);
	const struct value *message = chat_ai(arena,
	    arena_printf(arena, "%s %s %s internal=%d left=%d: %s", call->header->call_id,
		value_get_text(call->profile, "model"),
		value_get_text(call->profile, "agent"),
		(call->header->flags & WIRE_INTERNAL) != 0,
		call->header->deadline_ms > 0 && call->header->deadline_ms <= 60000,
		chat_text(arena, question)));

	(void)arg;
	return value_map(arena, "messages", value_array(arena, &message, 1), NULL);
}

static void
on_drained(void *arg)
{
	(void)arg;
	model_has_ended = true;
}

static bool
model_is_gone(struct tool_bench *at)
{
	(void)at;
	return model_has_ended;
}

static const struct tool_call *
called_with_model(const char *middleware)
{
	const struct wire_service service = { "model:fake", 4 };
	const char *const endpoints[] = { tool_bench_endpoint(&bench), NULL };
	const char *wrong, *allowed;
	struct tool_call *call;

	model = worker_new(bench.loop,
	    &(struct worker_options){ .endpoints = endpoints,
		.name = "model",
		.services = &service,
		.service_count = 1,
		.capacity = 4,
		.answer = answer_as_model },
	    &wrong, &allowed);
	tool_bench_worker(&bench, 0,
	    arena_printf(
		bench.arena, "--plugin=%s", tool_bench_plugin(&bench, "asks_model.so")));
	call = tool_bench_begin_of(&bench, "tool:t", "t", "{}", middleware);
	tool_bench_await_all(&bench);
	worker_drain(model, 10000, on_drained, NULL);
	tool_bench_await(&bench, model_is_gone);
	worker_destroy(&model);
	return call;
}

START_TEST(a_middleware_asks_a_model_in_the_name_of_its_call)
{
	tool_bench_offer(&bench, "command: [cat]\n");
	ck_assert_str_eq(
	    tool_bench_content(&bench,
		called_with_model("[{\"name\": \"asks_model\", \"settings\": "
				  "{\"model\": \"fake:small\"}}]"),
		"success"),
	    "run_1.2.c1/m1 fake:small a internal=1 left=1: t");
}
END_TEST

START_TEST(a_middleware_that_names_no_model_is_told_so)
{
	tool_bench_offer(&bench, "command: [cat]\n");
	ck_assert_ptr_nonnull(strstr(
	    tool_bench_fault(&bench, called_with_model("[{\"name\": \"asks_model\"}]"))
		->message,
	    "named none"));
}
END_TEST

TCase *
tcase_tool_worker_model(void)
{
	TCase *tcase = tcase_create("tool_worker_model");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_middleware_asks_a_model_in_the_name_of_its_call);
	tcase_add_test(tcase, a_middleware_that_names_no_model_is_told_so);
	return tcase;
}
