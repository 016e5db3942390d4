/* sorts: the kinds of runs that the load is made of, and what each must look like in the end:
 * the agents' and tools' files, and for every turn of a thread the tools that are called. */
#ifndef SORTS_H
#define SORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

#define SORT_ROUNDS_MAX 3u
#define SORT_CALLS_MAX 4u
#define SORT_TASK                                                                        \
	"task" /* a tool that another agent is behind: its effects are that one's */

/* What fails does so in the first runs that call it, so many, and says that; what a human answers who is asked about a transfer
 * of a sort that fails. */
#define SORT_STUMBLES "2"
#define SORT_STUMBLED "not yet"
#define SORT_RESPONSE "noted fee"

/* One tool call: the id the model gives it, and the tool. name is what the tool notes. */
struct sort_call {
	const char *id, *tool, *name;
};

struct sort_turn {
	struct sort_call rounds[SORT_ROUNDS_MAX][SORT_CALLS_MAX]; /* ended by id NULL */
	const char *answer;
};

struct sort {
	const char *agent;
	unsigned per_mille; /* of the threads */
	unsigned turns;     /* runs of a thread, queued at once */
	bool stream;
	bool asks;  /* a human, before its calls */
	bool fails; /* of one call, and is gone on with (mending.h) */
	bool
	    changes; /* its agent does, while runs go on: texts end with its version's number */
	const struct sort_turn *turn; /* turns of them */
};

extern const struct sort sorts[];
extern const size_t sort_count;

/* The tools' file; program is chaos-effect, log its log. */
const char *sort_tools(struct arena *arena, const char *program, const char *log);
/* The agents' file, and that of version number of the one that changes. */
const char *sort_agents(struct arena *arena);
const char *sort_changed(struct arena *arena, unsigned number);
/* Of the stories of lives.h: no thread of the load is its. */
const struct sort *sort_lodger(void);

/* The effects of the agent behind a sort_call of SORT_TASK in a sort that fails, ended by NULL. */
extern const char *const sort_task_effects[];

/* The call of that id in a turn, or NULL. */
const struct sort_call *sort_find(const struct sort_turn *turn, const char *id);

#endif
