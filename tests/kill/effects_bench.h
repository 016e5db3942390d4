/* effects_bench: a fleet with two tool workers and a tool that must not run twice: the first to pay does
 * so for ever, and its worker is to die. The agent "clerk" pays and notes at once, as calls a and b of
 * its model; "asker" pays and calls a tool that asks, "doomed" one that kills its worker, "boss" has clerk do it. */
#ifndef EFFECTS_BENCH_H
#define EFFECTS_BENCH_H

#include "fleet_client.h"
#include "fleet_kit.h"

#define FX_WAIT_MS 60000u

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *ledger, *go_on;
	pid_t first_worker;
	void (*play)(struct scene *scene);
};

/* Plays where pay is `uncertain: policy`. */
void fx_act(const char *policy, void (*play)(struct scene *scene));

/* --- what the tools did ----------------------------------------------------------------- */

struct fx_count {
	const struct scene *scene;
	const char *tool;
	char key[256]; /* the last one's; all must be equal */
	int worker;    /* the last one's */
	unsigned lines, wanted;
};

/* How often tool has begun. */
struct fx_count fx_count_calls(const struct scene *scene, const char *tool);
/* Of a struct fx_count with a tool: whether it has begun as often as is wanted. */
bool fx_is_begun(void *arg);
void fx_check_calls(struct scene *scene, unsigned pays, unsigned notes);

/* Waits until pay has begun so often; returns the last one's worker. */
unsigned fx_wait_paying(struct scene *scene, unsigned times);
/* Lets note end. */
void fx_let_go_on(struct scene *scene);

/* --- runs, all of them on thread "t" ------------------------------------------------------ */

/* A run of clerk, or of another, with a field `what`, input or resume, of JSON. */
void fx_submit(struct scene *scene, const char *run, const char *what, const char *text);
void fx_submit_to(struct scene *scene, const char *agent_name, const char *run,
    const char *what, const char *text);

/* Waits for the end of run; returns its record. */
const struct value *fx_wait_end(struct scene *scene, const char *run);
void fx_check_status(struct scene *scene, const char *run, const char *status);

/* The content of the answer to call id, which has that status. */
const char *fx_answer_to(struct scene *scene, const char *id, const char *status);

/* How often the log of run tells that pay is uncertain, and that this follows. */
unsigned fx_uncertain_events(struct scene *scene, const char *run, const char *then);

#endif
