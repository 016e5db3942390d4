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
#include "item_index.h"
#include "item_key.h"
#include "item_op.h"
#include "item_vectors.h"
#include "utf8.h"
#include "vector.h"

#define TURN_BYTES                                                                       \
	(128u << 10) /* of values that are read before others have their turn */

struct rank {
	struct finds finds;
	struct arena *arena; /* of what lasts as long as the search */
	struct making making;
	const struct value *fields;
};

struct candidates {
	struct rank *rank;
	struct item_pages *pages;
	struct candidate all[ITEM_PAGE_ITEMS];
	size_t count;
};

/* --- what is looked at ---------------------------------------------------------------- */

/* Its own fields, if it has any, or those of all; NULL: it is not found by meaning, by its put or since it says nothing. */
static const char *
text_of(const struct rank *rank, struct arena *arena, const struct value *item)
{
	const struct value *index = value_get(item, "index");

	if (value_is(index, VALUE_BOOL) ||
	    (value_is(index, VALUE_ARRAY) && value_size(index) == 0))
		return NULL;
	return item_index_text(
	    arena, value_get(item, "value"), index != NULL ? index : rank->fields);
}

static void
take_digest(const struct rank *rank, struct arena *arena, struct candidate *candidate)
{
	const struct value *parts[] = { value_str(arena, rank->making.model),
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
		.text = text_of(candidates->rank, pages->arena, item) };
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
			vector_likeness(rank->making.query, candidate->vector)) == -1)
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
	const struct making *making = &rank->making;

	return making->trouble == NULL && !making->was_cancelled &&
	       !making->is_unfinished && finds_may_go_on(&rank->finds);
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
			 : candidates->count > 0
			     ? item_vectors_read(&rank->making, &pages, candidates->all,
				   candidates->count, &finds->scanned_bytes)
			     : STORE_OK;
		if (status != STORE_OK || !item_vectors_make(&rank->making, &pages,
					      candidates->all, candidates->count))
			break;
		score_all(candidates);
		item_pages_advance(&pages, ITEM_PAGE_ITEMS);
	}
	item_pages_close(&pages);
	finds->is_void = rank->making.trouble != NULL || rank->making.is_unfinished;
	return rank->making.was_cancelled ? STORE_CANCELLED : status;
}

/* The query's vector, and by which model. */
static bool
embed_query(struct rank *rank)
{
	const char *text = value_get_text(rank->finds.at->op, "query");
	const struct value *query = value_strn(
	    rank->arena, text, utf8_prefix(text, strlen(text), EMBEDDED_TEXT_BYTES_MAX));
	const struct value *body = store_embed(rank->finds.at->store, rank->arena, NULL,
	    value_array(rank->arena, &query, 1));

	if (!making_check(&rank->making, body, 1))
		return false;
	rank->making.query = value_at(value_get(body, "vectors"), 0);
	rank->making.model = value_get_text(body, "model");
	rank->fields = value_get(body, "fields");
	return true;
}

static const struct value *
unfinished(const struct item_op *at, size_t made)
{
	struct fault *fault = fault_new(at->arena, "TimeoutError",
	    "store search: %zu items have their vector from this search, and more have "
	    "none yet: search again",
	    made);

	fault->retryable = true;
	return value_map(at->arena, "fault", fault_to_value(at->arena, fault), NULL);
}

const struct value *
item_rank(const struct item_op *at)
{
	struct rank rank = { .finds = { .at = at, .order = finds_by_score },
		.arena = at->arena,
		.making = { .at = at } };
	const struct making *making = &rank.making;
	const struct value *found = NULL;

	if (embed_query(&rank))
		found = item_gather(&rank.finds, "items", rank_shard);
	if (making->was_cancelled)
		return NULL;
	if (making->trouble != NULL)
		return value_map(at->arena, "fault", making->trouble, NULL);
	return making->is_unfinished ? unfinished(at, making->made) : found;
}
