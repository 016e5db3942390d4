#include "resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <uv.h>

#include "fiber.h"
#include "memory.h"
#include "value.h"

#define NAMES_MAX 256u
#define ADDRESSES_MAX 8u

struct waiter {
	TAILQ_ENTRY(waiter) entry;
	struct fiber *fiber;
	bool has_ended; /* the lookup it waits for */
};

struct name {
	TAILQ_ENTRY(name) entry;   /* least recently used first */
	struct resolver *resolver; /* NULL: gone before the lookup ended */
	char *host;
	char *addresses;   /* or NULL */
	const char *error; /* of the last lookup, lent for ever; NULL: it found some */
	uint64_t fresh_until_ms;
	bool is_busy; /* being looked up, since began_ms */
	uint64_t began_ms;
	uv_getaddrinfo_t lookup;
	TAILQ_HEAD(, waiter) waiters;
};

struct resolver {
	struct loop *loop;
	uint64_t fresh_ms;
	TAILQ_HEAD(, name) names;
	unsigned count;
};

struct resolver *
resolver_new(struct loop *loop, uint64_t fresh_ms)
{
	struct resolver *resolver = xcalloc(1, sizeof *resolver);

	resolver->loop = loop;
	resolver->fresh_ms = fresh_ms;
	TAILQ_INIT(&resolver->names);
	return resolver;
}

static void
free_name(struct name *name)
{
	free(name->host);
	free(name->addresses);
	free(name);
}

/* Frees name, which is in no list any more, now or when its lookup ends. */
static void
drop_name(struct name *name)
{
	name->resolver = NULL;
	if (name->is_busy)
		uv_cancel((uv_req_t *)&name->lookup); /* on_lookup comes in any case */
	else
		free_name(name);
}

void
resolver_destroy(struct resolver **resolver_p)
{
	struct resolver *resolver = *resolver_p;
	struct name *name, *next;

	if (resolver == NULL)
		return;
	for (name = TAILQ_FIRST(&resolver->names); name != NULL; name = next) {
		next = TAILQ_NEXT(name, entry);
		drop_name(name);
	}
	free(resolver);
	*resolver_p = NULL;
}

/* --- lookups ------------------------------------------------------------------------- */

static void
append_text(struct packet *packet, const char *text)
{
	packet_append(packet, text, strlen(text));
}

/* Appends address, in brackets when it is of version 6, and a comma. */
static void
append_address(struct packet *packet, const struct sockaddr *address)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (address->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr,
		    text, sizeof text);
		append_text(packet, "[");
		append_text(packet, text);
		append_text(packet, "],");
	} else if (address->sa_family == AF_INET) {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
		    sizeof text);
		append_text(packet, text);
		append_text(packet, ",");
	}
}

/* Returns new: the first few addresses with commas between, or NULL for none. */
static char *
join_addresses(const struct addrinfo *info)
{
	struct packet packet = { 0 };
	unsigned count;

	for (count = 0; info != NULL && count < ADDRESSES_MAX; count++) {
		append_address(&packet, info->ai_addr);
		info = info->ai_next;
	}
	if (packet.size > 0)
		packet.data[packet.size - 1] = '\0'; /* the last comma */
	return packet.data;
}

static void
wake_waiters(struct name *name)
{
	struct waiter *waiter;

	TAILQ_FOREACH(waiter, &name->waiters, entry) {
		waiter->has_ended = true;
		fiber_wake(waiter->fiber);
	}
}

static void
on_lookup(uv_getaddrinfo_t *lookup, int status, struct addrinfo *info)
{
	struct name *name = lookup->data;

	name->is_busy = false;
	name->error = status == 0 ? NULL : uv_strerror(status);
	if (status == 0) {
		free(name->addresses);
		name->addresses = join_addresses(info);
	}
	uv_freeaddrinfo(info);
	if (name->resolver == NULL) {
		free_name(name);
		return;
	}
	name->fresh_until_ms =
	    loop_now_ms(name->resolver->loop) + name->resolver->fresh_ms;
	wake_waiters(name);
}

