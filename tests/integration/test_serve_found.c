/* `flotilla serve` on a fleet: what searches of threads and agents find, and in which order. */
#include <check.h>
#include <stdlib.h>

#include "has.h"
#include "literal.h"
#include "serve_bench.h"

TCase *tcase_serve_found(void);

static struct fleet_up *const fleet = &serve_bench.fleet;

#define MARKED 3

/* Makes threads that are marked so; returns the mark. */
static const char *
mark_threads(const char *names_r[MARKED])
{
	const char *mark = serve_thread();
	size_t i;

	for (i = 0; i < MARKED; i++)
		names_r[i] = value_get_text(
		    serve_post("/threads",
			serve_text("{'metadata': {'mark': {'of': '%s', 'number': %zu, "
				   "'list': [1, {'a': 1, 'b': 2}]}}}",
			    mark, i),
			200),
		    "thread_id");
	return mark;
}

/* What a search of the threads that are so marked finds, with more in its body: "ab", the first of them and the second. */
static const char *
found(const char *const names[MARKED], const char *mark, const char *more)
{
	const struct value *list = serve_post("/threads/search",
	    serve_text("{'metadata': {'mark': {'of': '%s'%s}", mark, more), 200);
	char word[MARKED + 1] = { 0 };
	size_t i, j;

	ck_assert_uint_le(value_size(list), MARKED);
	for (i = 0; i < value_size(list); i++)
		for (j = 0; j < MARKED; j++)
			if (value_text_is(
				value_get(value_at(list, i), "thread_id"), names[j]))
				word[i] = (char)('a' + (int)j);
	return arena_strdup(fleet->arena, word);
}

START_TEST(threads_come_in_the_order_that_is_asked_for)
{
	static const struct {
		const char *more, *found;
	} orders[] = {
		{ "}}", "cba" },
		{ "}}, 'sort_order': 'asc'", "abc" },
		{ "}}, 'sort_by': 'updated_at'", "acb" },
		{ "}}, 'sort_by': 'updated_at', 'sort_order': 'asc'", "bca" },
		{ "}}, 'sort_by': 'state_updated_at', 'limit': 1, 'offset': 1", "c" },
		{ "}}, 'sort_by': 'status', 'sort_order': 'asc'", "bca" },
		{ "}}, 'sort_by': 'thread_id', 'sort_order': 'asc'", "abc" },
		{ "}}, 'sort_by': 'created_at', 'offset': 2", "a" },
	};
	const char *names[MARKED], *mark = mark_threads(names);
	size_t i;

	serve_run_end(names[0], serve_run(names[0], "careful", ""));
	for (i = 0; i < sizeof orders / sizeof *orders; i++)
		ck_assert_str_eq(found(names, mark, orders[i].more), orders[i].found);
	serve_post("/threads/search", "{'sort_by': 'name'}", 422);
	serve_post("/threads/search", "{'sort_by': 1}", 422);
	serve_post("/threads/search", "{'sort_order': 'up'}", 422);
	serve_post("/threads/search", "{'status': 'lost'}", 422);
}
END_TEST

/* As PostgreSQL's @>, by which LangGraph's server looks. */
START_TEST(metadata_are_found_by_a_part_of_them)
{
	const char *names[MARKED], *mark = mark_threads(names);

	ck_assert_str_eq(found(names, mark, ", 'number': 1}}"), "b");
	ck_assert_str_eq(found(names, mark, ", 'list': [{'b': 2}]}}"), "cba");
	ck_assert_str_eq(found(names, mark, ", 'list': [1, 1]}}"), "cba");
	ck_assert_str_eq(found(names, mark, ", 'list': [2]}}"), "");
	ck_assert_str_eq(found(names, mark, ", 'list': 1}}"), "");
}
END_TEST

/* Begins a run with these keys in its body, on no thread or on that, and waits for its end. */
static void
run_to_end(const char *thread, const char *keys)
{
	const char *path =
	    thread == NULL ? "/runs/wait" : serve_text("/threads/%s/runs/wait", thread);

	serve_post(path, serve_text("{'assistant_id': 'quick', " HI ", %s}", keys), 200);
}

