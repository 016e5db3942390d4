/* rig: a whole fleet for one measurement: Redis with its append-only file, broker,
 * coordinator, model worker, tool worker, and the model server they ask.
 *
 * The programs are those of the build folder the benchmark itself lies in; sockets, data
 * and the append-only file are in a new folder under /tmp. */
#ifndef RIG_H
#define RIG_H

#include <stdint.h>
#include <stddef.h>

#define RIG_TOOL_ANSWER "51" /* what the agent's one tool answers in every run */

enum rig_part {
	RIG_REDIS,
	RIG_BROKER,
	RIG_COORDINATOR,
	RIG_MODEL,
	RIG_TOOLS,
	RIG_FLEET, /* how many parts count as the fleet */
	RIG_SERVER = RIG_FLEET,
	RIG_PARTS,
};

struct rig_options {
	const char *fsync;  /* Redis's appendfsync */
	int64_t latency_ms; /* of a model call */
	size_t calls;       /* calls in flight at most */
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
const char *rig_status(const struct rig *rig);

const char *rig_part_name(enum rig_part part);

/* The CPU time of the part's process so far, all its threads, in microseconds. */
double rig_cpu_us(const struct rig *rig, enum rig_part part);

/* The memory of the part's process that is resident now, in bytes. */
size_t rig_resident_bytes(const struct rig *rig, enum rig_part part);

/* The append-only file that Redis writes; lent until the rig goes. Nothing rewrites it. */
const char *rig_log(const struct rig *rig);

/* What the model server has read so far, in bytes: the requests, heads and bodies. */
uint64_t rig_asked_bytes(const struct rig *rig);

/* Connections to the model server: as many as there are calls it has not answered, or
 * more. */
size_t rig_connections(const struct rig *rig);

#endif
