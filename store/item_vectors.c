#include "item_vectors.h"

#include <string.h>

#include "bounds.h"
#include "embed.h"
#include "fault.h"
#include "fiber.h"
#include "memory.h"
#include "vector.h"

#define KEEP_MS 1000u
#define CLAIM_MS 10000u /* whoever has died over it does so no longer */
#define HOLD_MS 3000u   /* a claim is renewed so often */
#define LEFT_MS 60000u  /* a claim whose search is over: longer than a call may take */
#define LOOK_MS_MIN 20u
#define LOOK_MS_MAX 320u

/* Some texts' vectors being made, on a fiber of its own. All of it is in arena. */
struct embedding {
	struct arena *arena;
	struct store *store;
	unsigned shard;
	size_t numbers; /* of a vector */
	const char *model;
	struct candidate parts[EMBEDDED_TEXTS_MAX];
	size_t count;
	const struct value *body; /* as an embed_fn returns it */
	bool is_done, is_left;    /* is_left: nobody waits any more, it is its fiber's */
	struct fiber *fiber, *waiter;
	TAILQ_ENTRY(embedding) link;
};

/* --- what is kept --------------------------------------------------------------------- */

/* Whether vector can be compared with the query's, where that is known. */
static bool
is_comparable(const struct making *making, const struct value *vector)
{
	return vector_is(vector) &&
	       (making->query == NULL ||
		   vector_numbers(vector) == vector_numbers(making->query));
}

/* What is kept is a digest, then the vector; NULL when it is of something else, or of a model that had the same name. */
static const struct value *
kept_vector(const struct making *making, struct arena *arena,
    const struct candidate *candidate, const struct value *kept)
{
	const struct value *vector;

	if (!value_is(kept, VALUE_BIN) || kept->size <= DIGEST_BYTES ||
	    memcmp(kept->text, candidate->digest, DIGEST_BYTES) != 0)
		return NULL;
	vector = value_bin(arena, kept->text + DIGEST_BYTES, kept->size - DIGEST_BYTES);
	return is_comparable(making, vector) ? vector : NULL;
}

enum store_status
item_vectors_read(const struct making *making, struct item_pages *pages,
    struct candidate *candidates, size_t count, uint64_t *bytes_p)
{
	struct command command =
	    item_command(pages->arena, "fl_item_vectors", pages->shard);
	const struct value *reply;
	enum store_status status;
	size_t i;

	for (i = 0; i < count; i++)
		command_text(&command, candidates[i].member);
	status = store_read(pages->at->store, &command, &reply);
	for (i = 0; status == STORE_OK && i < count; i++) {
		const struct value *kept = value_at(reply, i);

		candidates[i].vector =
		    kept_vector(making, pages->arena, &candidates[i], kept);
		if (kept != NULL)
			*bytes_p += kept->size;
	}
	return status;
}

/* --- claims --------------------------------------------------------------------------- */

/* Of parts: function's arguments behind ms. */
static void
add_claims(
    struct command *command, uint64_t ms, const struct candidate *parts, size_t count)
{
	size_t i;

	command_uint(command, ms);
	for (i = 0; i < count; i++) {
		command_text(command, parts[i].member);
		command_add(command, parts[i].digest, DIGEST_BYTES);
	}
}

/* Claims parts, and keeps of them what it got. */
static enum store_status
claim(struct embedding *embedding)
{
	struct command command =
	    item_command(embedding->arena, "fl_item_claim", embedding->shard);
	const size_t asked = embedding->count;
	const struct value *reply;
	enum store_status status;
	size_t i;

	command_uint(&command, DIGEST_BYTES + embedding->numbers * sizeof(float));
	add_claims(&command, CLAIM_MS, embedding->parts, asked);
	status = store_send(embedding->store, &command, &reply, NULL);
	for (i = embedding->count = 0; status == STORE_OK && i < asked; i++)
		if (store_number_at(reply, i) == 1)
			embedding->parts[embedding->count++] = embedding->parts[i];
	return status;
}

/* Claims last for ms from now on; 0: no longer. What Redis does not say soon is not waited for. */
static void
hold(struct embedding *embedding, struct arena *arena, uint64_t ms)
{
	struct command command = item_command(arena, "fl_item_hold", embedding->shard);
	const struct value *reply;

	add_claims(&command, ms, embedding->parts, embedding->count);
	fiber_shield(true);
	redis_call(store_redis(embedding->store), arena, KEEP_MS, command.args,
	    command.count, &reply);
	fiber_shield(false);
}

/* --- making --------------------------------------------------------------------------- */

