/* fleet_kit: a fleet of real processes on sockets in a folder of its own: Redis with its
 * data on disk, brokers, workers, coordinators; each can be killed, stopped, started again.
 *
 * The programs are those of the build folder the test itself lies in. What goes wrong ends
 * the test with a message (children.h). */
#ifndef FLEET_KIT_H
#define FLEET_KIT_H

#include <stdbool.h>
#include <sys/types.h>

struct fleet_kit;

enum kit_kind { KIT_REDIS, KIT_BROKER, KIT_TOOLS, KIT_MODEL, KIT_COORDINATOR, KIT_KINDS };
#define KIT_INDEX_MAX 4 /* processes of one kind */

/* Returns a new kit with its folder; nothing runs yet. KIT_TLS=1 in the environment has its Redis reached by TLS: to
 * see what other tests say of that (those with a replica say nothing sensible). */
struct fleet_kit *kit_new(void);

/* Takes *kit_p: SIGTERM to all that run, who calls before who is called; requires status 0
 * of each. Removes the folder. */
void kit_destroy(struct fleet_kit **kit_p);

/* The fleet has so many brokers instead of one: those of index 0 and on. Before anything is
 * started. */
void kit_set_brokers(struct fleet_kit *kit, unsigned count);

/* The only broker is a hub, which gets what coordinators get as well. Coordinators that are started beside it
 * join it from outside. Before anything is started. KIT_HUB=1 in the environment does it for every kit with one
 * broker: to see what other tests say of a hub. */
void kit_have_hub(struct fleet_kit *kit);
bool kit_has_hub(const struct fleet_kit *kit);

/* What processes of kind get beyond the usual from now on: a flag with its value, or a
 * "NAME=value" of the environment. Texts are copied. */
void kit_flag(
    struct fleet_kit *kit, enum kit_kind kind, const char *flag, const char *value);
void kit_env(struct fleet_kit *kit, enum kit_kind kind, const char *line);

/* From now on there are two addresses of Redis: the ones of index 0 and 1; each is a replica of the
 * one before it. kit_start starts them. Before anything runs. */
void kit_have_replica(struct fleet_kit *kit);
/* Runs `redis-cli WORD...` at that Redis (NULL-ended); returns what it said. */
const char *kit_redis_cli(struct fleet_kit *kit, unsigned index, const char *word, ...)
    __attribute__((sentinel));

/* Starts one that does not run, and returns when it is ready. */
void kit_start(struct fleet_kit *kit, enum kit_kind kind, unsigned index);
/* The same without waiting for that: it may end by itself before. */
void kit_spawn(struct fleet_kit *kit, enum kit_kind kind, unsigned index);
/* Redis (unless it runs) and the brokers, then so many of each, at the same time. */
void kit_start_all(
    struct fleet_kit *kit, unsigned tools, unsigned models, unsigned coordinators);

/* SIGTERM, and its end with status 0 is awaited. */
void kit_stop(struct fleet_kit *kit, enum kit_kind kind, unsigned index);
/* Its end with status 0 is awaited: it was told to end before. */
void kit_await_end(struct fleet_kit *kit, enum kit_kind kind, unsigned index);
/* SIGKILL; it is gone when this returns. */
void kit_kill(struct fleet_kit *kit, enum kit_kind kind, unsigned index);
/* SIGKILL to all that run, then all of them anew; returns when they are ready. Nothing is left but
 * what lies in Redis's file. */
void kit_restart_all(struct fleet_kit *kit);
/* Waits for the end of one that ends by itself, however. */
void kit_wait(struct fleet_kit *kit, enum kit_kind kind, unsigned index);
void kit_signal(struct fleet_kit *kit, enum kit_kind kind, unsigned index, int number);
bool kit_runs(const struct fleet_kit *kit, enum kit_kind kind, unsigned index);
pid_t kit_pid(const struct fleet_kit *kit, enum kit_kind kind, unsigned index);

/* "coordinator-1": the --name of the process, of index 1. */
const char *kit_name(struct fleet_kit *kit, enum kit_kind kind, unsigned index);

/* Runs `flotilla ARGUMENT...` on this fleet (NULL-ended) and requires status 0; returns what it
 * said. */
const char *kit_flotilla(struct fleet_kit *kit, const char *argument, ...)
    __attribute__((sentinel));

/* Writes a text file into the folder; returns its path. */
const char *kit_write(struct fleet_kit *kit, const char *name, const char *text);

/* Texts that live as long as the kit. */
const char *kit_path(struct fleet_kit *kit, const char *name);    /* in the folder */
const char *kit_program(struct fleet_kit *kit, const char *name); /* bin/name */
const char *kit_built(struct fleet_kit *kit, const char *name);   /* beside bin */
const char *kit_redis(
    const struct fleet_kit *kit); /* "unix://...", both with a replica */
const char *kit_broker(const struct fleet_kit *kit); /* "ipc://...", the first one's */
const char *kit_status(const struct fleet_kit *kit);
/* Of each; and where it publishes. */
const char *kit_broker_at(struct fleet_kit *kit, unsigned index);
const char *kit_status_at(struct fleet_kit *kit, unsigned index);

#endif
