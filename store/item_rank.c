/* item_rank: a search over long-term memory by meaning: what the query's vector is most like.
 *
 * An item has a vector from the first search on that looks at it, kept beside it with a digest of the
 * model and the text that it is of: another text, or another model, and the vector is made anew. So
 * putting an item costs nothing more, and no vector is ever of something else. */
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "digest.h"
#include "fault.h"
#include "fiber.h"
#include "item_filter.h"
#include "item_finds.h"
#include "item_key.h"
#include "item_op.h"
#include "item_pages.h"
#include "json.h"
#include "utf8.h"
#include "vector.h"

#define KEEP_MS 1000u
#define TURN_BYTES                                                                       \
	(128u << 10) /* of values that are read before others have their turn */

struct rank {
	struct finds finds;
	struct arena *arena;        /* of what lasts as long as the search */
	const struct value *vector; /* the query's */
	const char *model;
	const struct value *fields;
	size_t embedded;             /* items that got their vector by this search */
	const struct value *trouble; /* the fault that ended it, or NULL */
	bool was_cancelled;
};

/* One on the page that the filter lets through. */
struct candidate {
	const char *member;
	const struct value *bytes, *vector; /* NULL: it has none yet */
	const char *text;
	uint8_t digest[DIGEST_BYTES];
};

struct candidates {
	struct rank *rank;
	struct item_pages *pages;
	struct candidate all[ITEM_PAGE_ITEMS];
	size_t count;
};

/* --- what is looked at ---------------------------------------------------------------- */

static const struct value *
chosen(struct arena *arena, const struct value *value, const struct value *fields)
{
	const struct value *map = value_empty_map(), *field;
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		const char *name = value_text(value_at(fields, i));

		field = name != NULL ? value_get(value, name) : NULL;
		if (!value_is_nil(field))
			map = value_map_with(arena, map, name, field);
	}
	return map;
}

/* What is looked at of text. */
static const char *
beginning(struct arena *arena, const char *text)
{
	return arena_copy(
	    arena, text, utf8_prefix(text, strlen(text), EMBEDDED_TEXT_BYTES_MAX));
}

/* What a model would refuse, and all other texts of that call with it, or could say nothing of. */
static bool
is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* The text that stands for value: as JSON, or the field itself where it is the only one and a text. NULL: it has none of
 * the fields, or says nothing. */
static const char *
text_of(const struct rank *rank, struct arena *arena, const struct value *value)
{
	const struct value *only;
	const char *text;

	if (value_size(rank->fields) > 0)
		value = chosen(arena, value, rank->fields);
	if (value_size(value) == 0)
		return NULL;
	only = value->pairs[0].value;
	if (value_size(rank->fields) == 1 && value_is(only, VALUE_STR))
		text = value_text(only);
	else
		text = json_beginning(arena, value, EMBEDDED_TEXT_BYTES_MAX);
	text = beginning(arena, text);
	return is_blank(text) ? NULL : text;
}

static void
take_digest(const struct rank *rank, struct arena *arena, struct candidate *candidate)
{
	const struct value *parts[] = { value_str(arena, rank->model),
		value_str(arena, candidate->text) };
	struct digest *digest = digest_new();

	digest_add(digest, value_array(arena, parts, 2), 0, 2);
	digest_get(digest, candidate->digest);
	digest_destroy(&digest);
}

static void
add_candidate(
    struct candidates *candidates, const char *member, const struct value *bytes)
{
	struct item_pages *pages = candidates->pages;
	const struct value *item = item_read(pages->arena, member, bytes);
	const struct value *value = value_get(item, "value");
	struct candidate *candidate = &candidates->all[candidates->count];

	if (item == NULL ||
	    !item_filter_matches(value_get(pages->at->op, "filter"), value))
		return;
	*candidate = (struct candidate){ .member = member,
		.bytes = bytes,
		.text = text_of(candidates->rank, pages->arena, value) };
	if (candidate->text == NULL)
		return;
	take_digest(candidates->rank, pages->arena, candidate);
	candidates->count++;
}

/* Returns false when it was cancelled. */
static bool
read_candidates(struct candidates *candidates)
{
	struct item_pages *pages = candidates->pages;
	struct finds *finds = &candidates->rank->finds;
	size_t count = item_pages_items(pages), bytes_read = 0, i;

	candidates->count = 0;
	for (i = 0; i < count; i++) {
		const char *member = store_text_at(pages->page, 2 * i);
		const struct value *bytes = value_at(pages->page, 2 * i + 1);

		finds->scanned++;
		finds->scanned_bytes += bytes->size;
		if (member != NULL)
			add_candidate(candidates, member, bytes);
		bytes_read += bytes->size;
		if (bytes_read < TURN_BYTES)
			continue;
		if (fiber_yield() == -1)
			return false;
		bytes_read = 0;
	}
	return true;
}

