/* cancel_bench: a fleet with a tool that never ends, whose processes mind no SIGTERM. The agent "clerk"
 * calls it twice at once and then answers; "failing" fails when it may. */
#ifndef CANCEL_BENCH_H
#define CANCEL_BENCH_H

#include "arena.h"
#include "fleet_client.h"
#include "fleet_kit.h"

#define CX_WAIT_MS 60000u

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *pids, *go_on;
	int64_t asked_ms; /* by the wall clock: the first cx_ask; 0: none yet */
	unsigned alive;   /* of the tools' processes, at cx_note_alive */
	bool
	    is_unconfirmed; /* of a run that cx_check_status has seen: not all of it was gone in time */
	void (*play)(struct scene *scene);
};

/* Plays where the tool is `idempotent: true` or false. */
void cx_act(const char *idempotent, void (*play)(struct scene *scene));

/* --- the tools' processes ------------------------------------------------------------- */

/* Waits until so many calls have begun. */
void cx_wait_hanging(struct scene *scene, unsigned calls);
/* None is left. */
void cx_check_gone(struct scene *scene);
/* The same in time: where the tool worker was killed nobody waits for the minders. */
void cx_wait_gone(struct scene *scene);

/* Somebody is about to have a run cancelled. */
void cx_begin_to_ask(struct scene *scene);
/* When that has returned: counts what is alive of the tools. Behind the cx_check_status of all, cx_check_confirmed wants that to be
 * nothing, or that a run says that it could not be waited for. */
void cx_note_alive(struct scene *scene);
void cx_check_confirmed(struct scene *scene);

/* --- runs ----------------------------------------------------------------------------- */

/* "<prefix><number>" */
const char *cx_nth(struct scene *scene, const char *prefix, unsigned number);
/* On the thread "t-<run>"; parent may be NULL. */
void cx_submit(
    struct scene *scene, const char *agent, const char *run, const char *parent);
/* Waits for the end of run. Every call of one that was cancelled must be confirmed, or waited for as long as the
 * fleet says it does. */
void cx_check_status(struct scene *scene, const char *run, const char *status);
/* Asks for its end, and does not wait. */
void cx_ask(struct scene *scene, const char *run);
/* The model of the next run on the thread sees every call answered. */
void cx_check_next_run(struct scene *scene, const char *run);

#endif
