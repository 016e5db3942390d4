/* secure_kit: a fleet_kit whose broker wants keys and whose Redis wants users, as
 * docs/security.md sets one up; and what all of its processes say, kept to be read. */
#ifndef SECURE_KIT_H
#define SECURE_KIT_H

#include <stdbool.h>

#include "arena.h"
#include "cli.h"
#include "fleet_kit.h"

struct secure_kit {
	struct fleet_kit *kit;
	struct arena *arena;
	struct cli flotilla; /* without settings: see secure_run */
	const char *allow;   /* the list's path */
	const char *broker_key, *fleet_key, *client_key; /* pairs: paths */
	const char *redis_coordinator, *redis_cli;       /* URLs with passwords */
	const char *admin; /* Redis's password for the user admin, who may do all */
	int log;           /* what our stderr was replaced by */
};

/* Makes keys for the broker, for worker and coordinator ("fleet") and for a client, the list
 * and the Redis users; nothing runs yet. From now on our own stderr, and that of all that is
 * started, goes to a file. */
void secure_start(struct secure_kit *secure);

/* As kit_destroy; puts stderr back. */
void secure_stop(struct secure_kit *secure);

/* A new pair of that name; returns its path. */
const char *secure_new_key(struct secure_kit *secure, const char *name);

/* Runs `flotilla ARGUMENT...` as the client; secure_expect requires status 0. */
struct said secure_run(struct secure_kit *secure, const char *const argv[]);
#define SECURE_RUN(secure, ...)                                                          \
	secure_run(secure, (const char *const[]){ __VA_ARGS__, NULL })
const char *secure_expect(struct secure_kit *secure, const char *const argv[]);
#define SECURE_EXPECT(secure, ...)                                                       \
	secure_expect(secure, (const char *const[]){ __VA_ARGS__, NULL })

/* Asks Redis as admin; returns what it answered. */
const char *secure_ask(struct secure_kit *secure, const char *const argv[]);
#define SECURE_ASK(secure, ...)                                                          \
	secure_ask(secure, (const char *const[]){ __VA_ARGS__, NULL })

/* All that was said so far, in the arena. */
const char *secure_log(struct secure_kit *secure);
/* Waits until words are in it; fails the test when they never come. */
void secure_wait_log(struct secure_kit *secure, const char *words);
/* The same of what a command says on stderr that runs beside the test. */
void secure_wait_err(const struct cli_job *job, const char *words);
/* Waits until there is a file of that path. */
void secure_wait_file(const char *path);

#endif
