/* item_search: long-term memory, many items at once: a search, a list of namespaces.
 *
 * What is looked at goes with its page; what is found is kept as its bytes, the first
 * offset + limit of the order so far and no more. */
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "item_filter.h"
#include "item_key.h"
#include "item_op.h"
#include "memory.h"

#define PAGE_ITEMS 200u
#define PAGE_BYTES (1u << 20) /* and what of its last item is above */

struct find {
	char *member;
	void *bytes; /* what `item` holds of it; NULL: member is a namespace */
	size_t size;
};

/* What was found, over one shard or all. */
struct finds {
	const struct item_op *at;
	struct find *all;
	size_t count, room;
	size_t sorted;   /* the first so many, which those of this shard come behind */
	uint64_t passed; /* of the offset, that nothing has to be kept of */
	uint64_t bytes;
	uint64_t scanned, scanned_bytes;
};

/* --- what is kept --------------------------------------------------------------------- */

/* How many finds are worth being kept. */
static uint64_t
wanted(const struct finds *finds)
{
	return finds->at->offset + finds->at->limit - finds->passed;
}

static void
drop(struct finds *finds, struct find *find)
{
	finds->bytes -= strlen(find->member) + find->size;
	free(find->member);
	free(find->bytes);
}

static int
by_member(const void *a, const void *b)
{
	return strcmp(((const struct find *)a)->member, ((const struct find *)b)->member);
}

/* Brings all finds into their order, and drops what is behind the last that is wanted. */
static void
settle(struct finds *finds)
{
	if (finds->count > 0)
		qsort(finds->all, finds->count, sizeof *finds->all, by_member);
	while (finds->count > wanted(finds))
		drop(finds, &finds->all[--finds->count]);
	finds->sorted = finds->count;
}

/* bytes: of an item, or NULL. Returns 0, or -1: too much is found. */
static int
keep(struct finds *finds, const char *member, const struct value *bytes)
{
	struct find *find;

	if (finds->count == finds->room) {
		finds->room = finds->room == 0 ? 64 : 2 * finds->room;
		finds->all = xreallocarray(finds->all, finds->room, sizeof *finds->all);
	}
	find = &finds->all[finds->count++];
	*find = (struct find){ .member = xstrdup(member) };
	if (bytes != NULL) {
		find->size = bytes->size;
		find->bytes = xcalloc(1, find->size);
		memcpy(find->bytes, bytes->text, find->size);
	}
	finds->bytes += strlen(member) + find->size;
	if (finds->bytes > ITEMS_FOUND_BYTES_MAX)
		settle(finds);
	return finds->bytes > ITEMS_FOUND_BYTES_MAX ? -1 : 0;
}

static bool
is_everywhere(const struct finds *finds)
{
	return *finds->at->space == '\0';
}

/* Whether member and all behind it in its shard are of no use. */
static bool
is_behind(const struct finds *finds, const char *member)
{
	return finds->sorted == wanted(finds) &&
	       strcmp(member, finds->all[finds->sorted - 1].member) > 0;
}

/* --- pages ---------------------------------------------------------------------------- */

/* The range of all members that begin with space, which ends with ITEM_LABEL_END or is empty. */
static const char *
range_begin(const struct item_op *at)
{
	return *at->space == '\0' ? "-" : arena_printf(at->arena, "[%s", at->space);
}

static const char *
range_end(const struct item_op *at)
{
	return *at->space == '\0'
		   ? "+"
		   : arena_printf(at->arena, "(%.*s%c", (int)strlen(at->space) - 1,
			 at->space, ITEM_LABEL_END + 1);
}

/* A shard's members in their order, page by page. */
struct pages {
	struct finds *finds;
	const char *function;
	unsigned shard;
	const char *from;    /* of the next page */
	struct arena *arena; /* of this one */
	const struct value *page;
	bool is_last;
};

static struct pages
open_pages(struct finds *finds, const char *function, unsigned shard)
{
	return (struct pages){ .finds = finds,
		.function = function,
		.shard = shard,
		.from = range_begin(finds->at) };
}

