/* wire_bench: a real broker and small workers as children, a caller in this process. */
#ifndef WIRE_BENCH_H
#define WIRE_BENCH_H

#include "caller.h"
#include "children.h"
#include "fiber.h"
#include "links.h"
#include "socket.h"

#define ASKS_MAX 128u
#define WIRE_WAIT_MS 60000u /* then a test has failed; nothing is asserted on time */

/* One call of the test: its request, and what became of it. The outcome counts as stored
 * when it is here. */
struct ask {
	char id[32];
	struct call_request request;
	struct arena *arena;
	struct fiber *fiber;
	bool ended;
	int result; /* of caller_call */
	struct call_outcome outcome;
};

struct wire_bench {
	char *folder;
	char endpoint[128], status[128], log[128];
	const char *broker_flag; /* "--queue-calls-max=2", or NULL */
	bool on_tcp;             /* its endpoint is a port, and no path */
	struct child *broker;
	struct loop *loop;
	struct timer *turns; /* the loop turns though nothing happens */
	struct links *links;
	struct caller *caller;
	bool up;
	unsigned ups;
	struct arena *arena;
	const struct value *stats; /* the last answer to bench_stats */
	struct ask asks[ASKS_MAX];
	size_t ask_count;
	char log_text[65536]; /* as it was when it was looked at last */
};

/* Starts the broker and the caller, and waits until the session is open. */
void wire_start(struct wire_bench *bench);
void wire_stop(struct wire_bench *bench); /* every child exits with 0 */

void wire_broker_start(struct wire_bench *bench);

/* Returns a new small worker that serves services ("tool:a,tool:b"); wire_served waits
 * until the broker knows it. */
struct child *wire_worker(struct wire_bench *bench, const char *name,
    const char *services, unsigned slots, unsigned drain_ms);
void wire_served(struct wire_bench *bench, const char *service, unsigned workers);

/* Starts a call with the request {do: what, path, service}; more of it can be set in the
 * ask before the loop turns. */
struct ask *wire_ask(struct wire_bench *bench, const char *service, const char *what);
void wire_set(struct ask *ask, const char *key, const char *text);

/* Runs the loop until ask, all asks, or done(arg) is through. Fails the test after
 * WIRE_WAIT_MS. */
void wire_wait(struct wire_bench *bench, const struct ask *ask);
void wire_wait_all(struct wire_bench *bench);
void wire_until(
    struct wire_bench *bench, bool (*done)(void *arg), void *arg, const char *what);

/* Waits until a line with this beginning is in the log; counts such lines. */
void wire_wait_logged(struct wire_bench *bench, const char *line);
unsigned wire_logged(struct wire_bench *bench, const char *line);

/* Asks the broker for its tables; lent until the next. */
const struct value *wire_stats(struct wire_bench *bench);
int64_t wire_counter(struct wire_bench *bench, const char *name);

/* Fails unless ask was answered well; returns the answer. */
const struct value *wire_answer(const struct ask *ask);

#endif
