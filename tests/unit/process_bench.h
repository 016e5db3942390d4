/* process_bench: shell scripts as child processes of a loop, in a folder of their own. */
#ifndef PROCESS_BENCH_H
#define PROCESS_BENCH_H

#include "fiber.h"
#include "process.h"

struct process_bench {
	struct loop *loop;
	struct arena *arena;
	struct fiber *fiber; /* of the last script */
	struct process_options options;
	struct process_result result;
	const char *argv[4];
};

extern struct process_bench pb;

/* A checked fixture. The scripts may make files "ready", "child" and "ended". */
void pb_setup(void);
void pb_teardown(void);

/* A fiber's main: runs pb.argv; arg is the struct process_result. */
void pb_run_process(void *arg);
/* Waits until no fiber is left. */
void pb_finish(void);

/* Runs script to its end. */
void pb_run_shell(const char *script);
/* Runs script, which never ends in time, until it has made the file "ready" before it was late: on a machine with much to
 * do it may be late before it has begun. */
void pb_run_shell_late(const char *script);
/* Until it has made that file, and the loop has been there to see it. */
void pb_run_shell_until(const char *script, const char *file);
/* Of a timer that only keeps the loop going round. */
void pb_nothing(void *arg);

/* The process whose id the script wrote into that file has ended. */
void pb_check_is_gone(const char *file);

#endif
