/* feed_private: between the files of feed. */
#ifndef FEED_PRIVATE_H
#define FEED_PRIVATE_H

#include "feed.h"
#include "live.h"

#define LOOK_FIRST_MS 4u /* before its first event: that a run waits is not published */
#define EVENTS_FIRST 8u  /* that are read at once; twice as many, where they were small */

/* What was published: a body of what is not stored, or that the log has events up to that number. */
struct heard {
	struct packet body;
	uint64_t seq; /* 0: body */
	int64_t step; /* of body */
};

struct feed {
	struct api *api;
	struct exchange *exchange; /* that it is for */
	const char *thread, *run, *entry;
	struct live_ear *ear;
	enum feed_what what;
	struct packet end; /* of FEED_END: `finished`, as it was published */
	bool is_known; /* the run was there; of one that an entry begins Redis says it */
	bool looks_back;     /* for the run's end alone, where it has been seen to be */
	struct fiber *fiber; /* that waits, or NULL */
	struct heard *heard; /* a queue: from first to count */
	size_t first, count, room, heard_bytes;
	struct arena *arena;        /* of events */
	const struct value *events; /* that were read, from at on still to be given */
	size_t at;
	unsigned limit;    /* so many at most, the next time */
	bool is_part;      /* the log had more than those */
	int64_t step;      /* the last one of which something was published here */
	uint64_t given;    /* the last one that its reader had before */
	uint64_t seen;     /* the last one that was read */
	uint64_t look_at;  /* when to read again, in loop_now_ms */
	uint64_t pause_ms; /* until the look behind that */
	int64_t since_ms;  /* when it was submitted, or before; 0 */
	enum store_status status;
};

/* --- feed.c ------------------------------------------------------------------------------- */

/* Counts what is held. */
void feed_count(struct feed *feed);

/* --- feed_log.c --------------------------------------------------------------------------- */

/* Says when to look into the log again, though nobody says that there is anything. */
void feed_put_off_look(struct feed *feed);
/* Reads the log, now that there may be more. Returns 0, or -1: nothing more will come (STORE_NONE), or Redis is gone. */
int feed_look(struct feed *feed);
/* What was read and is next, or NULL. */
const struct value *feed_event(const struct feed *feed);
uint64_t feed_event_seq(const struct value *event);

#endif
