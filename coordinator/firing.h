/* firing: submits the runs of crons that are due (store/crons.h). Any coordinator does it for all shards, as a chore.
 *
 * It reads what is due, with Redis's time (1); finds the next time behind the one that was due and behind now, so that
 * times missed while nobody was there are fired once (2); reads its assistant, if it has one (assistants.h), and looks whether the
 * agent is there (3); has the run submitted
 * and the next time set, in one step of Redis that does nothing where the cron is due at another time by then, or was
 * changed (4); from there on the run is as any that was submitted: an entry of the inbox. So, who dies
 *
 * coordinator, before (4) reaches Redis   nothing was done: it is due still, and any other one's next look, a second
 *                                         later, finds it
 * coordinator, behind (4)                 all was done: who looks finds the next time
 * coordinator, (4) sent, no answer        one of these two; whoever sends it again, it itself as well, is told that it
 *                                         is due no more
 * two of them at (4)                      Redis does one, the other finds another time
 * Redis, before (4) is on its disk        neither the entry nor the next time is there: it is due still
 * Redis, its replica takes over           without (4): it is fired again, with the same run id, which the inbox drops
 *                                         where the run is known
 * all of them                             as Redis; what is due when they are back is fired once
 * who takes the entry from the inbox      as with any submission (inbox.h)
 *
 * Where Redis has no room for what is new (maxmemory), (4) waits, and the cron is due until there is some. */
#ifndef FIRING_H
#define FIRING_H

struct coordinator;

/* Fires what is due in shard. On a fiber. */
void firing_sweep(struct coordinator *coordinator, unsigned shard);

#endif