/* Of whose run it is that made it. */
START_TEST(a_thread_that_a_run_makes_is_found_by_its_metadata)
{
	const char *mark = serve_thread(), *chat = serve_text("%s-chat", mark);
	const char *late = serve_text("%s-late", mark), *own = serve_thread();
	const char *search = serve_text("{'metadata': {'user': '%s'}}", mark);
	const char *keys =
	    serve_text("'if_not_exists': 'create', 'metadata': {'user': '%s'}", mark);
	const struct value *list;

	run_to_end(chat, keys);
	run_to_end(chat, "'metadata': {'user': 'another'}");
	run_to_end(own, keys);
	list = serve_post("/threads/search", search, 200);
	ck_assert_uint_eq(value_size(list), 1);
	ck_assert_str_eq(value_get_text(value_at(list, 0), "thread_id"), chat);
	ck_assert(value_equal(value_get(value_at(list, 0), "metadata"),
	    literal(fleet->arena,
		serve_text("{'user': '%s', 'graph_id': 'quick', 'assistant_id': "
			   "'quick'}",
		    mark))));
	run_to_end(NULL, serve_text("%s, 'on_completion': 'keep'", keys));
	serve_post(serve_text("/threads/%s/runs", late),
	    serve_text(
		"{'assistant_id': 'quick', 'after_seconds': 3600, " HI ", %s}", keys),
	    200);
	list = serve_post("/threads/search", search, 200);
	ck_assert_uint_eq(value_size(list), 3);
	ck_assert_str_eq(value_get_text(value_at(list, 0), "thread_id"), late);
}
END_TEST

/* Also by those that came with its config. */
START_TEST(states_are_found_by_the_metadata_of_their_run)
{
	static const struct {
		const char *trace;
		bool is_there;
	} sought[] = { { "x", true }, { "y", false }, { "z", true } };
	const char *thread = serve_thread();
	size_t i;

	run_to_end(thread, "'config': {'metadata': {'trace': 'x'}}");
	run_to_end(
	    thread, "'config': {'metadata': {'trace': 'y'}}, 'metadata': {'trace': 'z'}");
	for (i = 0; i < sizeof sought / sizeof *sought; i++)
		ck_assert_int_eq(
		    value_size(serve_post(serve_text("/threads/%s/history", thread),
			serve_text("{'metadata': {'trace': '%s'}}", sought[i].trace),
			200)) > 0,
		    sought[i].is_there);
}
END_TEST

static void
assert_pages(const char *path, const char *body, const char *next, int64_t total)
{
	struct serve_answer answer = ASK(.path = path, .body = body);
	const char *said = serve_header(&answer, "X-Pagination-Next");

	ck_assert_int_eq(answer.status, 200);
	if (next == NULL)
		ck_assert_ptr_null(said);
	else
		ck_assert_pstr_eq(said, next);
	if (total >= 0)
		ck_assert_int_eq(
		    atoll(serve_header(&answer, "X-Pagination-Total")), total);
}

/* Clients go on until there is no next. */
START_TEST(a_search_says_where_it_goes_on)
{
	const char *names[MARKED], *mark = mark_threads(names);
	const char *body = serve_text("{'metadata': {'mark': {'of': '%s'}}", mark);
	int64_t agents = serve_post("/assistants/count", "{}", 200)->integer;
	const struct value *crons;
	int i;

	assert_pages("/threads/search", serve_text("%s, 'limit': 2}", body), "2", -1);
	assert_pages("/threads/search", serve_text("%s, 'limit': 3}", body), NULL, 3);
	assert_pages("/threads/search",
	    serve_text("%s, 'limit': 1, 'offset': 1, 'sort_by': 'status'}", body), "2",
	    3);
	assert_pages("/threads/search", "{'limit': 1}", "1", serve_thread_count());
	assert_pages("/assistants/search", "{'limit': 2, 'offset': 1}", "3", agents);
	assert_pages("/assistants/search", "{'limit': 1000}", NULL, agents);
	for (i = 0; i < 3; i++)
		serve_post("/runs/crons",
		    serve_text("{'assistant_id': 'quick', 'schedule': '@yearly', "
			       "'metadata': {'mark': '%s'}%s, " HI "}",
			mark, i == 1 ? ", 'end_time': '2100-01-01T00:00:00Z'" : ""),
		    200);
	body = serve_text("{'metadata': {'mark': '%s'}", mark);
	assert_pages("/runs/crons/search", serve_text("%s, 'limit': 2}", body), "2", 3);
	assert_pages("/runs/crons/search", serve_text("%s, 'offset': 1}", body), NULL, 3);
	crons = serve_post("/runs/crons/search",
	    serve_text("%s, 'sort_by': 'end_time', 'sort_order': 'asc'}", body), 200);
	ck_assert_ptr_nonnull(value_get_text(value_at(crons, 0), "end_time"));
}
END_TEST

