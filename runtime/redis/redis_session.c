#include "redis_session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "memory.h"
#include "redis_address.h"
#include "redis_greeting.h"
#include "redis_link.h"
#include "redis_lookup.h"
#include "redis_reply.h"
#include "without_key.h"

#define BACKOFF_MS 50u
#define BACKOFF_MS_MAX 1000u
#define DENIED_MS 2000u      /* nobody mends a password in less */
#define FINDING_MS_MAX 2000u /* then the next address, if there is one */
#define GREETING_MS_MAX 5000u
#define SILENCE_MS_MAX 10000u /* with commands under way */
#define IDLE_MS 5000u         /* without: then we ask */
#define TICK_MS 500u
#define OWN_MAX 8u /* commands of our own under way */

enum state { OFF, FINDING, GREETING, UP, LEAVING, DESTROYED };

struct redis_session {
	struct arena *arena; /* of the addresses */
	struct redis_addresses addresses;
	size_t at;     /* index of the one in use, or to try next */
	char *library; /* or NULL */
	struct loop *loop;
	const struct redis_session_events *events;
	void *arg;
	enum state state;
	uint64_t since_ms;
	uint64_t silence_ms_max;
	struct redis_link *link; /* NULL: none */
	struct redis_lookups *lookups;
	/* Our own commands without an answer, in order. */
	enum redis_own own[OWN_MAX];
	size_t own_count;
	bool is_loading;   /* the library, while up */
	bool is_denied;    /* the last greeting ended so */
	unsigned failures; /* in a row */
	unsigned connects;
	struct timer *retry, *tick;
	char trouble[320];
};

static void connect_to(struct redis_session *session, const char *ip);

static void
enter(struct redis_session *session, enum state state)
{
	session->state = state;
	session->since_ms = loop_now_ms(session->loop);
}

static const struct redis_address *
address_of(const struct redis_session *session)
{
	return &session->addresses.items[session->at];
}

static void
say_trouble(struct redis_session *session, const char *reason)
{
	snprintf(session->trouble, sizeof session->trouble, "%s: %s",
	    address_of(session)->name, reason);
}

/* --- OFF ------------------------------------------------------------------------------ */

uint64_t
redis_backoff_ms(unsigned failures)
{
	uint64_t ms = BACKOFF_MS;

	for (; failures > 1 && ms < BACKOFF_MS_MAX; failures--)
		ms *= 2;
	if (ms > BACKOFF_MS_MAX)
		ms = BACKOFF_MS_MAX;
	return ms / 2 + arc4random_uniform((uint32_t)(ms / 2) + 1);
}

static void find(struct redis_session *session);

static void
on_retry(void *arg)
{
	struct redis_session *session = arg;

	timer_stop(&session->retry);
	find(session);
}

/* How often every address has been tried in vain. */
static unsigned
rounds(const struct redis_session *session)
{
	return session->failures / (unsigned)session->addresses.count;
}

static void
go_off(struct redis_session *session, const char *reason)
{
	uint64_t ms;

	enter(session, OFF);
	say_trouble(session, reason);
	session->at = (session->at + 1) % session->addresses.count;
	session->failures++;
	ms = redis_backoff_ms(rounds(session));
	if (session->is_denied)
		ms += DENIED_MS;
	session->retry = timer_start(session->loop, ms, 0, on_retry, session);
}

/* --- FINDING -------------------------------------------------------------------------- */

/* Returns the address to try now: each in its turn, since the first may be one nobody
 * listens on (::1). */
static const struct addrinfo *
choose(const struct addrinfo *info, unsigned failures)
{
	const struct addrinfo *at = info;

	for (; at != NULL && failures > 0; failures--)
		at = at->ai_next != NULL ? at->ai_next : info;
	return at;
}

/* Of an address that is not waited for any more it says nothing. */
static void
on_found(void *arg, size_t index, int status, const struct addrinfo *info)
{
	struct redis_session *session = arg;
	char ip[NI_MAXHOST];

	if (session->state != FINDING || index != session->at)
		return;
	info = choose(info, rounds(session));
	if (info != NULL && getnameinfo(info->ai_addr, info->ai_addrlen, ip, sizeof ip,
				NULL, 0, NI_NUMERICHOST) == 0)
		connect_to(session, ip);
	else
		go_off(session, status == 0 ? "no address" : uv_strerror(status));
}

static void
look_up(struct redis_session *session)
{
	int status =
	    redis_lookup(session->lookups, session->at, address_of(session)->host);

	if (status != 0)
		go_off(session, uv_strerror(status));
}

