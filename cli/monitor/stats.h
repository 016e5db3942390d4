/* stats: the tables of the brokers, asked for with a real message on a session of ours. */
#ifndef STATS_H
#define STATS_H

#include "session.h"

struct stats;

/* Returns new: connects to every broker of the session. NULL after saying why. */
struct stats *stats_new(struct session *session);

/* Takes *stats_p. NULL is fine. */
void stats_destroy(struct stats **stats_p);

size_t stats_brokers(const struct stats *stats);
const char *stats_endpoint(const struct stats *stats, size_t broker);

/* Asks every broker and waits, on a fiber, until all have answered, at most wait_ms. Returns
 * how many did, or -1 when it was interrupted. The answers are in arena. */
int stats_ask(struct stats *stats, struct arena *arena, uint64_t wait_ms);

/* The same, but once enough(arg) is true, asked after each answer, the other brokers get only a moment more. */
int stats_ask_for(struct stats *stats, struct arena *arena, uint64_t wait_ms,
    bool (*enough)(void *arg), void *arg);

/* The tables (docs/protocol.md, "Tables of the broker") that broker has answered the last
 * stats_ask (or stats_ask_for) with; NULL: it did not answer. */
const struct value *stats_tables(const struct stats *stats, size_t broker);

/* The answers as the tables of one broker, in arena: sessions that a process has with several
 * brokers are one row, sums are added up, `broker` is the first's. NULL when none answered. */
const struct value *stats_merged(const struct stats *stats, struct arena *arena);

/* A broker's tables without what is not as docs/protocol.md has it, in arena: rows and fields of other
 * kinds. NULL: the broker does not say who it is. */
const struct value *stats_tidy(struct arena *arena, const struct value *tables);

/* Whether a row of a tidy table of sessions serves anything whose name begins with prefix. */
bool stats_serves(const struct value *row, const char *prefix);

/* Two brokers' tables as one, in arena. */
const struct value *stats_merge(
    struct arena *arena, const struct value *one, const struct value *other);

/* The same of their `times` alone; NULL is one who counts none. */
const struct value *stats_merge_times(
    struct arena *arena, const struct value *one, const struct value *other);

/* Asks every broker that has answered to probe its workers now. */
void stats_probe(struct stats *stats);

#endif