START_TEST(values_of_a_thread_are_shown_by_their_paths)
{
	const char *thread = serve_thread();
	const struct value *shown;

	serve_run_end(thread, serve_run(thread, "quick", ""));
	shown = serve_post("/threads/search",
	    serve_text(
		"{'ids': ['%s'], 'select': ['status'], 'extract': {'last': "
		"'values.messages[-1].content', 'first': 'values.messages[0].type', "
		"'none': 'values.messages[9].content', 'agent': "
		"'metadata.graph_id', 'odd': 'values.messages[x'}}",
		thread),
	    200);
	ck_assert_value(fleet->arena, value_at(shown, 0),
	    "{'status': 'idle', 'extracted': {'last': 'First.', 'first': 'human', "
	    "'none': "
	    "null, 'agent': 'quick', 'odd': null}}");
	serve_post("/threads/search", "{'extract': {'a': 1}}", 422);
	serve_post("/threads/search", "{'extract': ['values']}", 422);
}
END_TEST

/* The names of the agents that a search finds, a blank behind each. */
static const char *
agents_found(const char *body)
{
	const struct value *list =
	    serve_post("/assistants/search", serve_text("%s", body), 200);
	const char *names = "";
	size_t i;

	for (i = 0; i < value_size(list); i++)
		names =
		    serve_text("%s%s ", names, value_get_text(value_at(list, i), "name"));
	return names;
}

START_TEST(agents_are_found_as_assistants_are)
{
	ck_assert_str_eq(agents_found("{'name': 'ALKE'}"), "talker ");
	ck_assert_str_eq(
	    agents_found("{'name': 'ER', 'sort_by': 'name', 'sort_order': 'asc'}"),
	    "approver hanger talker teller ");
	ck_assert_str_eq(agents_found("{'name': 'er', 'sort_by': 'name'}"),
	    "teller talker hanger approver ");
	ck_assert_str_eq(agents_found("{'name': 'talker', 'metadata': {'created_by': "
				      "'system'}}"),
	    "talker ");
	ck_assert_str_eq(agents_found("{'metadata': {'created_by': 'me'}}"), "");
	ck_assert_has(agents_found("{'sort_by': 'updated_at', 'limit': 1}"), "er ");
	serve_post("/assistants/search", "{'sort_by': 'model'}", 422);
	ck_assert_value(fleet->arena,
	    value_get(value_get(serve_get("/info", 200), "flags"), "crons"), "true");
}
END_TEST

/* Each thread that a search looks at is held against what the body says. */
START_TEST(a_body_has_so_many_names)
{
	struct arena *arena = serve_bench.fleet.arena;
	const char *names = "'n0': 0";
	int i;

	for (i = 1; i < 256; i++)
		names = arena_printf(arena, "%s, 'n%d': 0", names, i);
	serve_post("/threads/count", serve_text("{%s}", names), 200);
	serve_post("/threads/count", serve_text("{%s, 'more': 0}", names), 422);
}
END_TEST

TCase *
tcase_serve_found(void)
{
	TCase *tcase = tcase_create("serve_found");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, threads_come_in_the_order_that_is_asked_for);
	tcase_add_test(tcase, metadata_are_found_by_a_part_of_them);
	tcase_add_test(tcase, a_thread_that_a_run_makes_is_found_by_its_metadata);
	tcase_add_test(tcase, states_are_found_by_the_metadata_of_their_run);
	tcase_add_test(tcase, a_search_says_where_it_goes_on);
	tcase_add_test(tcase, values_of_a_thread_are_shown_by_their_paths);
	tcase_add_test(tcase, agents_are_found_as_assistants_are);
	tcase_add_test(tcase, a_body_has_so_many_names);
	return tcase;
}
