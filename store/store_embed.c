/* store_embed: how who cannot call a model has one called. */
#include "embed.h"

#include "fault.h"
#include "fiber.h"
#include "service.h"
#include "store_private.h"

#define ASKS_MAX 6u
#define ANSWER_MS "90000" /* it is kept; and who asks is believed to wait */
#define LEAVE_MS 1000u
#define AGAIN_MS 10000u /* then it is asked again, unless somebody is at it */
#define LOOK_MS_MIN 5u
#define LOOK_MS_MAX 80u
#define BEAT_KEY "fl:embedder"
#define BEAT_MS "10000" /* whoever is silent for longer does it no more */
#define AT_IT_MS "5000" /* nor is at it: less than AGAIN_MS */
#define ASKED_MAX "1000"

void
store_embed_with(struct store *store, embed_fn *embed, void *arg)
{
	store->embed = embed;
	store->embed_arg = arg;
}

const struct value *
embed_refused(struct arena *arena, const char *type, const char *reason, bool retryable)
{
	struct fault *fault = fault_new(arena, type, "%s", reason);

	fault->retryable = retryable;
	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

static const struct value *
failed(struct store *store, struct arena *arena, enum store_status status)
{
	return status == STORE_CANCELLED
		   ? NULL
		   : embed_refused(arena, "ConnectionError", store_error(store), true);
}

static const char *
answer_key(struct arena *arena, const char *id)
{
	return arena_printf(arena, STORE_EMBED ":%s", id);
}

/* There while somebody is at it. */
static const char *
taken_key(struct arena *arena, const char *id)
{
	return arena_printf(arena, STORE_EMBED ":%s:at", id);
}

/* --- asking --------------------------------------------------------------------------- */

static enum store_status
ask(struct store *store, struct arena *arena, const char *id, const char *model,
    const struct value *texts, const struct value **reply_r)
{
	struct command command = { .arena = arena };

	command_text(&command, "FCALL");
	command_text(&command, "fl_embed_ask");
	command_text(&command, "4");
	command_text(&command, STORE_EMBED);
	command_text(&command, answer_key(arena, id));
	command_text(&command, BEAT_KEY);
	command_text(&command, taken_key(arena, id));
	command_value(&command,
	    value_map(arena, "id", value_str(arena, id), "model",
		model != NULL ? value_str(arena, model) : NULL, "texts", texts, NULL));
	command_text(&command, ANSWER_MS);
	command_text(&command, ASKED_MAX);
	return store_send(store, &command, reply_r, NULL);
}

static enum store_status
look(struct store *store, struct arena *arena, const char *id,
    const struct value **answer_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "GET");
	command_text(&command, answer_key(arena, id));
	status = store_read(store, &command, &reply);
	*answer_r = NULL;
	if (status == STORE_OK && value_is(reply, VALUE_BIN) && reply->size > 0)
		*answer_r = store_decode(arena, reply);
	return status;
}

/* We have the answer, which is large and nobody else's; or wait no more: then nobody is to begin with it. */
static void
leave(struct store *store, struct arena *arena, const char *id)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_text(&command, "DEL");
	command_text(&command, answer_key(arena, id));
	command_text(&command, taken_key(arena, id));
	fiber_shield(true);
	redis_call(store->redis, arena, LEAVE_MS, command.args, command.count, &reply);
	fiber_shield(false);
}

/* What was asked is there: waits for AGAIN_MS at most. *answer_r: NULL, none has come. */
static enum store_status
await(struct store *store, struct arena *arena, const char *id,
    const struct value **answer_r)
{
	uint64_t pause_ms = LOOK_MS_MIN, waited_ms = 0;
	enum store_status status = STORE_OK;

	*answer_r = NULL;
	while (status == STORE_OK && *answer_r == NULL && waited_ms < AGAIN_MS) {
		if (fiber_sleep(pause_ms) == -1)
			return STORE_CANCELLED;
		waited_ms += pause_ms;
		if (pause_ms < LOOK_MS_MAX)
			pause_ms *= 2;
		status = look(store, arena, id, answer_r);
	}
	return status;
}

