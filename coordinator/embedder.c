#include "embedder.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bodies.h"
#include "chat.h"
#include "embed.h"
#include "fiber.h"
#include "log.h"
#include "memory.h"
#include "model_wish.h"
#include "tally.h"

#define CALL_MS 50000u
#define POP_MS 2000u /* for the answer to BLPOP, which waits for a second */
#define PAUSE_MS 200u
#define LATER_MS 20u
#define ASKED_AT_ONCE_MAX 32u

struct embedder {
	struct coordinator *coordinator;
	struct redis *redis; /* BLPOP waits in it */
	struct fiber *fiber;
	TAILQ_HEAD(, asked) asked; /* under way */
	size_t asked_count;
	char session[33];
	uint64_t calls, next_beat_ms;
	bool stopping;
};

/* What somebody else wants, on a fiber of its own. */
struct asked {
	struct embedder *embedder;
	struct arena *arena; /* of this, too */
	const struct value *entry;
	const char *id; /* of what we are at, or NULL */
	struct fiber *fiber;
	TAILQ_ENTRY(asked) link;
};

/* --- the call ------------------------------------------------------------------------- */

static const struct value *
request_of(struct arena *arena, const char *id, const struct value *texts)
{
	struct value_list messages = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(texts); i++) {
		const char *text = value_text(value_at(texts, i));

		value_list_add(&messages, chat_human(arena, text != NULL ? text : ""));
	}
	return value_map(arena, "run", value_str(arena, id), "thread",
	    value_str(arena, id), "messages", value_list_end(&messages), NULL);
}

static const struct value *
profile_of(struct arena *arena, const char *model)
{
	return value_freeze(
	    arena, value_map(arena, "model", value_str(arena, model), "tools",
		       value_empty_array(), "middleware", value_empty_array(), "task",
		       VALUE_TEXT("embeddings"), "tells_usage", value_bool(true), NULL));
}

static const struct value *
fields_of(struct arena *arena, const struct coordinator_settings *settings)
{
	struct value_list fields = { .arena = arena };
	const char **field = settings->embed_fields;

	for (; field != NULL && *field != NULL; field++)
		value_list_add(&fields, value_str(arena, *field));
	return value_list_end(&fields);
}

/* What a RESULT's body says. */
static const struct value *
answer_of(const struct embedder *embedder, struct arena *arena, const char *model,
    const struct value *body)
{
	const struct value *message = value_at(value_get(body, "messages"), 0);

	if (value_has(body, "fault"))
		return value_map(arena, "fault", value_get(body, "fault"), NULL);
	tally_result(embedder->coordinator->tally, model, body);
	return value_map(arena, "model", value_str(arena, model), "fields",
	    fields_of(arena, embedder->coordinator->settings), "vectors",
	    value_get(value_get(message, "additional_kwargs"), "embeddings"), NULL);
}

static const struct value *
call(struct embedder *embedder, struct arena *arena, const char *model,
    const char *service, const struct value *texts)
{
	struct caller *caller = embedder->coordinator->caller;
	const char *id = arena_printf(
	    arena, "embed-%s-%" PRIu64, embedder->session, ++embedder->calls);
	struct call_request request = {
		.id = id,
		.run = id,
		.service = service,
		.epoch = 1,
		.deadline_ms = CALL_MS,
		.priority = PRIORITY_USUAL,
		.flags = WIRE_INTERNAL,
		.profile = profile_of(arena, model),
		.request = request_of(arena, id, texts),
	};
	struct call_outcome outcome;

	if (caller_call(caller, arena, &request, &outcome) == -1)
		return NULL;
	caller_stored(caller, id); /* who needs it again asks again */
	if (outcome.code != CODE_OK)
		return embed_refused(arena, "ConnectionError",
		    arena_printf(arena, "the model %s was not reached: %s", model,
			outcome.reason != NULL ? outcome.reason
					       : wire_code_text(outcome.code)),
		    true);
	return answer_of(embedder, arena, model, outcome.body);
}

/* An embed_fn. */
static const struct value *
embed(void *arg, struct arena *arena, const char *model, const struct value *texts)
{
	struct embedder *embedder = arg;
	struct coordinator *coordinator = embedder->coordinator;
	const char *service;

	if (model == NULL)
		model = coordinator->settings->embed;
	service = model_wish_service(arena, model);
	if (service == NULL || value_size(texts) > EMBEDDED_TEXTS_MAX)
		return embed_refused(arena, "ValueError",
		    "no provider:name, or too many texts at once", false);
	switch (
	    catalog_wait(coordinator->catalog, service, loop_now_ms(coordinator->loop),
		(uint64_t)coordinator->settings->served_wait_ms)) {
	case 0:
		return call(embedder, arena, model, service, texts);
	case 1:
		return embed_refused(arena, "ConnectionError",
		    arena_printf(
			arena, "no worker serves %s, which --embed names", service),
		    true);
	default:
		return NULL;
	}
}

/* --- for others ----------------------------------------------------------------------- */

/* Returns false when it was cancelled: we leave, another one is to do it. */
static bool
do_asked(struct asked *asked, const struct embed_asked *wish)
{
	struct embedder *embedder = asked->embedder;
	struct store *store = embedder->coordinator->store;
	const struct value *answer;
	enum store_status status = store_embed_take(store, asked->arena, wish->id);

	if (status != STORE_OK)
		return status != STORE_CANCELLED;
	asked->id = wish->id;
	answer = embed(embedder, asked->arena, wish->model, wish->texts);
	return answer != NULL && store_embed_answer(store, asked->arena, wish->id,
				     answer) != STORE_CANCELLED;
}

