/* item_search: long-term memory, many items at once: a search, a list of namespaces. */
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "item_filter.h"
#include "item_finds.h"
#include "item_key.h"
#include "item_op.h"
#include "item_pages.h"
#include "memory.h"

#define REFRESH_MS 1000u

/* Whether member and all behind it in its shard are of no use. */
static bool
is_behind(const struct finds *finds, const char *member)
{
	return finds->sorted == finds_wanted(finds) &&
	       strcmp(member, finds->all[finds->sorted - 1].member) > 0;
}

/* Takes what was found next, and sees when nothing behind it is wanted. */
static void
take(struct finds *finds, struct item_pages *pages, const char *member,
    const struct value *bytes)
{
	/* One shard has them in the order of the answer. */
	if (!item_is_everywhere(finds->at) && finds->passed < finds->at->offset)
		finds->passed++;
	else if (is_behind(finds, member) || finds_keep(finds, member, bytes, 0) == -1 ||
		 finds->count - finds->sorted >= finds_wanted(finds))
		pages->is_last = true;
}

/* --- items ---------------------------------------------------------------------------- */

/* Whether what is at member is found. */
static bool
is_found(const struct item_pages *pages, const char *member, const struct value *bytes)
{
	const struct value *item = item_read(pages->arena, member, bytes);
	const struct value *filter = value_get(pages->at->op, "filter");

	return item != NULL && item_filter_matches(filter, value_get(item, "value"));
}

/* Keeps what is found on this page. */
static void
take_items(struct finds *finds, struct item_pages *pages)
{
	size_t count = item_pages_items(pages), i;

	for (i = 0; i < count && !pages->is_last; i++) {
		const char *member = store_text_at(pages->page, 2 * i);
		const struct value *bytes = value_at(pages->page, 2 * i + 1);

		finds->scanned++;
		finds->scanned_bytes += bytes->size;
		if (member != NULL && is_found(pages, member, bytes))
			take(finds, pages, member, bytes);
	}
}

/* How many items the next page shall have: what is not asked for is not sent. */
static uint64_t
page_items(const struct finds *finds)
{
	uint64_t left = finds_wanted(finds) - (finds->count - finds->sorted);

	if (value_size(value_get(finds->at->op, "filter")) > 0)
		return ITEM_PAGE_ITEMS;
	if (!item_is_everywhere(finds->at))
		left += finds->at->offset - finds->passed;
	return left < ITEM_PAGE_ITEMS ? left : ITEM_PAGE_ITEMS;
}

/* Adds the shard's items that the filter lets through. */
static enum store_status
search_shard(struct finds *finds, unsigned shard)
{
	struct item_pages pages = item_pages_open(finds->at, "fl_item_page", shard);
	enum store_status status = STORE_OK;

	while (!pages.is_last && finds_may_go_on(finds)) {
		uint64_t asked = page_items(finds);

		status = item_pages_read(&pages, asked);
		if (status != STORE_OK)
			break;
		take_items(finds, &pages);
		item_pages_advance(&pages, asked);
	}
	item_pages_close(&pages);
	return status;
}

/* --- namespaces ----------------------------------------------------------------------- */

/* "*" is any label. */
static bool
is_label(const struct value *wanted, const struct value *label)
{
	return value_text_is(wanted, "*") || value_equal(wanted, label);
}

/* Whether labels begin with the operation's namespace, and end with its suffix. */
static bool
is_asked_for(const struct item_op *at, const struct value *labels)
{
	const struct value *prefix = value_get(at->op, "namespace");
	const struct value *suffix = value_get(at->op, "suffix");
	size_t size = value_size(labels), ends = value_size(suffix), i;

	if (value_size(prefix) > size || ends > size)
		return false;
	for (i = 0; i < value_size(prefix); i++)
		if (!is_label(value_at(prefix, i), value_at(labels, i)))
			return false;
	for (i = 0; i < ends; i++)
		if (!is_label(value_at(suffix, i), value_at(labels, size - ends + i)))
			return false;
	return true;
}

/* Keeps the page's namespaces that are asked for, cut to max_depth labels, each once. */
static void
take_spaces(struct finds *finds, struct item_pages *pages, size_t count, char **last_p)
{
	int64_t depth = value_get_int(finds->at->op, "max_depth", ITEM_LABELS_MAX);
	size_t i;

	for (i = 0; i < count && !pages->is_last; i++) {
		const char *error, *key, *space;
		const struct value *labels =
		    item_labels(pages->arena, store_text_at(pages->page, i), &key);

		finds->scanned++;
		if (!is_asked_for(finds->at, labels))
			continue;
		labels = value_array_slice(pages->arena, labels, 0, (size_t)depth);
		space = item_space(pages->arena, labels, true, &error);
		if (space == NULL || (*last_p != NULL && strcmp(*last_p, space) == 0))
			continue;
		free(*last_p);
		*last_p = xstrdup(space);
		take(finds, pages, space, NULL);
	}
}

