/* inbox: moves submissions from the stream fl:inbox into their threads.
 *
 * Each entry goes to one coordinator (consumer group); it is deleted when its run is
 * queued, so one that dies in between leaves it to be claimed by another after a while.
 * Moving is idempotent by run id, and keeps the order of a thread's entries
 * (inbox_line.h). What cannot run is answered (the run's record and event log say why)
 * and kept in fl:refused. */
#ifndef INBOX_H
#define INBOX_H

struct coordinator;
struct inbox;

struct inbox *inbox_new(struct coordinator *coordinator);
/* Stops reading; the loop must run until inbox_idle. */
void inbox_stop(struct inbox *inbox);
int inbox_idle(const struct inbox *inbox);
void inbox_destroy(struct inbox **inbox_p);

#endif