bool
making_check(struct making *making, const struct value *body, size_t count)
{
	struct arena *arena = making->at->arena;
	const struct value *vectors = value_get(body, "vectors");
	const struct value *fault = value_get(body, "fault");
	size_t i = 0;

	making->was_cancelled = body == NULL;
	if (body == NULL)
		return false;
	while (i < value_size(vectors) && is_comparable(making, value_at(vectors, i)))
		i++;
	if (fault == NULL && i == count && value_size(vectors) == count &&
	    value_get_text(body, "model") != NULL)
		return true;
	making->trouble =
	    fault != NULL
		? value_copy(arena, fault)
		: fault_to_value(arena,
		      fault_new(arena, "APIResponseError",
			  "store search: the model gave %zu vectors%s for %zu texts", i,
			  making->query != NULL ? " of the query's size" : "", count));
	return false;
}

/* What cannot be kept soon, as at maxmemory, is made again by the next search: this one has what it needs. */
static void
keep(struct embedding *embedding)
{
	struct arena *arena = embedding->arena;
	const struct value *vectors = value_get(embedding->body, "vectors"), *reply;
	struct command command =
	    item_command(arena, "fl_item_set_vectors", embedding->shard);
	size_t i;

	if (value_size(vectors) != embedding->count)
		return;
	for (i = 0; i < embedding->count; i++) {
		const struct value *vector = value_at(vectors, i);
		char *bytes;

		if (!vector_is(vector) || vector_numbers(vector) != embedding->numbers)
			return;
		bytes = arena_alloc(arena, DIGEST_BYTES + vector->size);
		memcpy(bytes, embedding->parts[i].digest, DIGEST_BYTES);
		memcpy(bytes + DIGEST_BYTES, vector->text, vector->size);
		command_text(&command, embedding->parts[i].member);
		command_add(&command, bytes, DIGEST_BYTES + vector->size);
	}
	fiber_shield(true);
	redis_call(store_redis(embedding->store), arena, KEEP_MS, command.args,
	    command.count, &reply);
	fiber_shield(false);
}

static void
embedding_main(void *arg)
{
	struct embedding *embedding = arg;
	struct arena *arena = embedding->arena;
	struct value_list texts = { .arena = arena };
	size_t i;

	for (i = 0; i < embedding->count; i++)
		value_list_add(&texts, value_str(arena, embedding->parts[i].text));
	embedding->body = store_embed(
	    embedding->store, arena, embedding->model, value_list_end(&texts));
	if (embedding->body != NULL)
		keep(embedding);
	hold(embedding, arena, 0);
	TAILQ_REMOVE(&embedding->store->embeddings, embedding, link);
	embedding->is_done = true;
	if (embedding->is_left)
		arena_destroy(&arena);
	else if (embedding->fiber != NULL)
		fiber_wake(embedding->waiter);
}

void
store_embed_stop(struct store *store)
{
	struct embedding *embedding;

	TAILQ_FOREACH(embedding, &store->embeddings, link)
		if (embedding->fiber != NULL)
			fiber_cancel(embedding->fiber);
}

static bool
is_late(const struct making *making)
{
	return making->at->until_ms != 0 &&
	       loop_now_ms(fiber_loop()) >= making->at->until_ms;
}

/* Until the next thing to do, of which one is due after ms. */
static uint64_t
pause_ms(const struct making *making, uint64_t ms)
{
	const uint64_t now = loop_now_ms(fiber_loop()), until = making->at->until_ms;

	if (until == 0 || until >= now + ms)
		return ms;
	return until > now ? until - now : 0;
}

/* Waits for it no more. In a process that embeds it goes on; any other has it ended, and waits for that. */
static void
leave(struct embedding *embedding, struct arena *arena)
{
	if (embedding->store->embed == NULL) {
		fiber_shield(true);
		fiber_cancel(embedding->fiber);
		while (!embedding->is_done)
			fiber_wait();
		fiber_shield(false);
		return;
	}
	hold(embedding, arena, LEFT_MS);
	embedding->is_left = !embedding->is_done;
}

/* Returns false when the search ends over it. */
static bool
await(struct making *making, struct embedding *embedding, struct arena *arena)
{
	while (!embedding->is_done && !making->was_cancelled && !is_late(making))
		switch (fiber_wait_ms(pause_ms(making, HOLD_MS))) {
		case -1:
			making->was_cancelled = true;
			break;
		case 1:
			hold(embedding, arena, CLAIM_MS);
			break;
		}
	if (embedding->is_done)
		return true;
	making->is_unfinished = !making->was_cancelled;
	leave(embedding, arena);
	return false;
}

static void
start(struct embedding *embedding)
{
	TAILQ_INSERT_TAIL(&embedding->store->embeddings, embedding, link);
	embedding->waiter = fiber_current();
	embedding->fiber =
	    fiber_start(fiber_loop(), "embed-items", embedding_main, embedding);
	if (embedding->fiber == NULL)
		embedding_main(embedding);
}