/* --- vectors -------------------------------------------------------------------------- */

/* Whether vector can be compared with the query's, where that is known. */
static bool
is_comparable(const struct rank *rank, const struct value *vector)
{
	return vector_is(vector) &&
	       (rank->vector == NULL ||
		   vector_numbers(vector) == vector_numbers(rank->vector));
}

/* What is kept is a digest, then the vector; NULL when it is of something else, or of a model that had the same name. */
static const struct value *
kept_vector(const struct rank *rank, struct arena *arena,
    const struct candidate *candidate, const struct value *kept)
{
	const struct value *vector;

	if (!value_is(kept, VALUE_BIN) || kept->size <= DIGEST_BYTES ||
	    memcmp(kept->text, candidate->digest, DIGEST_BYTES) != 0)
		return NULL;
	vector = value_bin(arena, kept->text + DIGEST_BYTES, kept->size - DIGEST_BYTES);
	return is_comparable(rank, vector) ? vector : NULL;
}

static enum store_status
read_vectors(struct candidates *candidates)
{
	struct item_pages *pages = candidates->pages;
	struct command command =
	    item_command(pages->arena, "fl_item_vectors", pages->shard);
	const struct value *reply;
	enum store_status status;
	size_t i;

	for (i = 0; i < candidates->count; i++)
		command_text(&command, candidates->all[i].member);
	status = store_read(pages->at->store, &command, &reply);
	for (i = 0; status == STORE_OK && i < candidates->count; i++) {
		const struct value *kept = value_at(reply, i);

		candidates->all[i].vector = kept_vector(
		    candidates->rank, pages->arena, &candidates->all[i], kept);
		if (kept != NULL)
			candidates->rank->finds.scanned_bytes += kept->size;
	}
	return status;
}

/* Keeps the vectors of count candidates. What cannot be kept soon, as at maxmemory, is made again by the next
 * search: this one has what it needs. */
static void
keep_vectors(struct item_pages *pages, struct candidate *const *fresh, size_t count)
{
	struct command command =
	    item_command(pages->arena, "fl_item_set_vectors", pages->shard);
	const struct value *reply;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct value *vector = fresh[i]->vector;
		char *bytes = arena_alloc(pages->arena, DIGEST_BYTES + vector->size);

		memcpy(bytes, fresh[i]->digest, DIGEST_BYTES);
		memcpy(bytes + DIGEST_BYTES, vector->text, vector->size);
		command_text(&command, fresh[i]->member);
		command_add(&command, bytes, DIGEST_BYTES + vector->size);
	}
	redis_call(store_redis(pages->at->store), pages->arena, KEEP_MS, command.args,
	    command.count, &reply);
}

/* Sets trouble unless body is what an embed_fn returns of count texts. */
static bool
is_answer(struct rank *rank, const struct value *body, size_t count)
{
	const struct value *vectors = value_get(body, "vectors");
	struct fault *fault;
	size_t i = 0;

	rank->was_cancelled = body == NULL;
	if (body == NULL)
		return false;
	rank->trouble = value_get(body, "fault");
	while (i < value_size(vectors) && is_comparable(rank, value_at(vectors, i)))
		i++;
	if (rank->trouble != NULL || (i == count && value_size(vectors) == count &&
					 value_get_text(body, "model") != NULL))
		return rank->trouble == NULL;
	fault = fault_new(rank->arena, "APIResponseError",
	    "store search: the model gave %zu vectors%s for %zu texts", i,
	    rank->vector != NULL ? " of the query's size" : "", count);
	rank->trouble = fault_to_value(rank->arena, fault);
	return false;
}

/* Has count candidates embedded. */
static bool
embed_some(struct candidates *candidates, struct candidate *const *fresh, size_t count)
{
	struct rank *rank = candidates->rank;
	struct arena *arena = candidates->pages->arena;
	struct value_list texts = { .arena = arena };
	const struct value *body, *trouble;
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(&texts, value_str(arena, fresh[i]->text));
	body = store_embed(
	    rank->finds.at->store, arena, rank->model, value_list_end(&texts));
	if (!is_answer(rank, body, count)) {
		trouble = rank->trouble; /* it lies in the page's arena */
		rank->trouble = trouble == NULL ? NULL : value_copy(rank->arena, trouble);
		return false;
	}
	for (i = 0; i < count; i++)
		fresh[i]->vector = value_at(value_get(body, "vectors"), i);
	keep_vectors(candidates->pages, fresh, count);
	rank->embedded += count;
	return true;
}