static void
asked_main(void *arg)
{
	struct asked *asked = arg;
	struct embedder *embedder = asked->embedder;
	struct arena *arena = asked->arena;
	struct embed_asked wish;

	if (store_embed_read(arena, asked->entry, &wish) == 0 &&
	    !do_asked(asked, &wish)) {
		fiber_shield(true);
		store_embed_return(
		    embedder->coordinator->store, arena, asked->entry, wish.id, POP_MS);
		fiber_shield(false);
	}
	TAILQ_REMOVE(&embedder->asked, asked, link);
	embedder->asked_count--;
	arena_destroy(&arena);
}

static void
take(struct embedder *embedder, const struct value *entry)
{
	struct arena *arena = arena_new();
	struct asked *asked = arena_alloc(arena, sizeof *asked);

	*asked = (struct asked){
		.embedder = embedder, .arena = arena, .entry = value_copy(arena, entry)
	};
	TAILQ_INSERT_TAIL(&embedder->asked, asked, link);
	embedder->asked_count++;
	asked->fiber =
	    fiber_start(embedder->coordinator->loop, "embed", asked_main, asked);
	if (asked->fiber == NULL)
		asked_main(asked);
}

/* Without one there is no model: what was asked is better off with others. */
static bool
has_broker(const struct embedder *embedder)
{
	const struct links *links = embedder->coordinator->links;
	uint32_t i;

	for (i = 0; i < links_count(links); i++)
		if (links_is_up(links, i))
			return true;
	return false;
}

/* We are there, and at all that is under way: each time is a write to Redis. */
static void
beat(struct embedder *embedder, struct arena *arena)
{
	const uint64_t now = loop_now_ms(embedder->coordinator->loop);
	struct value_list ids = { .arena = arena };
	const bool is_at_it = has_broker(embedder);
	const struct asked *asked;

	if (now < embedder->next_beat_ms)
		return;
	embedder->next_beat_ms = now + STORE_EMBED_BEAT_MS;
	TAILQ_FOREACH(asked, &embedder->asked, link)
		if (asked->id != NULL && is_at_it)
			value_list_add(&ids, value_str(arena, asked->id));
	store_embed_beat(embedder->coordinator->store, arena, value_list_end(&ids));
}

static void
embedder_main(void *arg)
{
	struct embedder *embedder = arg;
	const struct value *reply;
	struct arena *arena;
	enum redis_status status;

	while (!embedder->stopping && !fiber_cancelled()) {
		arena = arena_new();
		beat(embedder, arena);
		if (embedder->asked_count >= ASKED_AT_ONCE_MAX || !has_broker(embedder)) {
			fiber_sleep(LATER_MS);
		} else {
			status = redis_text(embedder->redis, arena, POP_MS, &reply,
			    "BLPOP", STORE_EMBED, "1", NULL);
			if (status == REDIS_OK && value_size(reply) == 2)
				take(embedder, value_at(reply, 1));
			else if (status != REDIS_OK)
				fiber_sleep(PAUSE_MS);
		}
		arena_destroy(&arena);
	}
	redis_destroy(&embedder->redis);
	embedder->fiber = NULL;
}

/* --- life ----------------------------------------------------------------------------- */

struct embedder *
embedder_new(struct coordinator *coordinator)
{
	const char *model = coordinator->settings->embed;
	const char **fields = coordinator->settings->embed_fields;
	struct arena *arena = arena_new();
	struct embedder *embedder;
	const char *service = model == NULL ? NULL : model_wish_service(arena, model);

	arena_destroy(&arena);
	if (model == NULL && fields != NULL && fields[0] != NULL)
		settings_refuse("coordinator", "--embed-field", fields[0],
		    "given together with --embed MODEL");
	if (model == NULL)
		return NULL;
	if (service == NULL)
		settings_refuse("coordinator", "--embed", model,
		    "a model as provider:name, such as openai:text-embedding-3-small");
	embedder = xcalloc(1, sizeof *embedder);
	embedder->coordinator = coordinator;
	TAILQ_INIT(&embedder->asked);
	service_session(embedder->session);
	embedder->redis = coordinator_connect_redis(coordinator, NULL);
	store_embed_with(coordinator->store, embed, embedder);
	embedder->fiber =
	    fiber_start(coordinator->loop, "embedder", embedder_main, embedder);
	return embedder;
}

void
embedder_stop(struct embedder *embedder)
{
	struct asked *asked;

	if (embedder == NULL)
		return;
	embedder->stopping = true;
	store_embed_stop(embedder->coordinator->store);
	if (embedder->fiber != NULL)
		fiber_cancel(embedder->fiber);
	TAILQ_FOREACH(asked, &embedder->asked, link)
		if (asked->fiber != NULL)
			fiber_cancel(asked->fiber);
}

void
embedder_destroy(struct embedder **embedder_p)
{
	struct embedder *embedder = *embedder_p;

	if (embedder == NULL)
		return;
	redis_destroy(&embedder->redis);
	free(embedder);
	*embedder_p = NULL;
}