/* Those that are claimed, to candidates whose vectors they are. */
static void
hand_over(const struct embedding *embedding, struct arena *arena,
    struct candidate *const *fresh, size_t count)
{
	const struct value *vectors = value_get(embedding->body, "vectors");
	size_t i, next = 0;

	for (i = 0; i < count && next < embedding->count; i++)
		if (strcmp(fresh[i]->member, embedding->parts[next].member) == 0)
			fresh[i]->vector = value_copy(arena, value_at(vectors, next++));
}

/* Has those of count candidates made that nobody else is at. */
static bool
make_claimed(struct making *making, struct embedding *embedding, struct arena *arena,
    struct candidate *const *fresh, size_t count)
{
	start(embedding);
	if (!await(making, embedding, arena))
		return false;
	if (!making_check(making, embedding->body, embedding->count))
		return false;
	hand_over(embedding, arena, fresh, count);
	making->made += embedding->count;
	return true;
}

static struct embedding *
embedding_new(const struct making *making, const struct item_pages *pages,
    struct candidate *const *fresh, size_t count)
{
	struct arena *arena = arena_new();
	struct embedding *embedding = arena_alloc(arena, sizeof *embedding);
	size_t i;

	*embedding = (struct embedding){ .arena = arena,
		.store = making->at->store,
		.shard = pages->shard,
		.numbers = vector_numbers(making->query),
		.model = arena_strdup(arena, making->model),
		.count = count };
	for (i = 0; i < count; i++) {
		embedding->parts[i] = *fresh[i];
		embedding->parts[i].member = arena_strdup(arena, fresh[i]->member);
		embedding->parts[i].text = arena_strdup(arena, fresh[i]->text);
	}
	return embedding;
}

static bool
make_some(struct making *making, struct item_pages *pages, struct candidate *const *fresh,
    size_t count)
{
	struct embedding *embedding;
	struct arena *arena;
	enum store_status status;
	bool is_good = true;

	making->is_unfinished = making->made >= ITEMS_EMBEDDED_MAX || is_late(making);
	if (making->is_unfinished)
		return false;
	embedding = embedding_new(making, pages, fresh, count);
	arena = embedding->arena;
	status = claim(embedding);
	if (status != STORE_OK) {
		making->was_cancelled = status == STORE_CANCELLED;
		making->trouble = value_get(item_failed(making->at, status), "fault");
		is_good = false;
	} else if (embedding->count > 0) {
		is_good = make_claimed(making, embedding, pages->arena, fresh, count);
		if (embedding->is_left)
			return false;
	}
	arena_destroy(&arena);
	return is_good;
}

/* How many texts may be embedded at once: the answer is to be of bounded size. */
static size_t
texts_at_once(const struct making *making)
{
	size_t count = EMBEDDED_NUMBERS_MAX / vector_numbers(making->query);

	return count < EMBEDDED_TEXTS_MAX ? count : EMBEDDED_TEXTS_MAX;
}

static bool
make_fresh(struct making *making, struct item_pages *pages, struct candidate *candidates,
    size_t total)
{
	const size_t most = texts_at_once(making);
	struct candidate *fresh[EMBEDDED_TEXTS_MAX];
	size_t count = 0, bytes = 0, i;

	for (i = 0; i < total; i++) {
		if (candidates[i].vector != NULL)
			continue;
		fresh[count++] = &candidates[i];
		bytes += strlen(candidates[i].text);
		if (count < most && bytes <= EMBEDDED_BYTES_MAX - EMBEDDED_TEXT_BYTES_MAX)
			continue;
		if (!make_some(making, pages, fresh, count))
			return false;
		count = bytes = 0;
	}
	return count == 0 || make_some(making, pages, fresh, count);
}

static bool
are_all_there(const struct candidate *candidates, size_t count)
{
	size_t i = 0;

	while (i < count && candidates[i].vector != NULL)
		i++;
	return i == count;
}

bool
item_vectors_make(struct making *making, struct item_pages *pages,
    struct candidate *candidates, size_t count)
{
	uint64_t look_ms = LOOK_MS_MIN, bytes = 0;
	enum store_status status;

	while (!are_all_there(candidates, count)) {
		if (!make_fresh(making, pages, candidates, count))
			return false;
		if (are_all_there(candidates, count))
			break;
		/* Others are at the rest. */
		status =
		    fiber_sleep(pause_ms(making, look_ms)) == -1
			? STORE_CANCELLED
			: item_vectors_read(making, pages, candidates, count, &bytes);
		if (status != STORE_OK) {
			making->was_cancelled = status == STORE_CANCELLED;
			making->trouble =
			    value_get(item_failed(making->at, status), "fault");
			return false;
		}
		if (look_ms < LOOK_MS_MAX)
			look_ms *= 2;
	}
	return true;
}
