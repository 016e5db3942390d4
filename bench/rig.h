/* rig: a whole fleet for one measurement: Redis with its append-only file, broker,
 * coordinator, model worker, tool worker, or several of a kind, and the model server they ask.
 *
 * The programs are those of the build folder the benchmark itself lies in; sockets, data
 * and the append-only file are in a new folder under /tmp. */
#ifndef RIG_H
#define RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIG_TOOL "calculate" /* that the agent has */
#define RIG_TOOL_ANSWER "51" /* what the agent's one tool answers in every run */
#define RIG_ROUNDS 3u        /* of tool calls, unless a script says otherwise */

enum rig_part {
	RIG_REDIS,
	RIG_HUB, /* or the next two */
	RIG_BROKER,
	RIG_COORDINATOR,
	RIG_MODEL,
	RIG_TOOLS,
	RIG_FLEET, /* how many parts count as the fleet */
	RIG_SERVER = RIG_FLEET,
	RIG_PARTS,
};

#define RIG_COPIES_MAX 4u /* of one part */

/* What the model does in a run, and how large it is. */
struct rig_script {
	unsigned rounds;   /* that call the tool, RIG_ROUNDS; then it answers */
	unsigned parallel; /* calls of the tool in each; 0: 1 */
	size_t bytes; /* of the text of each of the model's and the tool's messages; 0: a
	                      sentence, RIG_TOOL_ANSWER */
	unsigned tokens; /* that the model's texts are streamed in; 0: 1 */
	unsigned gap_ms; /* between two of them; 0: all at once */
	bool tasks; /* the tool is `task`: each call has an agent make one model call */
};

enum rig_layer { RIG_NO_LAYER, RIG_C_WRAP, RIG_C_NODE, RIG_LUA_WRAP, RIG_LUA_NODE };

/* What is 0 or NULL is as it is in a small fleet, one process of each, as `flotilla up` starts it: broker and
 * coordinator are a hub then. */
struct rig_options {
	const char *fsync;  /* Redis's appendfsync */
	int64_t latency_ms; /* of a model call */
	size_t calls;       /* calls in flight at most, in each worker */
	unsigned brokers, coordinators, models, tools; /* processes, RIG_COPIES_MAX */
	bool apart; /* one broker and one coordinator, and no hub */
	struct rig_script script;
	enum rig_layer layer; /* of middleware that does nothing, */
	unsigned layers;      /* so many */
	int64_t keep_ms; /* threads are deleted so long after their last run; 0: never */
	bool rewrites;   /* of the append-only file, as Redis does them by itself */
};

struct rig;

/* Returns a new fleet that has said it is ready and knows the agent "bench". What goes
 * wrong ends the process with a message that names the program. */
struct rig *rig_start(const struct rig_options *options);

/* Takes *rig_p; every program must end in order. */
void rig_stop(struct rig **rig_p);

/* Takes *rig_p and kills it: for a fleet that waits for a slow model. */
void rig_kill(struct rig **rig_p);

/* Lend until the rig goes. */
const char *rig_redis(const struct rig *rig);
const char *const *rig_brokers(
    const struct rig *rig); /* where they are bound, NULL-ended */
const char *const *rig_status(const struct rig *rig); /* of each broker, NULL-ended */
unsigned rig_port(const struct rig *rig);             /* of the model server */

const char *rig_part_name(enum rig_part part);

/* The CPU time of the part's processes so far, all their threads, in microseconds. */
double rig_cpu_us(const struct rig *rig, enum rig_part part);

/* The memory of the part's processes that is resident now, in bytes; and what it was at most
 * since rig_forget_peaks. */
size_t rig_resident_bytes(const struct rig *rig, enum rig_part part);
size_t rig_peak_bytes(const struct rig *rig, enum rig_part part);
void rig_forget_peaks(const struct rig *rig);

/* The append-only file that Redis writes; lent until the rig goes. Nothing rewrites it. */
const char *rig_log(const struct rig *rig);

/* What the model server has read so far, in bytes: the requests, heads and bodies. */
uint64_t rig_asked_bytes(const struct rig *rig);

/* Waits until the model server has so many connections: there are as many as calls it has not
 * answered, or more. */
void rig_await_connections(const struct rig *rig, size_t calls);

#endif
