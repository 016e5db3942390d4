/* api: what the calls of `flotilla serve` share: the world they are in, one request, how it is answered.
 *
 * The API is LangGraph's server's (docs/http.md says which part, and where it differs): its clients work as they are. A call
 * runs on a fiber, one a request; it reads from Redis, submits through the inbox as anybody does, and holds nothing that
 * must survive: a client whose server went away asks another. */
#ifndef API_H
#define API_H

#include <sys/queue.h>

#include "gate.h"
#include "http_server.h"
#include "session.h"
#include "share.h"

#define CALL_PARAMS_MAX 3u

struct issuer;
struct live;
struct blueprints;
struct traffic;

struct api {
	struct session *session;
	struct live *live;             /* the status channel, by run (live.h) */
	struct blueprints *blueprints; /* agents, compiled (blueprint.h) */
	const struct value *keys;      /* [{key, tenant?}], or NULL */
	struct issuer *issuer;         /* whose tokens are keys, too; or NULL */
	struct shares shares;          /* of tenants */
	struct traffic *traffic;       /* what requests came to */
	const char *const *origins;    /* whose pages may ask, NULL-ended; "*": all */
	uint64_t redis_wait_ms;        /* for each step, of a Redis that has gone */
	bool is_local;                 /* only this machine reaches us */
	struct gate states, lists, searches; /* who holds some (room.h) */
	TAILQ_HEAD(, thread_waiter)
	waiters; /* for a thread's next run (thread_stream.c) */
};

struct call {
	struct api *api;
	struct exchange *exchange;
	struct arena *arena;                 /* the exchange's */
	const char *params[CALL_PARAMS_MAX]; /* of the path */
	const struct value *body;            /* an empty map where there is none */
	const char *tenant;                  /* of the key, or NULL */
	struct share *share;                 /* the tenant's, or NULL */
	size_t part;                         /* which of several runs of the body */
	bool has_place, keeps_place;         /* among those who read states (room.h) */
	/* How an error is told; NULL: by its status, as {"detail": text}. */
	void (*tell_error)(struct call *call, unsigned status, const char *text);
};
typedef void call_fn(struct call *call);

/* The store that all calls share. */
struct store *api_store(const struct api *api);

/* --- answers --- */

void reply(struct call *call, unsigned status, const struct value *value);
void reply_nothing(struct call *call); /* 204 */

/* A list of what may be large, of which each item is let go when it is written. Begins as { 0 }. */
struct reply_list {
	struct packet text;
	size_t count;
};
/* Returns false, and leaves item out, when all of it would be more than most bytes; the first always has room. */
bool reply_list_add(struct reply_list *list, const struct value *item, size_t most);
/* Answers with it, or lets it go. */
void reply_list_end(struct reply_list *list, struct call *call);
void reply_list_drop(struct reply_list *list);

/* Begins server-sent events: exchange_write adds to them. */
void reply_events(struct call *call);
/* What is written where nothing is for that long, so that nobody on the way takes the connection for dead. */
#define BEAT_MS 5000u
#define EVENTS_BEAT ": heartbeat\n\n"
/* When that will be, if nothing is written for ms (the loop's clock); and the ms until then, 0: it is time. */
uint64_t beat_next(uint64_t ms);
uint64_t beat_rest(uint64_t at);

/* {"detail": text}; status as HTTP has it. */
void reply_error(struct call *call, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a step of the store came to: 404 for STORE_NONE ("no <what>"), 503 for a Redis that is not there, ...; STORE_REJECTED
 * is that there is no room (room.h). */
void reply_failed(struct call *call, enum store_status status, const char *what);
/* The same as a text, of what goes wrong in a stream. */
const char *reply_trouble(struct call *call, enum store_status status);

/* --- the request --- */

/* A number of the query or of the body, within min and max; otherwise where there is none. -1 after answering that it
 * is wrong. */
int64_t call_number(
    struct call *call, const char *name, int64_t otherwise, int64_t min, int64_t max);
/* A list of the query, with commas between: written so, as one parameter several times, or as JSON, ["a","b"], which clients of
 * LangGraph's wrote. NULL: there is none. */
const char *call_list(struct call *call, const char *name);
/* Whether the query says so: "1", "true". */
bool call_flag(struct call *call, const char *name);

/* The routes (routes.c): finds what method and path ask for, and does it, or answers why not. */
void route(struct api *api, struct exchange *exchange);
/* Before the body is read: keys, pages of others, CORS. Answers when it ends there. */
void admit(struct api *api, struct exchange *exchange);
/* Whether a key is asked for. */
bool admit_wants_key(const struct api *api);

/* Each in the file of its noun. */
#define CALL(name) call_fn call_##name;
#include "calls.def"
#undef CALL

#endif
