/* run_body: what a client of LangGraph's API asks of a run, as an entry of our inbox (docs/submit.md). Pure. */
#ifndef RUN_BODY_H
#define RUN_BODY_H

#include <stdbool.h>

#include "assistants.h"

/* What a stream shows; names as LangGraph's. */
enum mode {
	MODE_VALUES = 1,
	MODE_UPDATES = 2,
	MODE_MESSAGES = 4,       /* whole messages, growing */
	MODE_MESSAGES_TUPLE = 8, /* pieces */
	MODE_CUSTOM = 16,
	MODE_TASKS = 32, /* these three: trail.h */
	MODE_CHECKPOINTS = 64,
	MODE_DEBUG = 128,
	MODE_EVENTS = 256, /* these two: frames_calls.c */
	MODE_TOOLS = 512,
};
/* That show a model's text as it comes. */
#define MODES_OF_TEXT ((unsigned)(MODE_MESSAGES | MODE_MESSAGES_TUPLE | MODE_EVENTS))

/* Adds the mode of that name to *modes. Returns false where there is none. */
bool mode_add(const char *name, unsigned *modes);
/* Their names with commas between, in arena. */
const char *mode_names(struct arena *arena, unsigned modes);

/* What is known beside the body. */
struct run_place {
	const char *thread, *run; /* both are there */
	/* That assistant_id names, whose agent it is, and which has what is said of neither context nor metadata; NULL: the
	 * agent of that name. */
	const struct assistant *assistant;
	const char *tenant;      /* of the key, or NULL */
	const char *traceparent; /* of the request, which is one; or NULL */
	const char *fingerprint; /* of a request that may be made again, or NULL */
	bool is_stateless;       /* the thread is made for it, and goes with it */
	/* Of a thread that there is: where it stands, for a body without input. */
	bool
	    goes_on; /* it is paused, or what its last run did not finish can be gone on with */
	int64_t version;  /* that it stands at */
	const char *next; /* the node that it stands in front of, or NULL: none */
};

struct run_body {
	const struct value *fields; /* {name: text} for the inbox */
	const struct value *
	    command; /* {goto?, update?, resume?} of where it begins and what it writes before, or NULL */
	const char *agent;
	const char *assistant;        /* NULL: the agent as it is */
	const struct value *metadata; /* as it is kept, or NULL */
	unsigned modes;               /* enum mode bits */
	bool cancels_on_disconnect;
	bool keeps_thread; /* of a stateless run */
};

/* Reads body into *read_r. Returns NULL, or what is wrong with it, in arena. */
const char *run_body_read(struct arena *arena, const struct value *body,
    const struct run_place *place, int64_t now_ms, struct run_body *read_r);

/* The metadata that body asks for, as they are given: `metadata`, over those of `config`. NULL where neither is a map. */
const struct value *run_body_metadata(struct arena *arena, const struct value *body);

/* What of a run that was begun is known by its record: agent, assistant, metadata. */
void run_body_recall(const struct value *record, struct run_body *read);

/* The version that a body's checkpoint or checkpoint_id names, or that of config.configurable, 0: the empty thread; NO_CHECKPOINT where there is none, -1
 * where it is none of ours. */
#define NO_CHECKPOINT INT64_C(-2)
int64_t run_body_checkpoint(const struct value *body);

/* "ms action" of {ttl: minutes, strategy}, or of minutes; NULL where there is none. *error_r when it is wrong. */
const char *run_body_ttl(
    struct arena *arena, const struct value *ttl, const char **error_r);

#endif
