/* chores: what is to be done in the shards besides their runs: children of runs that ended badly,
 * webhooks, crons that are due, items and threads whose time is over. None of it may hold up a lease: it has fibers of
 * its own. One goes round all shards and asks each once whether there is anything; a shard with
 * something gets a fiber for what is short; its threads are taken by some fibers that all shards share, so that
 * what is deleted keeps pace with what a busy fleet makes, however long Redis takes to answer.
 *
 * The looks and the deletions have a connection to Redis of their own, and with it a share: Redis takes some commands of each
 * connection in turn. Behind the commands of the runs each would wait for its turn, which takes seconds where there is more to
 * do than can be done; then less is deleted than such a fleet makes, and Redis fills.
 *
 * Every coordinator does this for all shards; each thing may be done twice. */
#ifndef CHORES_H
#define CHORES_H

struct coordinator;
struct chores;

struct chores *chores_new(struct coordinator *coordinator);
/* Ends the fibers; the loop must run until they have ended. */
void chores_stop(struct chores *chores);
void chores_destroy(struct chores **chores_p);

#endif
