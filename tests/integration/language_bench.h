/* language_bench: a fleet of real processes and tool workers in other languages beside it, for the tests of
 * these (examples/workers, tests/languages). What is wrong ends the test. */
#ifndef LANGUAGE_BENCH_H
#define LANGUAGE_BENCH_H

#include "children.h"
#include "cli.h"
#include "fleet_kit.h"
#include "value.h"

struct language {
	const char *program, *file;
	const char *tool, *args, *answer;
	const char *
	    more; /* a worker with the tools `ask`, `pay`, `gate`, `told`, `note`, `odd` */
	const char *middleware; /* of the agent, JSON */
};

struct language_bench {
	struct fleet_kit *kit;
	struct arena *arena; /* has what the functions return */
	struct cli flotilla;
	const char *brokers;    /* as FLOTILLA_BROKER has them; a test may change it */
	const char *middleware; /* of the agent: that of the last worker's language */
};

void language_setup(struct language_bench *bench);
void language_teardown(struct language_bench *bench);

/* That what it imports is installed: without that the worker ends before it serves anything, and its calls
 * would wait for ever. */
void language_require_modules(const struct language *language);

/* A worker with the language's file, or with its `more`. */
void language_start_worker(struct language_bench *bench, struct child **worker_r,
    const struct language *language, const char *name);
void language_start_more(struct language_bench *bench, struct child **worker_r,
    const struct language *language, const char *name);

/* Applies agent `a`, with tools, that asks for calls, of one round, and then ends; both items of JSON. */
void language_apply(struct language_bench *bench, const char *tools, const char *calls);
/* The tools of the language's file. */
const char *language_tools_of(
    struct language_bench *bench, const struct language *language);
/* Of one call. */
const char *language_call(
    struct language_bench *bench, const char *id, const char *tool, const char *args);
/* Of one that ends when language_open_gate has named the same file. */
const char *language_gate_call(
    struct language_bench *bench, const char *id, const char *name);
void language_open_gate(struct language_bench *bench, const char *name);

/* The command line with the fleet's addresses. */
struct said language_run(struct language_bench *bench, const char *const argv[]);
#define LANGUAGE_RUN(bench, ...)                                                         \
	language_run((bench), (const char *const[]){ __VA_ARGS__, NULL })
struct cli_job *language_submit(
    struct language_bench *bench, const char *agent, const char *run);
/* Watches the run, opens the gate when that shows words, and watches on to its end. */
void language_watch_until(
    struct language_bench *bench, const char *run, const char *words, const char *gate);
void language_cancel(struct language_bench *bench, const char *run);
const struct value *language_parse(struct language_bench *bench, const char *text);

/* What the worker's last PING says of running calls; -1: it is not there. */
int64_t language_load_of(struct language_bench *bench, const char *name);
void language_wait_load(struct language_bench *bench, const char *name, int64_t load);
void language_wait_draining(struct language_bench *bench, const char *name);

void language_expect_success(struct cli_job *job);
/* The message at index of a state has that status, and contains words. */
void language_expect_message(
    const struct value *state, size_t index, const char *status, const char *words);

#endif
