/* checker: what must hold after an attack, whatever it was. All of it runs on a fiber, on a
 * fleet that is healed and whose runs have had their time to end.
 *
 *	checker_records.c  runs' records and event logs                  1 2 3 13 14
 *	checker_runs.c     messages, fields, checkpoints, streams        3 7 8 14
 *	versions.c         which version of its agent a run had          21
 *	lives.c            what was deleted, and begun anew              2 20
 *	checker_effects.c  the tools' log                                 6
 *	checker_history.c  Redis's append-only file, write by write       3 4 5 10 13
 *	checker_rest.c     what is left: Redis, brokers, memory           9 11 15 */
#ifndef CHECKER_H
#define CHECKER_H

#include "load.h"
#include "nemesis.h"
#include "stream.h"
#include "tally.h"
#include "watch.h"

/* Durations, for the report; zero-initialise, free with times_release. */
struct times {
	int64_t *ms;
	size_t count, room;
};
void times_add(struct times *times, int64_t ms);
/* The per_cent'th percentile, -1 without any. */
int64_t times_at(struct times *times, unsigned per_cent);
void times_release(struct times *times);

struct check {
	struct fleet *fleet;
	struct load *load;
	struct nemesis *nemesis;
	struct watch *watch;
	struct stream *stream;
	struct tally *tally;
	struct arena *arena;
	struct effects *effects;
	unsigned long ended[8]; /* runs by status, enum end */
	unsigned long claims, takeovers, commits, uncertain, asked, resubmitted;
	unsigned long put_back,
	    ousted;            /* runs whose thread was; that made way for another */
	unsigned long erased;  /* runs that were deleted alone */
	unsigned long gone_on; /* that went on behind a failure, or an answer there */
	unsigned long tool_starts, tool_repeats;
	struct times takeover, elsewhere;
};

enum end {
	END_SUCCESS,
	END_CANCELLED,
	END_ERROR,
	END_QUARANTINED,
	END_POISON,
	END_OTHER,
	ENDS
};

void check_runs(struct check *check);
void check_effects(struct check *check);
void check_history(struct check *check);
void check_rest(struct check *check);

/* --- between checkers --------------------------------------------------------------------- */

enum end check_end_of(const struct value *record);
/* Notes in run whether it has ended well; those before it on its thread have been looked at. */
void check_record(struct check *check, struct load_run *run, const struct value *record);
/* Of a run that was deleted, when it had ended well. */
void check_erased(struct check *check, struct load_run *run, const struct value *record);
/* Of one that is nowhere, since a server has refused it. */
void check_refused(struct check *check, struct load_run *run);
void check_log(struct check *check, const struct load_run *run);

/* CANCELLED: a later run of the thread, or a cancelled one at its end, has closed the call. */
enum told { TOLD_NOTHING, TOLD_SUCCESS, TOLD_LOST, TOLD_CANCELLED, TOLD_OTHER };

/* What the model was told about the call of that id in a run: checker_runs notes it,
 * checker_effects compares it with the world. */
void effects_told(
    struct check *check, const char *run, const struct sort_call *call, enum told told);
/* What run number (0: itself) that goes on behind run does is an effect of run's, and what its children do. */
void effects_goes_on(
    struct check *check, const char *run, const char *other, unsigned number);
/* A call of run had ended, for who goes on with it from that number on: it is not begun again. */
void effects_kept(
    struct check *check, const char *run, const struct sort_call *call, unsigned number);
/* How many calls of a run of that id, and of those that had it later, were begun. */
unsigned effects_begun(struct check *check, const char *run);
void effects_release(struct check *check);

#endif
