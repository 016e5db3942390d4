/* ledger_bench: a ledger of calls over three brokers, all up: events in by hand, the actions of the last
 * one looked at, time moved by hand. Cargos are counted: each must be freed. */
#ifndef LEDGER_BENCH_H
#define LEDGER_BENCH_H

#include "ledger.h"

#define LINKS 3u
#define ALL_LINKS (LINK_BIT(LINKS) - 1)
#define RUN "r1"

struct cargo {
	char mark; /* 'c' */
};

struct waiter {
	char mark;
};

#define LB_DEADLINE_MS 60000u /* of each call */

struct ledger_bench {
	struct ledger *ledger;
	struct ledger_actions actions; /* of the last step */
	uint64_t identities[LINKS];
	struct waiter somebody; /* waits for every call */
	uint64_t now_ms;
	long cargos;                   /* given and not freed */
	size_t body_bytes;             /* in those that are given next */
	uint32_t first, second, third; /* RUN's links, in order */
};

extern struct ledger_bench lb;

/* A checked fixture. */
void lb_setup(void);
void lb_teardown(void);

/* --- one step each ---------------------------------------------------------------------- */

void lb_step(struct ledger_event event);

void lb_up(uint32_t link);
void lb_down(uint32_t link);
void lb_leaving(uint32_t link);

/* A call of RUN with a cargo. */
void lb_call(const char *id);
void lb_call_flagged(const char *id, unsigned flags);
/* The same of another run. */
void lb_call_of(const char *run, const char *id);

/* An event that names a call or a run. */
void lb_about(enum ledger_event_type type, const char *id);

/* What a broker says. */
void lb_message(uint32_t link, struct header header);
void lb_say(uint32_t link, enum message_type type, const char *id);
void lb_result(uint32_t link, const char *id, enum wire_code code);

void lb_tick(uint64_t ms);

/* --- what came of it ---------------------------------------------------------------------- */

/* The first action of type, or NULL. */
const struct ledger_action *lb_find(enum ledger_action_type type);

/* The links that got a message of type about id; each at most one. */
link_set lb_told(enum message_type type, const char *id);

/* The first message, which must be a CALL; whether it was flagged RESEND. */
const struct ledger_action *lb_sent_call(void);
bool lb_flagged(void);

#endif
