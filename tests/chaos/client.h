/* client: a user of the API over HTTP (docs/http.md), who asks now this server, now that one, through the network that
 * fails, and now and then hangs up. What may not have arrived he asks for again, under the same Idempotency-Key; what breaks off he takes up behind the
 * last frame that he has. So each run is begun once, and he is told all of it, nothing twice. */
#ifndef CLIENT_H
#define CLIENT_H

#include "tally.h"
#include "value.h"

struct client;

/* Keeps fleet. */
struct client *client_new(struct fleet *fleet);
/* Nobody asks any more. NULL is fine. */
void client_destroy(struct client **client_p);

/* What a client asks for, and is told of it. */
struct client_run {
	const char *thread, *agent, *key;
	const char *what;      /* of the body: "input": {...}, or "command": {...} */
	const char *multitask; /* or NULL */
	bool streams;
	/* Whether the run was put back, and there is none any more for who asks. NULL: it is not to be. */
	bool (*is_gone)(void *arg);
	void *arg;
	struct arena *arena;
	const char *id; /* NULL: not known yet */
	const struct value
	    *values; /* the last that he was shown; in an arena of its own */
	struct client_text *texts; /* of the model's messages, as they came */
	size_t text_count, text_room;
	const char *last_id;
	unsigned asked, cuts; /* how often he did, and had to go on elsewhere */
	bool ended;
};

/* Takes nothing but what it is given; kept until client_run_release. */
void client_run_init(struct client_run *run, const char *thread, const char *agent,
    const char *key, const char *what, bool streams);
void client_run_release(struct client_run *run);

/* On a fiber. Asks until the run is begun: run->id. Returns NULL, or what a server said that it must not. */
const char *client_begin(struct client *client, struct client_run *run);
/* Behind that: follows it to its end, or until it is gone. */
void client_follow(struct client *client, struct client_run *run);

/* One request, at one of the servers. Returns its status; 0: what became of it is not known. */
long client_ask(struct client *client, const char *method, const char *path);
/* Asks for the run's end until that was heard; back: with a rollback. Returns the status: 202, it goes on and will end; 204,
 * it has ended; 404, it is gone. */
long client_cancel(struct client *client, const char *thread, const char *run, bool back);

/* That he was told what the run, which has succeeded, has done: messages, the thread's up to its end, and its own from one on
 * (8). */
void client_check(const struct client_run *run, struct tally *t,
    const struct value *messages, size_t from, size_t count);

/* Of all, for the report: requests, and those that broke off. */
unsigned long client_asked(const struct client *client);
unsigned long client_cuts(const struct client *client);

#endif
