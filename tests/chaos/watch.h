/* watch: asks every broker for its tables each second, past the proxy, while all goes on, and
 * checks that they add up (11, 12). Counters of brokers that died are kept. */
#ifndef WATCH_H
#define WATCH_H

#include "tally.h"
#include "value.h"

struct watch;

struct watch *watch_new(struct fleet *fleet, struct tally *tally);
void watch_destroy(struct watch **watch_p);

/* The sum over all brokers there ever were, of one of broker/counters.def. */
int64_t watch_sum(struct watch *watch, const char *counter);

/* The last answer of broker index, or NULL; lent until the next one. asked_r: how many there
 * were. */
const struct value *watch_stats(struct watch *watch, unsigned index, unsigned *answers_r);

#endif
