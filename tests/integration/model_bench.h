/* model_bench: a broker, a model worker and a scripted provider as real programs, and a
 * caller of them in this process. */
#ifndef MODEL_BENCH_H
#define MODEL_BENCH_H

#include "caller.h"
#include "children.h"
#include "http.h"
#include "loop.h"

#define MODEL_BENCH_KEY "sk-test-0123456789abcdef"

struct model_bench {
	struct loop *loop;
	struct arena *arena;
	char *folder;
	struct child *broker, *provider, *worker;
	const char *provider_url;
	struct http *http;
	struct links *links;
	struct caller *caller;
	struct socket *status;
	struct value_list events; /* bodies of what came on the status channel */
	bool is_subscribed;
	unsigned calls;
};

/* Starts all; flags (NULL-ended) are the worker's besides --broker. */
void model_bench_start(struct model_bench *bench, const char *const flags[]);
/* Stops all; each program must end well. */
void model_bench_stop(struct model_bench *bench);

/* The provider plays this from now on: a literal. */
void model_bench_script(struct model_bench *bench, const char *script);

/* Returns what the provider was asked: [{path, authorization, body}]. */
const struct value *model_bench_requests(struct model_bench *bench);

/* One call under way. */
struct model_call {
	struct model_bench *bench;
	struct call_request request;
	struct fiber *fiber; /* NULL once it has ended */
	int result;          /* of caller_call */
	struct call_outcome outcome;
};

/* Starts a call: profile and request are literals, put over {model: "openai:main", ...}
 * and {run: "r", thread: "t", messages: [a human one]}. */
void model_bench_begin(struct model_bench *bench, struct model_call *call, unsigned flags,
    const char *profile, const char *request);
void model_bench_end(struct model_bench *bench, struct model_call *call);

/* Both: returns the RESULT's body, and says that it is stored. */
const struct value *model_bench_call(
    struct model_bench *bench, unsigned flags, const char *profile, const char *request);

/* The same with a whole request. */
const struct value *model_bench_call_with(
    struct model_bench *bench, const char *profile, const struct value *request);

/* Returns such a request, {run, thread, key: messages, base, digest}; what is NULL is left out. */
const struct value *model_bench_request(struct model_bench *bench, const char *key,
    const struct value *messages, const struct value *base, const struct value *digest);

/* Returns the digest of the first count messages, as a request names them. */
const struct value *model_bench_digest(
    struct model_bench *bench, const struct value *messages, size_t count);

/* Runs until the provider was asked so often. */
void model_bench_await_requests(struct model_bench *bench, size_t count);

/* Returns the events so far of that kind; all of them reach us before anything that is
 * published behind them does. */
const struct value *model_bench_events(struct model_bench *bench, const char *kind);

/* Returns the text that was shown so far. */
const char *model_bench_shown(struct model_bench *bench);

#endif