static void
find(struct redis_session *session)
{
	enter(session, FINDING);
	if (address_of(session)->path != NULL || address_of(session)->is_number)
		connect_to(session, address_of(session)->host);
	else
		look_up(session);
}

/* --- GREETING ------------------------------------------------------------------------- */

/* Sends our own command: without a token. */
static void
send_own(struct redis_session *session, enum redis_own own, const char *const *words)
{
	struct redis_arg args[4];
	size_t count;

	assert(session->own_count < OWN_MAX);
	for (count = 0; count < 4 && words[count] != NULL; count++)
		args[count] = (struct redis_arg){ words[count], strlen(words[count]) };
	session->own[session->own_count++] = own;
	redis_link_send(session->link, args, count, NULL);
}

static void
send_library(struct redis_session *session)
{
	send_own(session, OWN_LIBRARY,
	    (const char *const[]){ "FUNCTION", "LOAD", "REPLACE", session->library });
}

static void
send_password(struct redis_session *session, const struct redis_address *address)
{
	const char *password = address->password != NULL ? address->password : "";

	if (address->user != NULL)
		send_own(session, OWN_AUTH,
		    (const char *const[]){ "AUTH", address->user, password, NULL });
	else
		send_own(
		    session, OWN_AUTH, (const char *const[]){ "AUTH", password, NULL });
}

static void
greet(struct redis_session *session)
{
	const struct redis_address *address = address_of(session);

	session->own_count = 0;
	session->is_loading = session->is_denied = false;
	if (address->user != NULL || address->password != NULL)
		send_password(session, address);
	if (address->database != NULL)
		send_own(session, OWN_SELECT,
		    (const char *const[]){ "SELECT", address->database, NULL });
	send_own(session, OWN_ROLE, (const char *const[]){ "ROLE", NULL });
	if (session->library != NULL)
		send_library(session);
	send_own(session, OWN_PING, (const char *const[]){ "PING", NULL });
}

static void
go_up(struct redis_session *session)
{
	enter(session, UP);
	session->failures = 0;
	session->connects++;
	session->trouble[0] = '\0';
	session->events->on_up(session->arg);
}

/* --- what comes ----------------------------------------------------------------------- */

static enum redis_own
take_own(struct redis_session *session)
{
	enum redis_own own = session->own[0];

	session->own_count--;
	memmove(session->own, session->own + 1, session->own_count * sizeof own);
	return own;
}

/* Whether what Redis answered in the greeting will do; closes the link when it will not. */
static bool
will_do(struct redis_session *session, enum redis_own own, const struct redisReply *reply)
{
	struct arena *arena = arena_new();
	const char *reason = NULL;
	enum redis_greeted greeted = redis_greeting_judge(arena, own,
	    redis_reply_value(arena, reply), redis_reply_is_error(reply), &reason);

	if (greeted == GREETED_REFUSED)
		session->events->on_refused(session->arg, reason);
	session->is_denied = greeted == GREETED_DENIED;
	if (greeted == GREETED_DENIED || greeted == GREETED_BADLY)
		redis_link_close(session->link,
		    without_key(arena, reason, address_of(session)->password));
	arena_destroy(&arena);
	return greeted == GREETED_WELL || greeted == GREETED_REFUSED;
}

static void
on_own_reply(struct redis_session *session, const struct redisReply *reply)
{
	enum redis_own own;

	if (session->own_count == 0)
		return; /* of a greeting that has failed */
	own = take_own(session);
	if (own == OWN_LIBRARY)
		session->is_loading = false;
	if (reply == NULL || session->state != GREETING)
		return;
	if (!will_do(session, own, reply))
		session->own_count = 0;
	else if (own == OWN_PING)
		go_up(session);
}

static void
on_reply(void *arg, void *token, const struct redisReply *reply)
{
	struct redis_session *session = arg;

	if (token != NULL)
		session->events->on_reply(session->arg, token, reply);
	else
		on_own_reply(session, reply);
	if (session->state == LEAVING && reply != NULL &&
	    redis_link_pending(session->link) == 0)
		redis_link_close(session->link, "connecting again");
}

static void
on_closed(void *arg, const char *reason)
{
	struct redis_session *session = arg;

	session->link = NULL;
	if (session->state != DESTROYED)
		go_off(session, reason);
}

static const struct redis_link_events link_events = {
	.on_reply = on_reply,
	.on_closed = on_closed,
};

static void
connect_to(struct redis_session *session, const char *ip)
{
	const char *error;

	session->link = redis_link_open(
	    session->loop, address_of(session), ip, &link_events, session, &error);
	if (session->link == NULL) {
		go_off(session, error);
		return;
	}
	enter(session, GREETING);
	greet(session);
}

