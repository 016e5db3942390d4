/* `flotilla serve`: many change the same thread, assistant or cron at once, and each change counts. */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "serve_bench.h"

TCase *tcase_serve_changes(void);

#define CHANGES 48

/* Asks for all of them at once, and then reads what came of each. */
static void
change_at_once(const char *path)
{
	int fds[CHANGES], i;
	char head[32];

	for (i = 0; i < CHANGES; i++)
		fds[i] = serve_dial(serve_bench.url, serve_text("PATCH %s", path),
		    serve_text("{'metadata': {'k%d': %d}}", i, i));
	for (i = 0; i < CHANGES; i++) {
		ssize_t size = read(fds[i], head, sizeof head - 1);

		ck_assert_int_gt(size, 0);
		head[size] = '\0';
		ck_assert_msg(
		    strncmp(head, "HTTP/1.1 200", 12) == 0, "change %d: %s", i, head);
		close(fds[i]);
	}
}

static void
check_metadata(const struct value *metadata)
{
	int i;

	for (i = 0; i < CHANGES; i++)
		ck_assert_int_eq(value_get_int(metadata, serve_text("k%d", i), -1), i);
}

START_TEST(a_thread_takes_all_of_them)
{
	const char *path = serve_text("/threads/%s", serve_thread());

	change_at_once(path);
	check_metadata(value_get(serve_get(path, 200), "metadata"));
}
END_TEST

START_TEST(an_assistant_has_a_version_of_each)
{
	const struct value *assistant;

	serve_post(
	    "/assistants", "{'graph_id': 'talker', 'assistant_id': 'changing'}", 200);
	change_at_once("/assistants/changing");
	assistant = serve_get("/assistants/changing", 200);
	check_metadata(value_get(assistant, "metadata"));
	ck_assert_int_eq(value_get_int(assistant, "version", 0), 1 + CHANGES);
}
END_TEST

START_TEST(a_cron_refuses_none_of_them)
{
	const struct value *cron = serve_post("/runs/crons",
	    "{'assistant_id': 'talker', 'schedule': '@yearly', " HI "}", 200);
	const char *id = value_get_text(cron, "cron_id");

	change_at_once(serve_text("/runs/crons/%s", id));
	ck_assert_int_eq(
	    ASK(.method = "DELETE", .path = serve_text("/runs/crons/%s", id)).status,
	    204);
}
END_TEST

TCase *
tcase_serve_changes(void)
{
	TCase *tcase = tcase_create("serve_changes");

	tcase_set_timeout(tcase, 120);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, a_thread_takes_all_of_them);
	tcase_add_test(tcase, an_assistant_has_a_version_of_each);
	tcase_add_test(tcase, a_cron_refuses_none_of_them);
	return tcase;
}
