/* redis_trial: the Redis client against a real redis-server on a unix socket. */
#ifndef REDIS_TRIAL_H
#define REDIS_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "redis.h"

#define REDIS_TRIAL_MS 60000 /* longer than anything takes, under ASan too */

struct child;
struct fiber;

/* The one of a test's process. */
extern struct redis_trial {
	struct loop *loop;
	struct arena *arena;
	struct child *server;
	struct redis *redis; /* the usual client; has no library */
	const char *path, *url;
	char *folder;
} redis_trial;

void redis_trial_open(void);
void redis_trial_close(void);

/* Starts a server on the unix socket, and on port unless it is "0". */
void redis_trial_start(const char *port);

/* Returns a new client. */
struct redis *redis_trial_client(const char *to, const char *library);

/* A call: what is asked, and what came of it. */
struct redis_question {
	struct redis *redis; /* NULL: the usual one */
	uint64_t wait_ms;    /* 0: REDIS_TRIAL_MS */
	const char *words[8];
	const struct value *reply;
	enum redis_status status;
	bool has_ended;
};

/* Asks question on a fiber of its own. */
struct fiber *redis_trial_begin(struct redis_question *question);
/* Does, and runs until it has ended; others go on. */
void redis_trial_finish(struct redis_question *question);
/* Runs until all fibers have ended. */
void redis_trial_run(void);

/* Asks, runs until all fibers have ended and returns the reply, which must be REDIS_OK. */
const struct value *redis_trial_ask(struct redis_question question);
#define ASK(...) redis_trial_ask((struct redis_question){ .words = { __VA_ARGS__ } })
/* Returns the reply to two words, or NULL, while others wait for theirs. */
const struct value *redis_trial_ask_meanwhile(const char *first, const char *second);
/* Returns the number behind name in Redis' INFO. */
long redis_trial_info(const char *section, const char *name);

/* Begins question with a client of its own; the server has it when this returns. */
struct fiber *redis_trial_begin_blocking(
    struct redis_question *question, struct redis **own_r);

/* The same; Redis has refused it with code, "OOM", and it has not given up. */
void redis_trial_begin_refused(
    struct redis_question *question, struct redis **own_r, const char *code);

/* The reply is these bytes. */
void redis_trial_check(const struct value *reply, const char *expected);

/* Lets a few turns pass. */
void redis_trial_run_a_little(void);
/* Runs until is_so(arg), which may come about without an event of ours. */
void redis_trial_run_until(bool (*is_so)(void *arg), void *arg);
bool redis_trial_is_down(void *redis);
/* Runs until the usual client's trouble has the words. */
void redis_trial_run_until_trouble(const char *words);

#endif
