/* Which fleet.json is believed. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "children.h"

/* Interface under test */
#include "../../cli/fleet_file.h"

TCase *tcase_fleet_file(void);

#define REDIS "unix:///somewhere/redis"
#define NOBODY 65534u

static struct arena *arena;
static char *folder;
static int lock;
static struct fleet_file found;

/* A fleet is up in folder, and we are below it. */
static void
setup(void)
{
	static const char *const endpoints[] = { "ipc:///somewhere/broker", NULL };
	const struct fleet_file file = { .redis = REDIS,
		.brokers = endpoints,
		.statuses = endpoints,
		.pid = getpid() };

	umask(002);
	arena = arena_new();
	folder = folder_new();
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(mkdir(FLEET_FOLDER, 0700), 0);
	lock = fleet_file_lock(folder);
	ck_assert_int_ne(lock, -1);
	ck_assert_int_eq(fleet_file_write(folder, &file), 0);
	ck_assert_int_eq(mkdir("below", 0700), 0);
	ck_assert_int_eq(chdir("below"), 0);
}

static void
teardown(void)
{
	close(lock);
	ck_assert_int_eq(chdir("/"), 0);
	folder_remove(&folder);
	arena_destroy(&arena);
}

static bool
is_found(void)
{
	fleet_file_find(arena, &found);
	return strcmp(found.redis, REDIS) == 0;
}

START_TEST(a_fleet_of_ours_is_found)
{
	ck_assert(is_found());
	ck_assert_ptr_null(found.passed_over);
	ck_assert(fleet_file_is_ours(folder));
	ck_assert_int_eq(chmod("../" FLEET_FOLDER, 0755), 0);
	ck_assert(is_found());
}
END_TEST

/* Who is told that there is no fleet is told of this one. */
static void
assert_passed_over(void)
{
	ck_assert(!is_found());
	ck_assert_ptr_nonnull(found.passed_over);
	ck_assert_str_eq(
	    found.passed_over, arena_printf(arena, "%s/" FLEET_FOLDER, folder));
}

static const struct {
	const char *path;
	unsigned mode;
} open_to_others[] = {
	{ "../" FLEET_FOLDER, 0770 },
	{ "../" FLEET_FOLDER, 0707 },
	{ "../" FLEET_FILE, 0660 },
	{ "../" FLEET_FILE, 0602 },
};

START_TEST(a_fleet_that_others_can_write_is_passed_over)
{
	ck_assert_int_eq(
	    chmod(open_to_others[_i].path, (mode_t)open_to_others[_i].mode), 0);
	assert_passed_over();
}
END_TEST

/* As somebody makes one in /tmp. */
START_TEST(somebody_elses_fleet_is_passed_over)
{
	if (geteuid() != 0) /* who is not root gives nothing away */
		return;
	ck_assert_int_eq(chown("../" FLEET_FOLDER, NOBODY, NOBODY), 0);
	assert_passed_over();
	ck_assert(!fleet_file_is_ours(folder));
}
END_TEST

/* It would be read where it leads. */
START_TEST(a_link_in_the_place_of_the_file_is_passed_over)
{
	ck_assert_int_eq(rename("../" FLEET_FILE, "moved"), 0);
	ck_assert_int_eq(symlink("../below/moved", "../" FLEET_FILE), 0);
	assert_passed_over();
}
END_TEST

START_TEST(what_is_left_of_a_killed_one_is_written_anew)
{
	static const char *const endpoints[] = { "ipc:///elsewhere", NULL };
	const struct fleet_file file = { .redis = REDIS,
		.brokers = endpoints,
		.statuses = endpoints,
		.pid = getpid() };

	ck_assert_int_eq(chmod("../" FLEET_FILE, 0666), 0);
	ck_assert_int_eq(fleet_file_write(folder, &file), 0);
	ck_assert(is_found());
}
END_TEST

TCase *
tcase_fleet_file(void)
{
	TCase *tcase = tcase_create("fleet_file");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_fleet_of_ours_is_found);
	tcase_add_loop_test(tcase, a_fleet_that_others_can_write_is_passed_over, 0,
	    sizeof open_to_others / sizeof *open_to_others);
	tcase_add_test(tcase, somebody_elses_fleet_is_passed_over);
	tcase_add_test(tcase, a_link_in_the_place_of_the_file_is_passed_over);
	tcase_add_test(tcase, what_is_left_of_a_killed_one_is_written_anew);
	return tcase;
}