static void
look_up(struct resolver *resolver, struct name *name)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_ADDRCONFIG,
	};
	int status;

	name->lookup.data = name;
	status = uv_getaddrinfo(
	    loop_uv(resolver->loop), &name->lookup, on_lookup, name->host, NULL, &hints);
	name->is_busy = status == 0;
	name->began_ms = loop_now_ms(resolver->loop);
	name->error = status == 0 ? NULL : uv_strerror(status);
}

/* --- names --------------------------------------------------------------------------- */

static void
make_room(struct resolver *resolver)
{
	struct name *name, *next;

	for (name = TAILQ_FIRST(&resolver->names);
	     name != NULL && resolver->count >= NAMES_MAX; name = next) {
		next = TAILQ_NEXT(name, entry);
		if (name->is_busy || !TAILQ_EMPTY(&name->waiters))
			continue;
		TAILQ_REMOVE(&resolver->names, name, entry);
		resolver->count--;
		drop_name(name);
	}
}

/* Returns the name of host, now the most recently used, new if need be. */
static struct name *
find_name(struct resolver *resolver, const char *host)
{
	struct name *name;

	TAILQ_FOREACH(name, &resolver->names, entry) {
		if (strcasecmp(name->host, host) == 0)
			break;
	}
	if (name != NULL) {
		TAILQ_REMOVE(&resolver->names, name, entry);
	} else {
		make_room(resolver);
		name = xcalloc(1, sizeof *name);
		name->resolver = resolver;
		name->host = xstrdup(host);
		TAILQ_INIT(&name->waiters);
		resolver->count++;
	}
	TAILQ_INSERT_TAIL(&resolver->names, name, entry);
	return name;
}

/* Waits for the end of name's lookup. Returns as fiber_wait_ms. */
static int
wait_for(struct resolver *resolver, struct name *name, uint64_t wait_ms)
{
	uint64_t deadline_ms = loop_now_ms(resolver->loop) + wait_ms, now_ms;
	struct waiter waiter = { .fiber = fiber_current() };
	int result = 0;

	TAILQ_INSERT_TAIL(&name->waiters, &waiter, entry);
	while (!waiter.has_ended && result == 0) {
		now_ms = loop_now_ms(resolver->loop);
		result = fiber_wait_ms(now_ms < deadline_ms ? deadline_ms - now_ms : 0);
	}
	TAILQ_REMOVE(&name->waiters, &waiter, entry);
	return waiter.has_ended && result == 1 ? 0 : result;
}

/* How long to wait for name's lookup: whoever knows addresses is not held up by who should tell us of
 * others. */
static uint64_t
patience_ms(const struct resolver *resolver, const struct name *name, uint64_t wait_ms)
{
	uint64_t waited_ms = loop_now_ms(resolver->loop) - name->began_ms, left_ms;

	if (name->addresses == NULL)
		return wait_ms;
	left_ms = waited_ms < RESOLVER_PATIENCE_MS ? RESOLVER_PATIENCE_MS - waited_ms : 0;
	return left_ms < wait_ms ? left_ms : wait_ms;
}

enum resolver_result
resolver_find(struct resolver *resolver, struct arena *arena, const char *host,
    uint64_t wait_ms, const char **text_r)
{
	struct name *name = find_name(resolver, host);
	bool is_fresh =
	    name->addresses != NULL && loop_now_ms(resolver->loop) < name->fresh_until_ms;
	int waited;

	if (!is_fresh) {
		if (!name->is_busy)
			look_up(resolver, name);
		waited = name->is_busy ? wait_for(resolver, name,
					     patience_ms(resolver, name, wait_ms))
				       : 0;
		if (waited == -1)
			return RESOLVER_CANCELLED;
		if (waited == 1 && name->addresses == NULL)
			return RESOLVER_TIMEOUT;
	}
	if (name->addresses == NULL) {
		*text_r = name->error != NULL ? name->error : "no address";
		return RESOLVER_FAILED;
	}
	*text_r = arena_strdup(arena, name->addresses);
	return RESOLVER_FOUND;
}
