/* rendezvous: which of several brokers carries what belongs to a run. Everybody who ranks
 * the same brokers for the same run comes to the same order, without talking about it;
 * when one is gone only its runs move, and spread over the others. */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stdint.h>

#define LINK_NONE UINT32_MAX

/* A set of links, by index; BROKERS_MAX fit. */
typedef uint32_t link_set;
#define LINK_BIT(link) ((link_set)1 << (link))

/* The number that stands for a broker in the ranking, of its endpoint. */
uint64_t rendezvous_identity(const char *endpoint);

/* Returns the first in run's order of the links that are in usable, or LINK_NONE when
 * that is empty. identities: of each link. run may be NULL. */
uint32_t rendezvous_choose(const uint64_t *identities, link_set usable, const char *run);

#endif
