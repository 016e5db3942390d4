/* feed: what happens in a run, one thing after the other, for who follows it: the events of its stored log, none left out and
 * none twice, and between them, as they come, what workers publish and nobody stores.
 *
 * Where Redis has forgotten some of the log, so that the run's end has a number that was seen, the end is given all the same.
 *
 * What is published says when to look into the log; a look now and then finds what was published in vain. Who waits for the end
 * alone hears of nothing else, and looks seldom: the events before it come in no order and as it happens. */
#ifndef FEED_H
#define FEED_H

#include "api.h"

struct feed;

/* What a feed is for. */
enum feed_what {
	FEED_END, /* the run's end; and to know that it was taken: what a look finds of its log */
	FEED_ALL, /* each event, and what is not stored */
};

/* Returns new: follows run on thread from behind the event of number after (0: from the first), for whom the call's answer is. What
 * it holds counts as what the answer does (exchange_keep). Keeps run and thread. */
struct feed *feed_new(struct call *call, const char *thread, const char *run,
    uint64_t after, enum feed_what what);
/* Takes *feed_p. NULL is fine. */
void feed_destroy(struct feed **feed_p);

/* Says which entry of the inbox, that was just added, begins the run: else one that was deleted before we heard of it is waited for as one that
 * nobody has taken yet. Keeps entry. */
void feed_expect(struct feed *feed, const char *entry);

/* Says what is known of a run that was there already. An end that is older is not its own, but that of a run of its name that
 * was deleted, and is published late. Of one that is deleted from then on nothing more will come; a record without status is of one
 * that may still be taken. */
void feed_was_there(struct feed *feed, const struct value *record);

/* Waits for the next thing, for wait_ms at most. Returns 1: *thing_r, in arena, an event as docs/protocol.md has
 * them (stored, if it has `seq`); 0: nothing came; -1: the fiber was cancelled, nothing more will come
 * (the run has ended and all of it was given, or it was deleted: STORE_NONE; of FEED_END the end is given again and again), or Redis is gone for longer than it may
 * (feed_status). */
int feed_next(struct feed *feed, struct arena *arena, uint64_t wait_ms,
    const struct value **thing_r);
enum store_status feed_status(const struct feed *feed);

/* Whether more is there already, so that feed_next would not wait. */
bool feed_has_more(const struct feed *feed);

/* Waits until the run has ended or paused, or is known to be refused. Returns its last event in arena; NULL as
 * feed_next's -1. beat, if given, is called every beat_ms meanwhile; it ends the wait by -1. */
const struct value *feed_end(struct feed *feed, struct arena *arena, uint64_t beat_ms,
    int (*beat)(void *arg), void *arg);

#endif
