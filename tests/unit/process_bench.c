#include "process_bench.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct process_bench pb;

static char marker[] = "/tmp/flotilla-process-XXXXXX"; /* a folder for the scripts */

static const char *const environment[] = { "PATH=/usr/bin:/bin", "COLOUR=blue", NULL };

void
pb_setup(void)
{
	pb.loop = loop_new();
	pb.arena = arena_new();
	pb.options = (struct process_options){ .argv = pb.argv, .env = environment };
	ck_assert_ptr_nonnull(mkdtemp(marker));
	ck_assert_int_eq(chdir(marker), 0);
}

void
pb_teardown(void)
{
	static const char *const files[] = { "ready", "child", "ended" };

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		unlink(files[i]);
	ck_assert_int_eq(rmdir(marker), 0);
	arena_destroy(&pb.arena);
	loop_destroy(&pb.loop);
	process_close();
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(pb.loop) == 0;
}

void
pb_run_process(void *arg)
{
	struct process_result *result_r = arg;

	process_run(pb.loop, pb.arena, &pb.options, result_r);
}

void
pb_run_shell(const char *script)
{
	pb.argv[0] = "sh";
	pb.argv[1] = "-c";
	pb.argv[2] = script;
	pb.fiber = fiber_start(pb.loop, "process", pb_run_process, &pb.result);
	loop_run_until(pb.loop, all_ended, NULL);
}

void
pb_run_shell_late(const char *script)
{
	pb.options.timeout_ms = 50;
	do {
		pb.options.timeout_ms *= 2;
		pb_run_shell(script);
		ck_assert_int_eq(pb.result.end, PROCESS_TIMEOUT);
	} while (access("ready", F_OK) == -1);
}

/* Asked each time round the loop. */
static bool
is_there(void *arg)
{
	return access(arg, F_OK) == 0;
}

void
pb_nothing(void *arg)
{
	(void)arg;
}

void
pb_run_shell_until(const char *script, const char *file)
{
	struct timer *tick = timer_start(pb.loop, 1, 1, pb_nothing, NULL);
	char name[32];

	snprintf(name, sizeof name, "%s", file);
	pb.argv[0] = "sh";
	pb.argv[1] = "-c";
	pb.argv[2] = script;
	pb.fiber = fiber_start(pb.loop, "process", pb_run_process, &pb.result);
	loop_run_until(pb.loop, is_there, name);
	timer_stop(&tick);
}

void
pb_finish(void)
{
	loop_run_until(pb.loop, all_ended, NULL);
}

void
pb_check_is_gone(const char *file)
{
	FILE *from = fopen(file, "r");
	char path[64], state = 'Z';
	int pid;

	ck_assert_ptr_nonnull(from);
	ck_assert_int_eq(fscanf(from, "%d", &pid), 1);
	fclose(from);
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	from = fopen(path, "r");
	if (from == NULL)
		return;
	if (fscanf(from, "%*d %*s %c", &state) != 1)
		state = 'X'; /* it went while the file was open */
	fclose(from);
	ck_assert_msg(state == 'Z' || state == 'X', "%d is alive: %c", pid, state);
}
