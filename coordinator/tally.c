#include "tally.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "chat.h"
#include "fiber.h"
#include "memory.h"
#include "spread.h"
#include "store_fleet.h"

#define TELL_MS 1000u
#define OTHER "other" /* models beyond TALLY_MODELS_MAX, and names too long to be one */

enum count {
	ANSWERS,
	UNTOLD,
	INPUT,
	OUTPUT,
	CACHE_READ,
	CACHE_CREATION,
	REASONING,
	COUNTS
};

/* Where usage_metadata has it: in a map of its own, or in itself. */
static const struct {
	const char *name, *details, *key;
} counts[COUNTS] = {
	[ANSWERS] = { "answers", NULL, NULL },
	[UNTOLD] = { "untold", NULL, NULL },
	[INPUT] = { "input", NULL, "input_tokens" },
	[OUTPUT] = { "output", NULL, "output_tokens" },
	[CACHE_READ] = { "cache_read", "input_token_details", "cache_read" },
	[CACHE_CREATION] = { "cache_creation", "input_token_details", "cache_creation" },
	[REASONING] = { "reasoning", "output_token_details", "reasoning" },
};

/* How runs end that had a coordinator. */
static const char *const ends[] = { "success", "error", "interrupted", "cancelled" };
#define ENDS (sizeof ends / sizeof *ends)

struct row {
	char *model;
	int64_t counts[COUNTS]; /* not told yet */
};

struct tally {
	struct store *store;
	struct fiber *fiber;
	struct row rows[TALLY_MODELS_MAX + 1]; /* the last one: OTHER */
	size_t row_count;
	struct spread took[ENDS]; /* not told yet */
};

/* --- counting ------------------------------------------------------------------------- */

static struct row *
row_of(struct tally *tally, const char *model)
{
	struct row *row;
	size_t i;

	if (strnlen(model, SERVICE_BYTES_MAX + 1) > SERVICE_BYTES_MAX)
		model = OTHER;
	for (i = 0; i < tally->row_count; i++)
		if (strcmp(tally->rows[i].model, model) == 0)
			return &tally->rows[i];
	if (i > TALLY_MODELS_MAX)
		return &tally->rows[TALLY_MODELS_MAX];
	row = &tally->rows[tally->row_count++];
	row->model = xstrdup(i < TALLY_MODELS_MAX ? model : OTHER);
	return row;
}

static int64_t
used(const struct value *usage, size_t count)
{
	const struct value *from = counts[count].details != NULL
				       ? value_get(usage, counts[count].details)
				       : usage;
	int64_t tokens =
	    counts[count].key != NULL ? value_get_int(from, counts[count].key, 0) : 0;

	return tokens > 0 && tokens <= ANSWER_TOKENS_MAX ? tokens : 0;
}

void
tally_answer(struct tally *tally, const char *model, const struct value *usage)
{
	struct row *row;
	size_t i;

	if (model == NULL)
		return;
	row = row_of(tally, model);
	row->counts[ANSWERS]++;
	row->counts[UNTOLD] += value_size(usage) == 0;
	for (i = 0; i < COUNTS; i++)
		row->counts[i] += used(usage, i);
}

void
tally_result(struct tally *tally, const char *model, const struct value *body)
{
	const struct value *entries = value_get(body, "usage"), *messages;
	size_t i;
	long last;

	for (i = 0; i < value_size(entries); i++) {
		const struct value *entry = value_at(entries, i);
		bool is_told = !value_get_bool(entry, "estimated", false);

		tally_answer(tally, value_get_text(entry, "model"),
		    is_told ? value_get(entry, "usage") : NULL);
	}
	if (i > 0 || model == NULL)
		return;
	messages = value_get(body, "messages");
	last = chat_last_ai(messages);
	if (last != -1)
		tally_answer(tally, model,
		    value_get(value_at(messages, (size_t)last), "usage_metadata"));
}

void
tally_run(struct tally *tally, const char *status, uint64_t ms)
{
	size_t i;

	for (i = 0; i < ENDS; i++)
		if (strcmp(ends[i], status) == 0)
			spread_add(&tally->took[i], ms);
}

/* --- telling -------------------------------------------------------------------------- */

/* Tells of one row what is not told yet. What Redis refuses is kept, and holds nothing else up. */
static void
tell_row(struct tally *tally, struct arena *arena, struct row *row)
{
	size_t i;

	for (i = 0; i < COUNTS; i++) {
		int64_t count = row->counts[i];

		if (count != 0 && store_count_tokens(tally->store, arena, row->model,
				      counts[i].name, count) == STORE_OK)
			row->counts[i] -= count; /* more may have come */
	}
}

static void
tell_took(struct tally *tally, struct arena *arena, size_t end)
{
	struct spread *took = &tally->took[end];
	uint64_t count = took->sum_ms;
	unsigned i;

	if (count != 0 &&
	    store_count_took(tally->store, arena, ends[end], (int64_t)count) == STORE_OK)
		took->sum_ms -= count;
	for (i = 0; i <= SPREAD_BOUND_COUNT; i++) {
		count = took->counts[i];
		if (count != 0 && store_count_ended(tally->store, arena, ends[end], i,
				      (int64_t)count) == STORE_OK)
			took->counts[i] -= count;
	}
}

/* Shielded: whether a count that is cancelled half way was taken nobody would know. */
static void
tell(struct tally *tally)
{
	struct arena *arena = arena_new();
	size_t i;

	fiber_shield(true);
	for (i = 0; i < tally->row_count && !store_is_gone(tally->store); i++)
		tell_row(tally, arena, &tally->rows[i]);
	for (i = 0; i < ENDS && !store_is_gone(tally->store); i++)
		tell_took(tally, arena, i);
	fiber_shield(false);
	arena_destroy(&arena);
}

static void
tally_main(void *arg)
{
	struct tally *tally = arg;

	while (fiber_sleep(TELL_MS) == 0)
		tell(tally);
	tell(tally);
	tally->fiber = NULL;
}

/* --- life ----------------------------------------------------------------------------- */

struct tally *
tally_new(struct loop *loop, struct store *store)
{
	struct tally *tally = xcalloc(1, sizeof *tally);

	tally->store = store;
	tally->fiber = fiber_start(loop, "tally", tally_main, tally);
	return tally;
}

void
tally_stop(struct tally *tally)
{
	if (tally->fiber != NULL)
		fiber_cancel(tally->fiber);
}

void
tally_destroy(struct tally **tally_p)
{
	struct tally *tally = *tally_p;
	size_t i;

	for (i = 0; i < tally->row_count; i++)
		free(tally->rows[i].model);
	free(tally);
	*tally_p = NULL;
}
