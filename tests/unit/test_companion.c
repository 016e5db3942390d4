/* A program that stays and is written to. */
#include <check.h>
#include <string.h>

#include "fiber.h"

/* Interface under test */
#include "companion.h"

TCase *tcase_companion(void);

static struct loop *loop;
static struct arena *arena;
static struct companion *companion;
static bool is_gone;

static void
setup(void)
{
	loop = loop_new();
	arena = arena_new();
	is_gone = false;
}

static bool
none_is_left(void *arg)
{
	(void)arg;
	return companion_count() == 0;
}

static void
teardown(void)
{
	companion_destroy(&companion);
	loop_run_until(loop, none_is_left, NULL);
	arena_destroy(&arena);
	loop_destroy(&loop);
}

static void
on_bytes(void *arg, enum companion_stream stream, const char *data, size_t size)
{
	(void)arg, (void)stream, (void)data, (void)size;
}

static void
on_gone(void *arg)
{
	(void)arg;
	is_gone = true;
}

static void
start(void *arg)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	const struct companion_options options = {
		.argv = arg, .env = env, .on_bytes = on_bytes, .on_gone = on_gone
	};
	const char *reason;

	companion = companion_start(loop, arena, &options, &reason);
	ck_assert_ptr_nonnull(companion);
}

static bool
has_started(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

static bool
has_gone(void *arg)
{
	(void)arg;
	return is_gone;
}

static void
run(const char *const *argv)
{
	fiber_start(loop, "start", start, (void *)argv);
	loop_run_until(loop, has_started, NULL);
}

static const struct {
	size_t pieces, bytes;
} floods[] = { { 20000, 4096 }, { 200, 1 << 20 } };

START_TEST(one_that_does_not_read_is_ended)
{
	static const char *const argv[] = { "sleep", "600", NULL };
	char *bytes = arena_alloc(arena, floods[_i].bytes);
	size_t i;

	run(argv);
	for (i = 0; i < floods[_i].pieces; i++)
		companion_write(companion, bytes, floods[_i].bytes);
	loop_run_until(loop, has_gone, NULL);
	ck_assert_ptr_nonnull(strstr(companion_end_text(companion), "does not read"));
}
END_TEST

START_TEST(one_that_reads_gets_all)
{
	static const char *const argv[] = { "sh", "-c",
		"test $(head -c 67108864 | wc -c) -eq 67108864", NULL };
	char *bytes = arena_alloc(arena, 1 << 26);

	run(argv);
	/* However large one piece is. */
	companion_write(companion, bytes, 1 << 26);
	loop_run_until(loop, has_gone, NULL);
	ck_assert_str_eq(companion_end_text(companion), "ended with status 0");
}
END_TEST

TCase *
tcase_companion(void)
{
	TCase *tcase = tcase_create("companion");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, one_that_does_not_read_is_ended, 0, sizeof floods / sizeof floods[0]);
	tcase_add_test(tcase, one_that_reads_gets_all);
	return tcase;
}
