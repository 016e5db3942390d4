/* Crons by HTTP: made, found, changed, fired, deleted, as LangGraph's server has them. */
#include <check.h>
#include <string.h>

#include "../../cli/command.h"
#include "has.h"
#include "json.h"
#include "serve_bench.h"
#include "store.h"

TCase *tcase_serve_crons(void);

#define DAILY "'assistant_id': 'quick', 'schedule': '0 3 * * *', " HI
#define DUE_RUN "19700101T000001Z"

static struct fleet_up *const fleet = &serve_bench.fleet;

static const struct value *
create(const char *keys)
{
	return serve_post("/runs/crons", serve_text("{" DAILY "%s}", keys), 200);
}

static const char *
id_of(const struct value *cron)
{
	return value_get_text(cron, "cron_id");
}

static const struct value *
change(const char *id, const char *body, long status)
{
	struct serve_answer answer = ASK(.method = "PATCH",
	    .path = serve_text("/runs/crons/%s", id), .body = serve_text("%s", body));

	ck_assert_msg(answer.status == status, "%ld: %s", answer.status, answer.body);
	return answer.json;
}

static long
remove_cron(const char *id)
{
	return ASK(.method = "DELETE", .path = serve_text("/runs/crons/%s", id)).status;
}

static void
set_due(const char *id, const char *ms)
{
	const struct cli redis = { "redis-cli", NULL, fleet->arena };
	struct said said = CLI(&redis, "-s", fleet->redis + strlen("unix://"), "ZADD",
	    arena_printf(
		fleet->arena, "%scrons", store_prefix(fleet->arena, store_shard(id))),
	    ms, id);

	ck_assert_int_eq(said.status, 0);
}

/* As if its time had come, long ago. */
static void
make_due(const char *id)
{
	set_due(id, "1000");
}

/* It is fired, and its run ends. */
static void
wait_success(const char *thread, const char *run)
{
	const char *path = serve_text("/threads/%s/runs/%s", thread, run);
	int looks;

	for (looks = 0; looks < SERVE_LOOKS && ASK(.path = path).status == 404; looks++)
		serve_pause();
	serve_run_wait(thread, run, "success");
}

START_TEST(a_cron_is_made_found_changed_and_deleted)
{
	const struct value *cron = create(", 'timezone': 'Europe/Berlin', 'metadata': "
					  "{'mark': 'a'}"),
			   *found;
	const char *id = id_of(cron);

	create(", 'metadata': {'mark': 'b'}, 'enabled': false");
	ck_assert_str_eq(value_get_text(cron, "timezone"), "Europe/Berlin");
	ck_assert_ptr_nonnull(value_get_text(cron, "next_run_date"));
	ck_assert(value_get_bool(cron, "enabled", false));
	ck_assert_str_eq(
	    value_get_text(value_get(cron, "payload"), "assistant_id"), "quick");
	found = serve_post(
	    "/runs/crons/search", serve_text("{'metadata': {'mark': 'a'}}"), 200);
	ck_assert(value_equal(value_at(found, 0), cron));
	ck_assert_uint_eq(value_size(found), 1);
	found = serve_post("/runs/crons/search",
	    serve_text("{'assistant_id': 'quick', 'enabled': false, 'select': "
		       "['cron_id', 'metadata']}"),
	    200);
	ck_assert_uint_eq(value_size(found), 1);
	ck_assert_uint_eq(value_size(value_at(found, 0)), 2);
	found = serve_post("/runs/crons/count", "{}", 200);
	ck_assert_int_eq(found->integer, 2);
	cron = change(id, "{'enabled': false, 'schedule': '@hourly'}", 200);
	ck_assert(value_is_nil(value_get(cron, "next_run_date")));
	ck_assert_str_eq(value_get_text(cron, "schedule"), "@hourly");
	cron = change(id, "{'enabled': true, 'metadata': {'mark': 'c'}}", 200);
	ck_assert_ptr_nonnull(value_get_text(cron, "next_run_date"));
	ck_assert_int_eq(remove_cron(id), 204);
	ck_assert_int_eq(remove_cron(id), 404);
	change(id, "{}", 404);
}
END_TEST