static enum store_status
spaces_of_shard(struct finds *finds, unsigned shard)
{
	struct item_pages pages = item_pages_open(finds->at, "fl_item_spaces", shard);
	enum store_status status = STORE_OK;
	char *last = NULL;

	while (!pages.is_last && finds_may_go_on(finds)) {
		size_t count;

		status = item_pages_read(&pages, ITEM_PAGE_ITEMS);
		if (status != STORE_OK)
			break;
		count = value_size(pages.page);
		take_spaces(finds, &pages, count, &last);
		if (count < ITEM_PAGE_ITEMS ||
		    store_text_at(pages.page, count - 1) == NULL)
			pages.is_last = true;
		else
			pages.from = arena_printf(finds->at->arena, "[%s%c",
			    store_text_at(pages.page, count - 1), ITEM_LABEL_END);
	}
	free(last);
	item_pages_close(&pages);
	return status;
}

/* --- answers -------------------------------------------------------------------------- */

static const struct value *
to_value(const struct finds *finds, const struct find *find)
{
	struct arena *arena = finds->at->arena;
	const char *key;
	const struct value *item;

	if (find->bytes == NULL)
		return item_labels(arena, find->member, &key);
	item = item_read(arena, find->member, value_bin(arena, find->bytes, find->size));
	return finds->order != finds_by_score ? item
					      : value_map_with(arena, item, "score",
						    value_float(arena, find->score));
}

static const struct value *
answer(const struct finds *finds, const char *name)
{
	struct value_list list = { .arena = finds->at->arena };
	size_t i;

	for (i = finds->at->offset - finds->passed; i < finds->count; i++)
		value_list_add(&list, to_value(finds, &finds->all[i]));
	return value_map(list.arena, name, value_list_end(&list), NULL);
}

/* Makes what was found in the shard and ends last again. */
static void
refresh_shard(const struct finds *finds, unsigned shard)
{
	struct arena *arena = arena_new();
	struct command command = item_command(arena, "fl_item_refresh", shard);
	const size_t none = command.count;
	const struct value *reply;
	size_t i;

	for (i = finds->at->offset - finds->passed; i < finds->count; i++) {
		const struct find *find = &finds->all[i];

		if (find->bytes != NULL && item_shard(find->member) == shard &&
		    value_has(item_read(arena, find->member,
				  value_bin(arena, find->bytes, find->size)),
			"expires_at"))
			command_text(&command, find->member);
	}
	if (command.count > none)
		redis_call(store_redis(finds->at->store), arena, REFRESH_MS, command.args,
		    command.count, &reply);
	arena_destroy(&arena);
}

/* What Redis does not do soon is not waited for: they are found. */
static void
refresh(const struct finds *finds)
{
	unsigned shard = item_is_everywhere(finds->at) ? 0 : item_shard(finds->at->space);
	unsigned end = item_is_everywhere(finds->at) ? SHARDS : shard + 1;

	for (; item_refreshes(finds->at) && shard < end; shard++)
		refresh_shard(finds, shard);
}

const struct value *
item_gather(struct finds *finds, const char *name,
    enum store_status (*of_shard)(struct finds *finds, unsigned shard))
{
	const struct item_op *at = finds->at;
	unsigned shard = item_is_everywhere(at) ? 0 : item_shard(at->space);
	unsigned end = item_is_everywhere(at) ? SHARDS : shard + 1;
	enum store_status status = STORE_OK;
	const struct value *found = NULL;

	for (; shard < end && status == STORE_OK && finds_may_go_on(finds); shard++) {
		status = of_shard(finds, shard);
		finds_settle(finds);
	}
	if (status != STORE_OK)
		found = item_failed(at, status);
	else if (finds_refusal(finds) != NULL)
		found = item_refuse(at, finds_refusal(finds));
	else if (!finds->is_void) {
		found = answer(finds, name);
		refresh(finds);
	}
	finds_release(finds);
	return found;
}

const struct value *
item_search(const struct item_op *at)
{
	struct finds finds = { .at = at, .order = finds_by_member };

	return value_has(at->op, "query") ? item_rank(at)
					  : item_gather(&finds, "items", search_shard);
}

const struct value *
item_namespaces(const struct item_op *at)
{
	struct finds finds = { .at = at, .order = finds_by_member };

	return item_gather(&finds, "namespaces", spaces_of_shard);
}
