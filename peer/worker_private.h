/* worker_private: what a worker knows of the calls that run. Private to it. */
#ifndef WORKER_PRIVATE_H
#define WORKER_PRIVATE_H

#include "caller.h"
#include "id_table.h"
#include "outbox.h"
#include "profiles.h"
#include "telling.h"
#include "worker.h"

struct job;

/* Begins the span of job's call, where that is traced and somebody is told: sets job->call.span. */
void worker_trace_begin(struct job *job);
/* The call has been answered with body. */
void worker_trace_end(struct job *job, const struct value *body);
/* What a call that job's makes is sent with, in its arena; or NULL. */
const char *worker_trace_nested(const struct job *job);

/* An id of a call this call has made; kept at the broker until this call has ended, so that
 * who runs this call again after our death finds the answer. */
struct nested {
	struct nested *next;
	const char *id;
};

struct job {
	struct worker_call call; /* first: what the answer function gets */
	struct header header;    /* strings in the arena */
	struct parts *bodies;    /* until they are decoded, then NULL */
	struct profile *profile;
	struct nested *nested;
	struct fiber *fiber;
	uint32_t link; /* by which it came */
	uint64_t seq;  /* of PROGRESS */
	struct telling telling;
	bool goes_on; /* elsewhere: it was stopped for that */
	struct id_key key;
};

struct worker {
	struct loop *loop;
	struct worker_options options;
	struct links *links;
	struct caller *caller;
	struct outbox *outbox;
	struct profiles *profiles;
	struct timer *timer;
	struct id_table *jobs;
	const struct header *incoming; /* the message under way, for START */
	uint32_t incoming_link;
	struct parts *incoming_bodies;
	struct job *unstarted; /* there was no fiber for it */
	bool is_probing;       /* a fiber is on its way with the probes */
	link_set probing;      /* who asked */
	char probes[BROKERS_MAX][ID_BYTES_MAX + 1];
	bool is_drained, was_told;
	void (*drained)(void *arg);
	void *drained_arg;
};

#endif