static enum store_status
next_page(struct pages *pages, uint64_t count)
{
	const struct item_op *at = pages->finds->at;
	struct command command;

	arena_destroy(&pages->arena);
	pages->arena = arena_new();
	command = item_command(pages->arena, pages->function, pages->shard);
	command_text(&command, pages->from);
	command_text(&command, range_end(at));
	command_uint(&command, count);
	command_uint(&command, PAGE_BYTES);
	return store_read(at->store, &command, &pages->page);
}

static bool
may_go_on(const struct finds *finds)
{
	return finds->scanned < ITEMS_SCANNED_MAX &&
	       finds->scanned_bytes < ITEMS_SCANNED_BYTES_MAX &&
	       finds->bytes <= ITEMS_FOUND_BYTES_MAX;
}

/* Takes what was found next, and sees when nothing behind it is wanted. */
static void
take(struct pages *pages, const char *member, const struct value *bytes)
{
	struct finds *finds = pages->finds;

	/* One shard has them in the order of the answer. */
	if (!is_everywhere(finds) && finds->passed < finds->at->offset)
		finds->passed++;
	else if (is_behind(finds, member) || keep(finds, member, bytes) == -1 ||
		 finds->count - finds->sorted >= wanted(finds))
		pages->is_last = true;
}

/* --- items ---------------------------------------------------------------------------- */

/* Whether what is at member is found. */
static bool
is_found(const struct pages *pages, const char *member, const struct value *bytes)
{
	const struct value *item = item_read(pages->arena, member, bytes);
	const struct value *filter = value_get(pages->finds->at->op, "filter");

	return item != NULL && item_filter_matches(filter, value_get(item, "value"));
}

/* Keeps what is found on this page. */
static void
take_items(struct pages *pages, size_t count)
{
	struct finds *finds = pages->finds;
	size_t i;

	for (i = 0; i < count && !pages->is_last; i++) {
		const char *member = store_text_at(pages->page, 2 * i);
		const struct value *bytes = value_at(pages->page, 2 * i + 1);

		finds->scanned++;
		finds->scanned_bytes += bytes->size;
		if (member != NULL && is_found(pages, member, bytes))
			take(pages, member, bytes);
	}
}

/* How many items the next page shall have: what is not asked for is not sent. */
static uint64_t
page_items(const struct finds *finds)
{
	uint64_t left = wanted(finds) - (finds->count - finds->sorted);

	if (value_size(value_get(finds->at->op, "filter")) > 0)
		return PAGE_ITEMS;
	if (!is_everywhere(finds))
		left += finds->at->offset - finds->passed;
	return left < PAGE_ITEMS ? left : PAGE_ITEMS;
}

/* Adds the shard's items that the filter lets through. */
static enum store_status
search_shard(struct finds *finds, unsigned shard)
{
	struct pages pages = open_pages(finds, "fl_item_page", shard);
	enum store_status status = STORE_OK;

	while (!pages.is_last && may_go_on(finds)) {
		uint64_t asked = page_items(finds);
		size_t size, count;
		const char *last;

		status = next_page(&pages, asked);
		if (status != STORE_OK)
			break;
		size = value_size(pages.page);
		count = size / 2; /* one more: there are others behind them */
		last = count > 0 ? store_text_at(pages.page, 2 * count - 2) : NULL;
		take_items(&pages, count);
		if (last == NULL || (count < asked && size % 2 == 0))
			pages.is_last = true;
		else
			pages.from = arena_printf(finds->at->arena, "(%s", last);
	}
	arena_destroy(&pages.arena);
	return status;
}

/* --- namespaces ----------------------------------------------------------------------- */