START_TEST(its_runs_are_as_any)
{
	const char *thread = serve_thread(), *id, *own, *run;

	id = id_of(serve_post(serve_text("/threads/%s/runs/crons", thread),
	    serve_text("{" DAILY "}"), 200));
	own = id_of(create(", 'on_run_completed': 'keep'"));
	make_due(id);
	make_due(own);
	run = arena_printf(fleet->arena, "%s-" DUE_RUN, id);
	wait_success(thread, run);
	ck_assert_str_eq(
	    value_get_text(
		value_get(serve_get(serve_text("/threads/%s/runs/%s", thread, run), 200),
		    "metadata"),
		"cron_id"),
	    id);
	run = arena_printf(fleet->arena, "%s-" DUE_RUN, own);
	wait_success(run, run);
	ck_assert_uint_eq(value_size(serve_post("/runs/crons/search",
			      serve_text("{'thread_id': '%s'}", thread), 200)),
	    1);
}
END_TEST

#define FAR "9000000000000"

/* One that is due stays due, whatever else is changed. */
START_TEST(a_change_of_something_else_leaves_its_time)
{
	const char *id = id_of(create(", 'timezone': 'Europe/Berlin'")), *next;

	set_due(id, FAR);
	next = value_get_text(
	    change(id, "{'metadata': {'a': 1}, 'enabled': true}", 200), "next_run_date");
	ck_assert_has(next, "2255-03-14T");
	ck_assert_str_eq(value_get_text(change(id, "{'timezone': 'Europe/Berlin'}", 200),
			     "next_run_date"),
	    next);
	ck_assert_str_ne(
	    value_get_text(change(id, "{'timezone': null}", 200), "next_run_date"), next);
	ck_assert_int_eq(remove_cron(id), 204);
}
END_TEST

/* It goes on, and its runs are refused; but it may be ended. */
START_TEST(one_whose_agent_is_gone_may_be_changed)
{
	const char *id;

	fleet_up_write(
	    fleet, "passing.yaml", "name: passing\nmodel: scripted:p\nscript: {p: []}\n");
	ck_assert_int_eq(CLI(&fleet->flotilla, "agents", "apply",
			     arena_printf(fleet->arena, "%s/passing.yaml", fleet->folder))
			     .status,
	    0);
	id = id_of(serve_post("/runs/crons",
	    serve_text("{'assistant_id': 'passing', 'schedule': '@yearly', " HI "}"),
	    200));
	ck_assert_int_eq(CLI(&fleet->flotilla, "agents", "delete", "passing").status, 0);
	change(id, "{'assistant_id': 'passing'}", 404);
	ck_assert(
	    !value_get_bool(change(id, "{'enabled': false}", 200), "enabled", true));
	ck_assert_int_eq(remove_cron(id), 204);
}
END_TEST

/* Each cron is held against each name. */
START_TEST(a_search_asks_for_so_many_names_at_most)
{
	struct value_fields names = { .arena = fleet->arena };
	const char *body;
	unsigned i;

	for (i = 0; i < 65; i++)
		value_fields_set(
		    &names, arena_printf(fleet->arena, "n%u", i), value_nil());
	body = arena_printf(fleet->arena, "{\"metadata\": %s}",
	    json_text(fleet->arena, value_fields_end(&names)));
	serve_post("/runs/crons/count", body, 422);
	serve_post("/threads/count", body, 422);
}
END_TEST

