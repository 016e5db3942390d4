#include "item_pages.h"

#include <string.h>

#include "item_key.h"

#define PAGE_BYTES (1u << 20) /* and what of its last item is above */

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

bool
item_is_everywhere(const struct item_op *at)
{
	return *at->space == '\0';
}

struct item_pages
item_pages_open(const struct item_op *at, const char *function, unsigned shard)
{
	return (struct item_pages){
		.at = at, .function = function, .shard = shard, .from = range_begin(at)
	};
}

void
item_pages_close(struct item_pages *pages)
{
	arena_destroy(&pages->arena);
}

enum store_status
item_pages_read(struct item_pages *pages, uint64_t count)
{
	struct command command;
	enum store_status status;

	arena_destroy(&pages->arena);
	pages->arena = arena_new();
	command = item_command(pages->arena, pages->function, pages->shard);
	command_text(&command, pages->from);
	command_text(&command, range_end(pages->at));
	command_uint(&command, count);
	command_uint(&command, PAGE_BYTES);
	status = store_read(pages->at->store, &command, &pages->page);
	/* What is read of it has room for no more. */
	if (status == STORE_OK && (!value_is(pages->page, VALUE_ARRAY) ||
				      value_size(pages->page) > 2 * count + 1))
		return store_odd(pages->at->store, pages->page);
	return status;
}

size_t
item_pages_items(const struct item_pages *pages)
{
	return value_size(pages->page) / 2; /* one more: there are others behind them */
}

void
item_pages_advance(struct item_pages *pages, uint64_t asked)
{
	size_t count = item_pages_items(pages);
	const char *last = count > 0 ? store_text_at(pages->page, 2 * count - 2) : NULL;

	if (last == NULL || (count < asked && value_size(pages->page) % 2 == 0))
		pages->is_last = true;
	else
		pages->from = arena_printf(pages->at->arena, "(%s", last);
}
