/* thread_bench: a fleet of real processes, one of each kind, and the thread "t" on it, for tests of
 * what becomes of a thread; between the two halves of a play all processes may be killed. */
#ifndef THREAD_BENCH_H
#define THREAD_BENCH_H

#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *ledger; /* a line for each call that began */
	bool restarts;      /* every process is killed between the two halves */
	void (*play)(struct scene *scene);
};

/* Plays with a fleet of its own. Agents are `clerk` and `careful`, which pauses before tools; both
 * have the fields count (added) and topic. The n-th model call of a thread gives the n-th reply:
 * "One.", a round with the short call a, one with the call b that lasts until it is cancelled,
 * "Four.", "Five.". `poster` makes one call of a tool that must not run twice, answered "sent", and says "Posted.". */
void bench_act(void (*play)(struct scene *scene), bool restarts);
void bench_halfway(struct scene *scene);

/* Submits run to thread "t": its id is the text, count is 1. */
void bench_submit(struct scene *scene, const char *run, const char *multitask);
/* The same with an input, or NULL, and more fields {name: text}. */
void bench_submit_more(struct scene *scene, const char *agent, const char *run,
    const char *input, const struct value *more);
/* Waits for the run's end; returns its status. */
const char *bench_wait(struct scene *scene, const char *run);
const struct value *bench_record(struct scene *scene, const char *run);
const char *bench_error(struct scene *scene, const char *run);
void bench_cancel(struct scene *scene, const char *run);

/* The thread as of store_thread. */
const struct value *bench_thread(struct scene *scene);
/* The texts of a thread's messages, with spaces between them; "-" for one without. */
const char *bench_talk(struct scene *scene, const struct value *state);
void bench_wait_talk(struct scene *scene, const char *text);
int64_t bench_count(const struct value *state);
/* Waits until so many calls have begun. */
void bench_wait_noted(struct scene *scene, unsigned lines);
/* r1 has ended, r2 stands in its second round of tools. */
void bench_begin_long(struct scene *scene);

/* Runs `flotilla WORD...` on the fleet. */
struct said bench_flotilla(struct scene *scene, const char *const *words, size_t count);
#define FLOTILLA(scene, ...)                                                             \
	bench_flotilla(scene, (const char *const[]){ __VA_ARGS__ },                      \
	    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* What was said has part in it, and ends with that status. */
void bench_says(struct said said, int status, const char *part);
/* What was said, as JSON, which it must be. */
const struct value *bench_json(struct scene *scene, struct said said);
/* The checkpoints of "t" that `flotilla history` tells of. */
const struct value *bench_history(struct scene *scene);

/* A test and the same with a restart of all: add it with tcase_add_loop_test(..., 0, 2). */
#define BOTH(name, play)                                                                 \
	START_TEST(name)                                                                 \
	{                                                                                \
		bench_act(play, _i == 1);                                                \
	}                                                                                \
	END_TEST

#endif