/* How many texts may be embedded at once: the answer is to be of bounded size. */
static size_t
texts_at_once(const struct rank *rank)
{
	size_t count = EMBEDDED_NUMBERS_MAX / vector_numbers(rank->vector);

	return count < EMBEDDED_TEXTS_MAX ? count : EMBEDDED_TEXTS_MAX;
}

/* Embeds those that have no vector. */
static bool
embed_fresh(struct candidates *candidates)
{
	const size_t most = texts_at_once(candidates->rank);
	struct candidate *fresh[EMBEDDED_TEXTS_MAX];
	size_t count = 0, bytes = 0, i;

	for (i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->all[i];

		if (candidate->vector != NULL)
			continue;
		fresh[count++] = candidate;
		bytes += strlen(candidate->text);
		if (count < most && bytes <= EMBEDDED_BYTES_MAX - EMBEDDED_TEXT_BYTES_MAX)
			continue;
		if (!embed_some(candidates, fresh, count))
			return false;
		count = bytes = 0;
	}
	return count == 0 || embed_some(candidates, fresh, count);
}

/* --- ranking -------------------------------------------------------------------------- */

static void
score_all(struct candidates *candidates)
{
	struct rank *rank = candidates->rank;
	struct finds *finds = &rank->finds;
	size_t i;

	for (i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->all[i];

		if (finds_keep(finds, candidate->member, candidate->bytes,
			vector_likeness(rank->vector, candidate->vector)) == -1)
			return;
	}
	/* Not for each page: with a large offset there are many to be sorted. */
	if (finds->count > 2 * finds_wanted(finds))
		finds_settle(finds);
}

/* Whether the search may and can go on. */
static bool
goes_on(const struct rank *rank)
{
	return rank->trouble == NULL && !rank->was_cancelled &&
	       rank->embedded < ITEMS_EMBEDDED_MAX && finds_may_go_on(&rank->finds);
}

static enum store_status
rank_shard(struct finds *finds, unsigned shard)
{
	struct rank *rank = (struct rank *)finds; /* its first member */
	struct item_pages pages = item_pages_open(finds->at, "fl_item_page", shard);
	struct candidates *candidates = arena_alloc(rank->arena, sizeof *candidates);
	enum store_status status = STORE_OK;

	candidates->rank = rank;
	candidates->pages = &pages;
	while (!pages.is_last && goes_on(rank)) {
		status = item_pages_read(&pages, ITEM_PAGE_ITEMS);
		if (status != STORE_OK)
			break;
		status = !read_candidates(candidates) ? STORE_CANCELLED
			 : candidates->count > 0      ? read_vectors(candidates)
						      : STORE_OK;
		if (status != STORE_OK || !embed_fresh(candidates))
			break;
		score_all(candidates);
		item_pages_advance(&pages, ITEM_PAGE_ITEMS);
	}
	item_pages_close(&pages);
	return rank->was_cancelled ? STORE_CANCELLED : status;
}

/* The query's vector, and by which model. */
static bool
embed_query(struct rank *rank)
{
	const char *text = value_get_text(rank->finds.at->op, "query");
	const struct value *query = value_str(rank->arena, beginning(rank->arena, text));
	const struct value *body = store_embed(rank->finds.at->store, rank->arena, NULL,
	    value_array(rank->arena, &query, 1));

	if (!is_answer(rank, body, 1))
		return false;
	rank->vector = value_at(value_get(body, "vectors"), 0);
	rank->model = value_get_text(body, "model");
	rank->fields = value_get(body, "fields");
	return true;
}

const struct value *
item_rank(const struct item_op *at)
{
	struct rank rank = { .finds = { .at = at, .order = finds_by_score },
		.arena = at->arena };
	const struct value *found = NULL;

	if (embed_query(&rank))
		found = item_gather(&rank.finds, "items", rank_shard);
	if (rank.was_cancelled)
		return NULL;
	if (rank.trouble != NULL)
		return value_map(at->arena, "fault", rank.trouble, NULL);
	if (rank.embedded >= ITEMS_EMBEDDED_MAX)
		return item_refuse(at, arena_printf(at->arena,
					   "%zu items had no vector yet and have one "
					   "now, which is as many as "
					   "one search may do: search again",
					   rank.embedded));
	return found;
}