static const struct {
	const char *path, *body;
	long status;
	const char *why;
} wrong[] = {
	{ "/runs/crons", "{'assistant_id': 'quick', " HI "}", 422,
	    "schedule: is missing" },
	{ "/runs/crons", "{'assistant_id': 'quick', 'schedule': '* *', " HI "}", 422,
	    "schedule '* *': has 2 fields" },
	{ "/runs/crons", "{" DAILY ", 'timezone': 'Nowhere'}", 422,
	    "timezone 'Nowhere'" },
	{ "/runs/crons", "{" DAILY ", 'end_time': '2020-01-01T00:00:00Z'}", 422,
	    "end_time: it would be over" },
	{ "/runs/crons", "{" DAILY ", 'interrupt_before': 'tools'}", 422,
	    "interrupt_before" },
	{ "/runs/crons", "{'assistant_id': 'nobody', 'schedule': '@daily', " HI "}", 404,
	    "no agent 'nobody'" },
	{ "/runs/crons",
	    "{'assistant_id': 'quick', 'schedule': '@daily', 'input': {'messages': "
	    "[{'role': 'nobody', 'content': 'Hi'}]}}",
	    422, "input: messages[0].role" },
	{ "/runs/crons", "{" DAILY ", 'metadata': {'a': {'b\\u0000c': 1}}}", 422,
	    "metadata.a.b: holds a NUL" },
	{ "/runs/crons",
	    "{'assistant_id': 'quick', 'schedule': '@daily\\u0000 x', " HI "}", 422,
	    "schedule: holds a NUL" },
	{ "/runs/crons/search", "{'metadata': {'a\\u0000b': 1}}", 422,
	    "metadata.a: holds a NUL" },
	{ "/threads", "{'thread_id': 'a\\u0000b'}", 422, "thread_id: holds a NUL" },
	{ "/threads/search", "{'ids': ['a', 'b\\u0000c']}", 422, "ids[1]: holds a NUL" },
	{ "/runs/batch", "[{'assistant_id': 'quick\\u0000x', " HI "}]", 422,
	    "[0].assistant_id: holds a NUL" },
	{ "/threads/nobody/runs/crons", "{" DAILY "}", 404, "nobody" },
	{ "/runs/crons/search", "{'sort_by': 'x'}", 422, "sort_by: must be" },
	{ "/runs/crons/search", "{'select': ['x']}", 422, "select" },
	{ "/runs/crons/search", "{'metadata': [1]}", 422, "metadata: is no object" },
	{ "/runs/crons/search", "{'assistant_id': 1}", 422, "assistant_id: is no" },
	{ "/assistants/search", "{'graph_id': 1}", 422, "graph_id: is no" },
	{ "/runs/crons/search", "{'limit': 0}", 422, "limit must be" },
	{ "/runs/crons/search", "[]", 422, "must be a map" },
	{ "/runs/crons/search", "{'sort_order': 'x'}", 422, "sort_order" },
	{ "/runs/crons/search", "{'select': [5]}", 422, "select[0]" },
	{ "/runs/crons", "{" DAILY ", 'end_time': '1970-01-01T00:00:00Z'}", 422,
	    "end_time" },
};

START_TEST(what_is_wrong_is_refused)
{
	struct serve_answer answer =
	    ASK(.path = wrong[_i].path, .body = serve_text("%s", wrong[_i].body));

	ck_assert_msg(
	    answer.status == wrong[_i].status, "%ld: %s", answer.status, answer.body);
	ck_assert_has(answer.body, wrong[_i].why);
}
END_TEST

TCase *
tcase_serve_crons(void)
{
	TCase *tcase = tcase_create("serve_crons");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, a_cron_is_made_found_changed_and_deleted);
	tcase_add_test(tcase, its_runs_are_as_any);
	tcase_add_test(tcase, a_change_of_something_else_leaves_its_time);
	tcase_add_test(tcase, one_whose_agent_is_gone_may_be_changed);
	tcase_add_test(tcase, a_search_asks_for_so_many_names_at_most);
	tcase_add_loop_test(
	    tcase, what_is_wrong_is_refused, 0, sizeof wrong / sizeof *wrong);
	return tcase;
}