/* Keeps the page's namespaces, cut to max_depth labels, each once. */
static void
take_spaces(struct pages *pages, size_t count, char **last_p)
{
	struct finds *finds = pages->finds;
	int64_t depth = value_get_int(finds->at->op, "max_depth", ITEM_LABELS_MAX);
	size_t i;

	for (i = 0; i < count && !pages->is_last; i++) {
		const char *error, *key, *space;
		const struct value *labels =
		    item_labels(pages->arena, store_text_at(pages->page, i), &key);

		finds->scanned++;
		labels = value_array_slice(pages->arena, labels, 0, (size_t)depth);
		space = item_space(pages->arena, labels, true, &error);
		if (space == NULL || (*last_p != NULL && strcmp(*last_p, space) == 0))
			continue;
		free(*last_p);
		*last_p = xstrdup(space);
		take(pages, space, NULL);
	}
}

static enum store_status
spaces_of_shard(struct finds *finds, unsigned shard)
{
	struct pages pages = open_pages(finds, "fl_item_spaces", shard);
	enum store_status status = STORE_OK;
	char *last = NULL;

	while (!pages.is_last && may_go_on(finds)) {
		size_t count;

		status = next_page(&pages, PAGE_ITEMS);
		if (status != STORE_OK)
			break;
		count = value_size(pages.page);
		take_spaces(&pages, count, &last);
		if (count < PAGE_ITEMS || store_text_at(pages.page, count - 1) == NULL)
			pages.is_last = true;
		else
			pages.from = arena_printf(finds->at->arena, "[%s%c",
			    store_text_at(pages.page, count - 1), ITEM_LABEL_END);
	}
	free(last);
	arena_destroy(&pages.arena);
	return status;
}

/* --- answers -------------------------------------------------------------------------- */

/* Why there is no answer, or NULL. */
static const char *
refusal(const struct finds *finds)
{
	struct arena *arena = finds->at->arena;

	if (finds->bytes > ITEMS_FOUND_BYTES_MAX)
		return arena_printf(arena,
		    "what it finds takes more than %u MiB: ask for fewer with limit",
		    ITEMS_FOUND_BYTES_MAX >> 20);
	if (finds->scanned >= ITEMS_SCANNED_MAX)
		return arena_printf(arena,
		    "more than %u items had to be looked at: narrow the namespace",
		    ITEMS_SCANNED_MAX);
	if (finds->scanned_bytes >= ITEMS_SCANNED_BYTES_MAX)
		return arena_printf(arena,
		    "more than %u MiB of items had to be looked at: narrow the namespace",
		    ITEMS_SCANNED_BYTES_MAX >> 20);
	return NULL;
}

static const struct value *
to_value(struct arena *arena, const struct find *find)
{
	const char *key;

	if (find->bytes == NULL)
		return item_labels(arena, find->member, &key);
	return item_read(arena, find->member, value_bin(arena, find->bytes, find->size));
}

static const struct value *
answer(const struct finds *finds, const char *name)
{
	struct value_list list = { .arena = finds->at->arena };
	size_t i;

	for (i = finds->at->offset - finds->passed; i < finds->count; i++)
		value_list_add(&list, to_value(list.arena, &finds->all[i]));
	return value_map(list.arena, name, value_list_end(&list), NULL);
}

static const struct value *
gather(const struct item_op *at, const char *name,
    enum store_status (*of_shard)(struct finds *finds, unsigned shard))
{
	struct finds finds = { .at = at };
	unsigned shard = is_everywhere(&finds) ? 0 : item_shard(at->space);
	unsigned end = is_everywhere(&finds) ? SHARDS : shard + 1;
	enum store_status status = STORE_OK;
	const struct value *found;

	for (; shard < end && status == STORE_OK && may_go_on(&finds); shard++) {
		status = of_shard(&finds, shard);
		settle(&finds);
	}
	if (status != STORE_OK)
		found = item_failed(at, status);
	else if (refusal(&finds) != NULL)
		found = item_refuse(at, refusal(&finds));
	else
		found = answer(&finds, name);
	while (finds.count > 0)
		drop(&finds, &finds.all[--finds.count]);
	free(finds.all);
	return found;
}

const struct value *
item_search(const struct item_op *at)
{
	return gather(at, "items", search_shard);
}

const struct value *
item_namespaces(const struct item_op *at)
{
	return gather(at, "namespaces", spaces_of_shard);
}
