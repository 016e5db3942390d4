/* cli: a command as a user runs it: in a folder, with something on its stdin, and what it
 * says kept. For `flotilla`, redis-cli and others that end by themselves. */
#ifndef CLI_H
#define CLI_H

#include "arena.h"

struct cli {
	const char *program; /* a path, or a name to be found in PATH */
	const char *folder;  /* where it runs; NULL: here */
	struct arena *arena; /* of what it said */
};

struct said {
	int status; /* the exit status; -1: it was killed */
	const char *out, *err;
};

/* Runs the program with argv (NULL-ended, without the program's name) to its end. input may
 * be NULL. */
struct said cli_run(const struct cli *cli, const char *input, const char *const argv[]);
#define CLI(cli, ...) cli_run(cli, NULL, (const char *const[]){ __VA_ARGS__, NULL })

/* One that runs beside the test. */
struct cli_job;
struct cli_job *cli_start(
    const struct cli *cli, const char *input, const char *const argv[]);
#define CLI_START(cli, ...)                                                              \
	cli_start(cli, NULL, (const char *const[]){ __VA_ARGS__, NULL })
/* What it has said on stdout and on stderr so far, in the cli's arena. */
const char *cli_out(const struct cli_job *job);
const char *cli_err(const struct cli_job *job);
void cli_signal(const struct cli_job *job, int number);
/* Takes *job_p: waits for the end. */
struct said cli_end(struct cli_job **job_p);

#endif
