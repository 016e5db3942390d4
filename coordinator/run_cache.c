/* run_cache: model calls that are answered with what an equal one gave before (the agent's `cache`).
 *
 * Equal is what the worker would see: the profile, messages without their ids, the state that
 * slices read, the context. What failed, asked a human or cannot be applied is not kept, nor what
 * writes messages: it may name some by their ids, which each thread has of its own. A hit sends no call and streams no
 * tokens. */
#include "run.h"

#include <czmq.h>
#include <stdio.h>
#include <string.h>

#include "chat.h"
#include "log.h"

static const struct value *
without_ids(struct arena *arena, const struct value *messages)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		value_list_add(
		    &list, value_map_with(arena, value_at(messages, i), "id", NULL));
	return value_list_end(&list);
}

static void
add(zdigest_t *digest, struct arena *arena, const struct value *value)
{
	if (value == NULL)
		value = value_nil();
	if (value->packed == NULL)
		value = value_freeze(arena, value);
	zdigest_update(digest, value->packed, value->packed_size);
}

/* SHA-1 in lower-case hex. */
static const char *
key_of(struct arena *arena, const struct run_call *call)
{
	zdigest_t *digest = zdigest_new();
	const char *key;

	if (digest == NULL)
		arena_exhausted();
	add(digest, arena, call->profile);
	add(digest, arena, without_ids(arena, value_get(call->request, "messages")));
	add(digest, arena, value_get(call->request, "state"));
	add(digest, arena, value_get(call->request, "context"));
	key = arena_strdup(arena, zdigest_string(digest));
	zdigest_destroy(&digest);
	return key;
}

static bool
writes_messages(const struct value *body)
{
	const struct value *updates = value_get(body, "updates");
	size_t i;

	for (i = 0; i < value_size(updates); i++)
		if (value_has(value_at(updates, i), "messages"))
			return true;
	return false;
}

static const struct value *
find(struct run *run, struct arena *arena, const char *key)
{
	const struct value *body = NULL;

	if (store_cached(run->coordinator->store, arena, key, &body) != STORE_OK ||
	    writes_messages(body))
		return NULL;
	/* Nothing is paid again. */
	body = value_map_with(arena, body, "usage", NULL);
	/* Each run's messages have ids of their own. */
	body = value_map_with(
	    arena, body, "messages", without_ids(arena, value_get(body, "messages")));
	return value_map_with(arena, body, "notes",
	    value_array_add(arena, value_empty_array(),
		value_map(
		    arena, "text", value_str(arena, "answered from the cache"), NULL)));
}

/* Else a worker's mistake would be every run's until its time is over. */
static bool
can_be_applied(struct arena *arena, const struct value *body)
{
	const struct value *messages = value_get(body, "messages");
	const char *error;

	return messages == NULL || chat_normalise(arena, messages, &error) != NULL;
}

static void
keep(struct run *run, struct arena *arena, const char *key, const struct value *body)
{
	if (value_has(body, "fault") || value_has(body, "interrupt") ||
	    writes_messages(body) || !can_be_applied(arena, body))
		return;
	if (store_cache(run->coordinator->store, arena, key,
		value_map_with(arena, body, "notes", NULL),
		(uint64_t)run->agent->spec->cache_ttl_ms) == STORE_FAILED)
		log_warnx("run=%s not cached: %s", run->id,
		    store_error(run->coordinator->store));
}

enum go
run_model_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r)
{
	/* What a run before us may have sent must be heard out; what a human has answered is
	 * of this run alone. */
	bool caches = run->agent->spec->caches && !run->recovered &&
		      !value_has(call->request, "answers");
	const char *key = caches ? key_of(arena, call) : NULL;
	enum go go;

	*body_r = caches ? find(run, arena, key) : NULL;
	if (*body_r != NULL)
		return run_must_stop(run) ? GO_DROP : GO_ON;
	go = run_brief_call(run, arena, call, body_r);
	if (go == GO_ON && caches)
		keep(run, arena, key, *body_r);
	return go;
}
