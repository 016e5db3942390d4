#include "pattern_work.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "bounds.h"

#define CLASS_BYTES_FREE 256u /* compiled: without characters from U+0100 on */
#define GROUPS_LOOKED_AT 64u
#define CHARACTER_BYTES 4u
#define LEAST_MAX 65535u /* PCRE2's bound */

struct weighing {
	struct work *work;
	const char *text;
};

/* --- what an item costs ------------------------------------------------------------------ */

/* The most characters that the item at text is said to run over at least: {n}, not \x{n}. */
static uint32_t
least_of(const char *text, size_t size)
{
	uint32_t most = 1, n;
	size_t i, j;

	for (i = 1; i < size; i++) {
		if (text[i] != '{' || (i > 1 && text[i - 2] == '\\'))
			continue;
		for (n = 0, j = i + 1; j < size && text[j] >= '0' && text[j] <= '9'; j++)
			n = n > LEAST_MAX ? n : n * 10 + (uint32_t)(text[j] - '0');
		if (n > most && j < size && (text[j] == '}' || text[j] == ','))
			most = n < LEAST_MAX ? n : LEAST_MAX;
	}
	return most;
}

/* What the class at text is compiled to tells how many ranges it has: (?i) may add many to one. */
static uint16_t
width_of(const char *text, size_t size)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code;
	PCRE2_SIZE offset;
	size_t bytes = 0;
	int error;

	if (context == NULL)
		arena_exhausted();
	pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);

	code = pcre2_compile((PCRE2_SPTR)text, size,
	    PCRE2_UTF | PCRE2_CASELESS | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS, &error,
	    &offset, context);
	pcre2_compile_context_free(context);
	if (code == NULL)
		bytes = size;
	else
		pcre2_pattern_info(code, PCRE2_INFO_SIZE, &bytes);
	pcre2_code_free(code);
	return (uint16_t)(bytes <= CLASS_BYTES_FREE
			      ? 0
			      : (bytes - CLASS_BYTES_FREE) / PATTERN_CLASS_BYTES + 1);
}

static bool
is_backref(const char *text, size_t size)
{
	if (size >= 4 && memcmp(text, "(?P=", 4) == 0)
		return true;
	return size >= 2 && text[0] == '\\' && strchr("123456789gk", text[1]) != NULL;
}

static struct item *
new_items(size_t size)
{
	struct item *items = calloc(size + 1, sizeof *items);

	if (items == NULL)
		arena_exhausted();
	return items;
}

static int
weigh_item(pcre2_callout_enumerate_block *block, void *arg)
{
	struct weighing *weighing = arg;
	struct work *work = weighing->work;
	const char *text = weighing->text + block->pattern_position;
	size_t size = block->next_item_length;
	struct item item = { 0 };
	uint32_t least;

	if (size == 0 || text[0] == ')' ||
	    (work->items != NULL && work->items[block->pattern_position].least > 0))
		return 0;
	least = least_of(text, size);
	item.is_backref = is_backref(text, size);
	item.width = text[0] == '[' ? width_of(text, size) : 0;
	if (least == 1 && !item.is_backref && item.width == 0)
		return 0;
	item.least = least * CHARACTER_BYTES;
	if (work->items == NULL)
		work->items = new_items(work->size);
	work->items[block->pattern_position] = item;
	if (work->width < item.width)
		work->width = item.width;
	return 0;
}

/* Whether (?i) is somewhere in text. A guess that errs on the side of more work. */
static bool
may_ignore_case(const char *text, size_t size)
{
	size_t i, j;

	for (i = 0; i + 2 < size; i++) {
		if (text[i] != '(' || text[i + 1] != '?')
			continue;
		for (j = i + 2; j < size && strchr("imsxnJU^-", text[j]) != NULL; j++)
			if (text[j] == 'i')
				return true;
	}
	return false;
}

void
work_weigh(struct work *work, const pcre2_code *code, const char *text, size_t size)
{
	struct weighing weighing = { work, text };
	size_t frame = 0;

	pcre2_pattern_info(code, PCRE2_INFO_FRAMESIZE, &frame);
	work->size = size;
	work->step = 1 + frame / PATTERN_FRAME_BYTES;
	work->compare =
	    may_ignore_case(text, size) ? PATTERN_AHEAD_BYTES : PATTERN_COMPARE_BYTES;
	pcre2_callout_enumerate(code, weigh_item, &weighing);
}

void
work_free(struct work *work)
{
	free(work->items);
	free(work);
}

/* --- what a search pays ------------------------------------------------------------------ */

/* Characters from U+0100 on that begin in the bytes of text. */
static size_t
count_wide(PCRE2_SPTR text, size_t from, size_t to)
{
	size_t count = 0;

	for (; from < to; from++)
		count += text[from] >= 0xC4;
	return count;
}

/* The most bytes that a back reference may have to compare. */
static size_t
longest_group(const pcre2_callout_block *block)
{
	const PCRE2_SIZE *ends = block->offset_vector;
	size_t longest = 0, i;

	if (block->capture_top > GROUPS_LOOKED_AT)
		return block->subject_length;
	for (i = 1; i < block->capture_top; i++)
		if (ends[2 * i] != PCRE2_UNSET && ends[2 * i] < ends[2 * i + 1] &&
		    ends[2 * i + 1] - ends[2 * i] > longest)
			longest = ends[2 * i + 1] - ends[2 * i];
	return longest;
}

static size_t
work_ahead(
    const struct work *work, const struct item *item, const pcre2_callout_block *block)
{
	size_t at = block->current_position, rest = block->subject_length - at;
	size_t most = rest < item->least ? rest : item->least, size, compare;

	if (!item->is_backref)
		return most / PATTERN_AHEAD_BYTES / CHARACTER_BYTES +
		       (item->width == 0
			       ? 0
			       : item->width * count_wide(block->subject, at, at + most));
	size = longest_group(block) * (item->least / CHARACTER_BYTES);
	compare = work->is_partial ? PATTERN_AHEAD_BYTES : work->compare;
	return (size < rest ? size : rest) / compare;
}

int
work_on_item(pcre2_callout_block *block, void *arg)
{
	struct work *work = arg;
	size_t at = block->current_position, from = work->at, to = at, cost;

	if (from > to) {
		from = at;
		to = work->at;
	}
	cost = work->step + (to - from) / PATTERN_STEP_BYTES;
	if (work->width > 0)
		cost += work->width * count_wide(block->subject, from, to);
	if (work->items != NULL && block->pattern_position <= work->size &&
	    work->items[block->pattern_position].least > 0)
		cost += work_ahead(work, &work->items[block->pattern_position], block);
	work->at = at;
	if (cost > work->left)
		return PCRE2_ERROR_MATCHLIMIT;
	work->left -= cost;
	return 0;
}
