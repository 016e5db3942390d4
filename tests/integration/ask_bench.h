/* ask_bench: a fleet of real processes, one of each kind, with hooks, wraps and tools that ask a human
 * (tests/plugins/asks_human.c, examples/plugin/ask_first.c) or have children (tests/plugins/asks_children.c), for tests of what is asked and answered. */
#ifndef ASK_BENCH_H
#define ASK_BENCH_H

#include <sys/types.h>

#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *ledger, *hold, *wait, *broken;
	void (*play)(struct scene *scene);
};

/* Plays with a fleet of its own. The agents are one of the name of each place, which asks there,
 * "parallel", with a round of three calls of which two ask, and "stops", which pauses before and
 * behind its tools. The tools are note and pay, which writes a line into the ledger when it begins,
 * ends not while the file hold is there, and asks before it pays; linger, which does that, too, and asks nothing; and break, which ends not while the file
 * wait is there, and then fails if broken is. */
void ask_act(void (*play)(struct scene *scene));
/* With other agents, in YAML. */
void ask_act_with(void (*play)(struct scene *scene), const char *agents);
/* And other tools, a path; NULL: the same as above. */
void ask_act_tools(
    void (*play)(struct scene *scene), const char *agents, const char *more_tools);

/* The hooks that can ask. */
#define ASK_PLACES 7u
extern const char *const ask_places[ASK_PLACES];

/* Kills every process, Redis too, and starts them all. */
void ask_restart_everything(struct scene *scene);

/* `flotilla` on this fleet, as a user runs it. */
struct cli ask_command_line(struct scene *scene);
/* Its words (NULL-ended, ASK_WORDS_MAX at most) and this fleet's, into argv of ASK_WORDS_MAX + 3. */
#define ASK_WORDS_MAX 12u
void ask_with_fleet(struct scene *scene, const char *const *words, const char **argv);
struct said ask_flotilla(struct scene *scene, const char *const *words);
#define ASK_FLOTILLA(scene, ...)                                                         \
	ask_flotilla(scene, (const char *const[]){ __VA_ARGS__, NULL })

/* Submits a run of agent with a field `what`, input or resume, of JSON. */
void ask_submit(struct scene *scene, const char *agent, const char *run,
    const char *thread, const char *what, const char *text);
/* Waits for its end; returns its record. */
const struct value *ask_wait_end(
    struct scene *scene, const char *run, const char *thread);
/* Both. */
const struct value *ask_run(struct scene *scene, const char *agent, const char *run,
    const char *thread, const char *what, const char *text);

void ask_check_status(
    struct scene *scene, const struct value *record, const char *status);
/* Of a run of thread t, when it has ended. */
void ask_check_end(struct scene *scene, const char *run, const char *status);
/* Has a run that goes on in t cancelled, and t put back to what it was before. */
void ask_put_back(struct scene *scene, const char *run);
/* Has t gone on with where it stands. */
void ask_go_on(
    struct scene *scene, const char *agent, const char *run, const char *status);
/* A resume that is refused, and leaves the pause as it is. */
void ask_check_refused(struct scene *scene, const char *agent, const char *run,
    const char *thread, const char *answer, const char *says);

const struct value *ask_state_of(struct scene *scene, const char *thread);
/* Of a record: the question of that index; its id. */
const struct value *ask_interrupt_of(const struct value *record, size_t index);
const char *ask_id_of(const struct value *record, size_t index);
/* What the thread's tool messages say, in their order. */
const char *ask_tool_answers_of(struct scene *scene, const char *thread);

/* The ledger's lines that begin with what. */
struct lines {
	size_t count;
	bool same_key;
};
struct lines ask_lines_of(const struct scene *scene, const char *what);
/* There are so many, and where that is more than one they are the same: the key is kept. */
void ask_check_lines(struct scene *scene, const char *what, size_t count);
/* The process whose id stands behind what in the first of them. */
pid_t ask_pid_of(const struct scene *scene, const char *what);
/* Waits until there are so many. */
void ask_wait_lines(struct scene *scene, const char *what, size_t count);

/* Has that file there: hold, wait or broken. */
void ask_put(const char *path);
/* A command about a key of t's shard; rest: behind the shard's name. */
const struct value *ask_redis(struct scene *scene, const char *verb, const char *rest);
/* Begins r1 on t, whose call of break has begun and is to fail; hold, wait and broken are there. */
void ask_begin(struct scene *scene, const char *agent);
/* As a coordinator of t's run would have, had it not died: the call of that id has failed. */
void ask_store_failure(struct scene *scene, const char *run, const char *call);

#endif