static const struct value *
not_asked(struct arena *arena, const struct value *reply)
{
	if (store_answers(reply, "MANY"))
		return embed_refused(arena, "ConnectionError",
		    "coordinators have too many texts to embed already", true);
	return embed_refused(arena, "ValueError",
	    "no coordinator can search by meaning: start them with --embed MODEL", false);
}

static const struct value *
ask_often(struct store *store, struct arena *arena, const char *id, const char *model,
    const struct value *texts)
{
	const struct value *reply, *answer = NULL;
	enum store_status status;
	unsigned i;

	for (i = 0; i < ASKS_MAX && answer == NULL; i++) {
		status = ask(store, arena, id, model, texts, &reply);
		if (status == STORE_OK && !store_answers(reply, "ASKED"))
			return not_asked(arena, reply);
		if (status == STORE_OK)
			status = await(store, arena, id, &answer);
		if (status != STORE_OK)
			return failed(store, arena, status);
	}
	return answer != NULL
		   ? answer
		   : embed_refused(arena, "TimeoutError",
			 "no coordinator has said in time what texts mean", true);
}

static const struct value *
ask_others(struct store *store, struct arena *arena, const char *model,
    const struct value *texts)
{
	char id[33];
	const struct value *answer;

	service_session(id);
	answer = ask_often(store, arena, id, model, texts);
	leave(store, arena, id);
	return answer;
}

const struct value *
store_embed(struct store *store, struct arena *arena, const char *model,
    const struct value *texts)
{
	return store->embed != NULL ? store->embed(store->embed_arg, arena, model, texts)
				    : ask_others(store, arena, model, texts);
}

/* --- answering ------------------------------------------------------------------------ */

enum store_status
store_embed_beat(struct store *store, struct arena *arena, const struct value *ids)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	size_t i;

	command_text(&command, "FCALL");
	command_text(&command, "fl_embed_beat");
	command_uint(&command, 1 + value_size(ids));
	command_text(&command, BEAT_KEY);
	for (i = 0; i < value_size(ids); i++)
		command_text(&command, taken_key(arena, value_text(value_at(ids, i))));
	command_text(&command, BEAT_MS);
	command_text(&command, AT_IT_MS);
	return store_send(store, &command, &reply, NULL);
}

int
store_embed_read(
    struct arena *arena, const struct value *entry, struct embed_asked *asked_r)
{
	const struct value *asked = store_decode(arena, entry);

	*asked_r = (struct embed_asked){ .id = value_get_text(asked, "id"),
		.model = value_get_text(asked, "model"),
		.texts = value_get(asked, "texts") };
	return asked_r->id == NULL || !value_is(asked_r->texts, VALUE_ARRAY) ? -1 : 0;
}

enum store_status
store_embed_take(struct store *store, struct arena *arena, const char *id)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "FCALL");
	command_text(&command, "fl_embed_take");
	command_text(&command, "2");
	command_text(&command, answer_key(arena, id));
	command_text(&command, taken_key(arena, id));
	command_text(&command, AT_IT_MS);
	status = store_send(store, &command, &reply, NULL);
	if (status == STORE_OK && (!value_is(reply, VALUE_INT) || reply->integer != 1))
		return STORE_NONE;
	return status;
}

void
store_embed_return(struct store *store, struct arena *arena, const struct value *entry,
    const char *id, uint64_t wait_ms)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_text(&command, "FCALL");
	command_text(&command, "fl_embed_return");
	command_text(&command, "2");
	command_text(&command, STORE_EMBED);
	command_text(&command, taken_key(arena, id));
	command_raw(&command, entry);
	command_text(&command, ANSWER_MS);
	redis_call(store->redis, arena, wait_ms, command.args, command.count, &reply);
}

/* Only while somebody waits. */
enum store_status
store_embed_answer(
    struct store *store, struct arena *arena, const char *id, const struct value *answer)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_text(&command, "SET");
	command_text(&command, answer_key(arena, id));
	command_value(&command, answer);
	command_text(&command, "XX");
	command_text(&command, "PX");
	command_text(&command, ANSWER_MS);
	return store_send(store, &command, &reply, NULL);
}