/* --- watching ------------------------------------------------------------------------- */

static void
ping(struct redis_session *session)
{
	send_own(session, OWN_PING, (const char *const[]){ "PING", NULL });
}

static uint64_t
later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
on_tick(void *arg)
{
	struct redis_session *session = arg;
	uint64_t now_ms = loop_now_ms(session->loop), silent_ms;
	/* After a gap of our own Redis gets its time again. */
	uint64_t heard_ms = loop_gap_ms(session->loop);

	if (session->state == FINDING && session->addresses.count > 1 &&
	    now_ms > later_of(session->since_ms, heard_ms) + FINDING_MS_MAX)
		go_off(session, "its name is not found in time");
	if (session->link == NULL)
		return;
	if (redis_link_heard_ms(session->link) > heard_ms)
		heard_ms = redis_link_heard_ms(session->link);
	silent_ms = now_ms - heard_ms;
	if (session->state == GREETING && silent_ms > GREETING_MS_MAX)
		redis_link_close(
		    session->link, redis_link_is_shaking(session->link)
				       ? "no answer to TLS (does it speak it there?)"
				       : "no answer");
	else if (redis_link_pending(session->link) > 0 &&
		 silent_ms > session->silence_ms_max)
		redis_link_close(session->link, "no answer any more");
	else if (session->state == UP && redis_link_pending(session->link) == 0 &&
		 silent_ms > IDLE_MS)
		ping(session);
}

static void
on_flush(void *arg)
{
	struct redis_session *session = arg;

	if (session->link != NULL)
		redis_link_flush(session->link);
}

/* --- for redis.c ---------------------------------------------------------------------- */

struct redis_session *
redis_session_new(struct loop *loop, const char *url, const char *library,
    const struct redis_session_events *events, void *arg, const char **error_r)
{
	static char reason[320]; /* outlives the arena it is written in */
	struct redis_session *session = xcalloc(1, sizeof *session);

	session->arena = arena_new();
	if (redis_addresses_parse(session->arena, url, &session->addresses, error_r) ==
		-1 ||
	    !redis_addresses_have_files(&session->addresses, error_r)) {
		snprintf(reason, sizeof reason, "%s", *error_r);
		*error_r = reason;
		arena_destroy(&session->arena);
		free(session);
		return NULL;
	}
	session->library = xstrdup(library);
	session->loop = loop;
	session->events = events;
	session->arg = arg;
	session->silence_ms_max = SILENCE_MS_MAX;
	session->lookups =
	    redis_lookups_new(loop, session->addresses.count, on_found, session);
	session->tick = timer_start(loop, TICK_MS, TICK_MS, on_tick, session);
	loop_add_flush(loop, on_flush, session);
	say_trouble(session, "no answer yet");
	find(session);
	return session;
}

void
redis_session_destroy(struct redis_session **session_p)
{
	struct redis_session *session = *session_p;

	session->state = DESTROYED;
	if (session->link != NULL)
		redis_link_close(session->link, "destroyed");
	redis_lookups_destroy(&session->lookups);
	timer_stop(&session->retry);
	timer_stop(&session->tick);
	loop_remove_flush(session->loop, on_flush, session);
	arena_destroy(&session->arena);
	free(session->library);
	free(session);
	*session_p = NULL;
}

bool
redis_session_is_up(const struct redis_session *session)
{
	return session->state == UP;
}

unsigned
redis_session_connects(const struct redis_session *session)
{
	return session->connects;
}

bool
redis_session_is_denied(const struct redis_session *session)
{
	return session->is_denied && session->state != UP;
}

const char *
redis_session_trouble(const struct redis_session *session)
{
	return session->trouble;
}

void
redis_session_send(struct redis_session *session, const struct redis_arg *args,
    size_t count, void *token)
{
	assert(session->state == UP);
	redis_link_send(session->link, args, count, token);
}

void
redis_session_load(struct redis_session *session)
{
	if (session->state != UP || session->library == NULL || session->is_loading)
		return;
	session->is_loading = true;
	send_library(session);
}

void
redis_session_leave(struct redis_session *session, const char *reason)
{
	if (session->state != UP)
		return;
	enter(session, LEAVING);
	say_trouble(session, reason);
	if (redis_link_pending(session->link) == 0)
		redis_link_close(session->link, "connecting again");
}

void
redis_session_allow(struct redis_session *session, uint64_t ms)
{
	session->silence_ms_max = ms;
}
