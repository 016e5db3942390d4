/* catalog: what the live workers serve, as the brokers OFFER it. A worker is offered by each
 * broker that it is connected to, and served as long as one of them offers it.
 *
 * Definitions of tools stay known when their last worker goes (a call waits for the next
 * one), while there are no more than CATALOG_TOOLS_MAX; the newest announcement of a name wins. What is new is also written to Redis,
 * where the command line finds it, until nobody has served it for TOOLS_KEEP_MS. */
#ifndef CATALOG_H
#define CATALOG_H

#include "loop.h"
#include "rendezvous.h"
#include "socket.h"
#include "store.h"
#include "wire.h"

struct catalog;

struct catalog *catalog_new(struct loop *loop, struct store *store);
void catalog_destroy(struct catalog **catalog_p);

/* The broker of link is there, or gone and all its view with it; its OFFER and WITHDRAW. */
void catalog_up(struct catalog *catalog, uint32_t link);
void catalog_offer(struct catalog *catalog, uint32_t link, const struct header *header,
    struct parts *bodies);
void catalog_withdraw(
    struct catalog *catalog, uint32_t link, const struct header *header);
void catalog_down(struct catalog *catalog, uint32_t link);

/* Says in Redis, on a fiber, what is served now, and has forgotten there what nobody has served for long. To be called now and
 * then, once an hour at most. */
void catalog_tell(struct catalog *catalog);
/* The same, if Redis has no tools at all, and some are served: it has lost its data, or is another one. One look, to be
 * called once a second or so. */
void catalog_keep(struct catalog *catalog);

/* {name: definition} of every tool known, lent until the next offer. */
const struct value *catalog_tools(const struct catalog *catalog);
/* Changes whenever catalog_tools does. */
uint64_t catalog_generation(const struct catalog *catalog);
/* A live worker serves it. */
bool catalog_serves(const struct catalog *catalog, const char *service);
/* It is served, and all who do keep threads (docs/protocol.md, "A thread that is known"). */
bool catalog_keeps_threads(const struct catalog *catalog, const char *service);
/* The providers that live workers serve models of, "openai", in arena, sorted. */
const struct value *catalog_providers(const struct catalog *catalog, struct arena *arena);
/* Waits, on a fiber, until service is served or its tool known, at most wait_ms from since
 * (in loop_now_ms), or from when a broker came: while none is there nobody can tell who
 * serves what. Returns 0, 1 when the time is over, -1 when cancelled. */
int catalog_wait(
    struct catalog *catalog, const char *service, uint64_t since, uint64_t wait_ms);
/* On a fiber. The definition of a tool that nobody serves is known from then on, if Redis has it. service: the tool's, or
 * another, of which nothing is to be known. Returns 0, or -1: Redis does not say. */
int catalog_recall(struct catalog *catalog, const char *service);
/* The served name most like service, or NULL. */
const char *catalog_nearest(
    const struct catalog *catalog, struct arena *arena, const char *service);

#endif
