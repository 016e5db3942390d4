#include "items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "item_filter.h"
#include "item_key.h"
#include "nearest.h"
#include "store_private.h"

#define LIMIT_DEFAULT 10
#define PAGE_ITEMS 200u

/* One operation under way. */
struct item_op {
	struct store *store;
	struct arena *arena;
	const struct value *op;
	const char *space, *member; /* member of put, get, delete alone */
	uint64_t limit, offset;     /* of search and namespaces */
};

/* --- answers -------------------------------------------------------------------------- */

static const struct value *
refuse(const struct item_op *at, const char *reason)
{
	const char *name = value_get_text(at->op, "op");

	return value_map(at->arena, "fault",
	    fault_to_value(at->arena, fault_new(at->arena, "ValueError", "store %s: %s",
					  name != NULL ? name : "?", reason)),
	    NULL);
}

/* What a step that did not answer gives. */
static const struct value *
failed(const struct item_op *at, enum store_status status)
{
	struct fault *fault;

	if (status == STORE_CANCELLED)
		return NULL;
	fault =
	    fault_new(at->arena, "ConnectionError", "store: %s", store_error(at->store));
	fault->retryable = true;
	return value_map(at->arena, "fault", fault_to_value(at->arena, fault), NULL);
}

static const struct value *
make_item(struct arena *arena, const char *member, const int64_t times[3],
    const struct value *value)
{
	const char *key;
	const struct value *labels = item_labels(arena, member, &key);

	if (labels == NULL || key == NULL)
		return NULL;
	return value_map(arena, "namespace", labels, "key", value_str(arena, key),
	    "value", value, "created_at", value_int(arena, times[0]), "updated_at",
	    value_int(arena, times[1]), "expires_at",
	    times[2] > 0 ? value_int(arena, times[2]) : NULL, NULL);
}

/* "created updated expires", a line feed, the packed value. NULL for what is none of ours. */
static const struct value *
read_item(struct arena *arena, const char *member, const struct value *bytes)
{
	const char *text = redis_reply_text(bytes), *end;
	const struct value *value;
	int64_t times[3];
	char *after = NULL;
	size_t i;

	end = text != NULL ? memchr(text, '\n', bytes->size) : NULL;
	if (end == NULL)
		return NULL;
	for (i = 0; i < 3; i++, text = after)
		times[i] = strtoll(text, &after, 10);
	end++;
	value = store_decode(arena,
	    value_bin(arena, end, bytes->size - (size_t)(end - redis_reply_text(bytes))));
	return value != NULL ? make_item(arena, member, times, value) : NULL;
}

/* --- one item ------------------------------------------------------------------------- */

static struct command
begin(const struct item_op *at, const char *function, unsigned shard)
{
	struct command command = { .arena = at->arena };

	command_function(&command, function,
	    arena_printf(at->arena, "%sitems", store_prefix(at->arena, shard)), shard);
	return command;
}

static const struct value *
put(const struct item_op *at)
{
	struct command command = begin(at, "fl_item_put", item_shard(at->space));
	const struct value *value = value_get(at->op, "value"), *reply;
	int64_t ttl_ms = value_get_int(at->op, "ttl_ms", 0), times[3];
	enum store_status status;
	size_t i;

	if (!value_is(value, VALUE_MAP))
		return refuse(at, "value: must be a map; delete takes an item away");
	if (value_has(at->op, "ttl_ms") &&
	    (ttl_ms < 1 || !value_is(value_get(at->op, "ttl_ms"), VALUE_INT)))
		return refuse(at, "ttl_ms: must be a whole number from 1 on");
	value = value_freeze(at->arena, value);
	if (value->packed_size > ITEM_VALUE_BYTES_MAX)
		return refuse(at,
		    arena_printf(at->arena, "value: %u bytes are too many; %u at most",
			value->packed_size, ITEM_VALUE_BYTES_MAX));
	command_text(&command, at->member);
	command_value(&command, value);
	command_uint(&command, (uint64_t)ttl_ms);
	status = store_read(at->store, &command, &reply);
	if (status != STORE_OK)
		return failed(at, status);
	for (i = 0; i < 3; i++)
		times[i] = store_number_at(reply, i);
	return value_map(
	    at->arena, "item", make_item(at->arena, at->member, times, value), NULL);
}

static const struct value *
get(const struct item_op *at)
{
	struct command command = begin(at, "fl_item_get", item_shard(at->space));
	const struct value *reply;
	enum store_status status;

	command_text(&command, at->member);
	status = store_read(at->store, &command, &reply);
	if (status != STORE_OK)
		return failed(at, status);
	return value_map(at->arena, "item",
	    value_size(reply) > 0 ? read_item(at->arena, at->member, value_at(reply, 0))
				  : NULL,
	    NULL);
}

static const struct value *delete (const struct item_op *at)
{
	struct command command = begin(at, "fl_item_delete", item_shard(at->space));
	const struct value *reply;
	enum store_status status;

	command_text(&command, at->member);
	status = store_read(at->store, &command, &reply);
	if (status != STORE_OK)
		return failed(at, status);
	return value_map(at->arena, "deleted",
	    value_int(at->arena, value_is(reply, VALUE_INT) ? reply->integer : 0), NULL);
}

/* --- searching ------------------------------------------------------------------------ */

/* What was found, by member, over one shard or all. */
struct finds {
	const struct item_op *at;
	struct find {
		const char *member;
		const struct value *found;
	} * all;
	size_t count, room;
	uint64_t scanned;
};

static void
add_find(struct finds *finds, const char *member, const struct value *found)
{
	if (finds->count == finds->room) {
		size_t room = finds->room == 0 ? 64 : 2 * finds->room;
		struct find *all = arena_alloc(finds->at->arena, room * sizeof *all);

		if (finds->count > 0)
			memcpy(all, finds->all, finds->count * sizeof *all);
		finds->all = all;
		finds->room = room;
	}
	finds->all[finds->count++] = (struct find){ member, found };
}

static int
by_member(const void *a, const void *b)
{
	return strcmp(((const struct find *)a)->member, ((const struct find *)b)->member);
}

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

static enum store_status
ask_page(const struct item_op *at, const char *function, unsigned shard, const char *from,
    uint64_t count, const struct value **page_r)
{
	struct command command = begin(at, function, shard);

	command_text(&command, from);
	command_text(&command, range_end(at));
	command_uint(&command, count);
	return store_read(at->store, &command, page_r);
}

/* Adds the shard's items that the filter lets through: the first offset + limit of them. */
static enum store_status
search_shard(struct finds *finds, unsigned shard)
{
	const struct item_op *at = finds->at;
	const struct value *filter = value_get(at->op, "filter"), *page;
	const char *from = range_begin(at);
	uint64_t found = 0;
	size_t i;

	while (found < at->offset + at->limit && finds->scanned < ITEMS_SCANNED_MAX) {
		enum store_status status =
		    ask_page(at, "fl_item_page", shard, from, PAGE_ITEMS, &page);

		if (status != STORE_OK)
			return status;
		for (i = 0; i + 1 < value_size(page); i += 2) {
			const char *member = store_text_at(page, i);
			const struct value *item =
			    member != NULL
				? read_item(at->arena, member, value_at(page, i + 1))
				: NULL;

			finds->scanned++;
			if (item == NULL ||
			    !item_filter_matches(filter, value_get(item, "value")))
				continue;
			add_find(finds, member, item);
			found++;
		}
		if (i < (size_t)2 * PAGE_ITEMS || store_text_at(page, i - 2) == NULL)
			break;
		from = arena_printf(at->arena, "(%s", store_text_at(page, i - 2));
	}
	return STORE_OK;
}

/* Adds the shard's namespaces, cut to max_depth labels, each once. */
static enum store_status
spaces_of_shard(struct finds *finds, unsigned shard)
{
	const struct item_op *at = finds->at;
	int64_t depth = value_get_int(at->op, "max_depth", ITEM_LABELS_MAX);
	const char *from = range_begin(at), *last = NULL, *key;
	const struct value *page;
	uint64_t found = 0;
	size_t i;

	do {
		enum store_status status =
		    ask_page(at, "fl_item_spaces", shard, from, PAGE_ITEMS, &page);

		if (status != STORE_OK)
			return status;
		for (i = 0; i < value_size(page); i++) {
			const struct value *labels =
			    item_labels(at->arena, store_text_at(page, i), &key);
			const char *space, *error;

			labels = value_array_slice(at->arena, labels, 0, (size_t)depth);
			space = item_space(at->arena, labels, true, &error);
			if (space == NULL || (last != NULL && strcmp(last, space) == 0))
				continue;
			add_find(finds, last = space, labels);
			found++;
		}
		finds->scanned += i;
		if (i > 0)
			from = arena_printf(at->arena, "[%s%c",
			    store_text_at(page, i - 1), ITEM_LABEL_END);
	} while (i == PAGE_ITEMS && found < at->offset + at->limit &&
		 finds->scanned < ITEMS_SCANNED_MAX);
	return STORE_OK;
}

static const struct value *
gather(const struct item_op *at, const char *name,
    enum store_status (*of_shard)(struct finds *finds, unsigned shard))
{
	struct finds finds = { .at = at };
	struct value_list list = { .arena = at->arena };
	bool is_everywhere = *at->space == '\0';
	unsigned shard = is_everywhere ? 0 : item_shard(at->space);
	unsigned end = is_everywhere ? SHARDS : shard + 1;
	enum store_status status = STORE_OK;
	size_t i;

	for (; shard < end && status == STORE_OK; shard++)
		status = of_shard(&finds, shard);
	if (status != STORE_OK)
		return failed(at, status);
	if (finds.scanned >= ITEMS_SCANNED_MAX)
		return refuse(at, arena_printf(at->arena,
				      "more than %u items had to be looked at: narrow "
				      "the namespace",
				      ITEMS_SCANNED_MAX));
	if (finds.count > 0)
		qsort(finds.all, finds.count, sizeof *finds.all, by_member);
	for (i = at->offset; i < finds.count && list.count < at->limit; i++)
		value_list_add(&list, finds.all[i].found);
	return value_map(at->arena, name, value_list_end(&list), NULL);
}

static const struct value *
search(const struct item_op *at)
{
	return gather(at, "items", search_shard);
}

static const struct value *
namespaces(const struct item_op *at)
{
	return gather(at, "namespaces", spaces_of_shard);
}

/* --- checking ------------------------------------------------------------------------- */

#define KEYS_MAX 6

static const struct item_kind {
	const char *name;
	const char *keys[KEYS_MAX]; /* beside op */
	bool is_of_one;
	const struct value *(*run)(const struct item_op *at);
} kinds[] = {
	{ "put", { "namespace", "key", "value", "ttl_ms" }, true, put },
	{ "get", { "namespace", "key" }, true, get },
	{ "delete", { "namespace", "key" }, true, delete },
	{ "search", { "namespace", "filter", "limit", "offset" }, false, search },
	{ "namespaces", { "namespace", "max_depth", "limit", "offset" }, false,
	    namespaces },
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static const struct item_kind *
kind_of(const char *name)
{
	size_t i;

	for (i = 0; name != NULL && i < KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

static int
check_keys(const struct item_op *at, const struct item_kind *kind, const char **error_r)
{
	size_t i, j, count = 0;

	while (count < KEYS_MAX && kind->keys[count] != NULL)
		count++;
	for (i = 0; i < value_size(at->op); i++) {
		const char *key = value_text(at->op->pairs[i].key), *nearest;

		for (j = 0; j < count && strcmp(kind->keys[j], key) != 0; j++)
			;
		if (j < count || strcmp(key, "op") == 0)
			continue;
		nearest = nearest_name(key, kind->keys, count);
		*error_r = arena_printf(at->arena, "unknown key '%s'%s%s%s", key,
		    nearest != NULL ? "; did you mean '" : "",
		    nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
		return -1;
	}
	return 0;
}

/* A whole number from least to most, or absent. */
static int
check_number(const struct item_op *at, const char *name, int64_t least, int64_t most,
    const char **error_r)
{
	const struct value *number = value_get(at->op, name);

	if (number == NULL || (value_is(number, VALUE_INT) && number->integer >= least &&
				  number->integer <= most))
		return 0;
	*error_r = arena_printf(at->arena,
	    "%s: must be a whole number from %" PRId64 " to %" PRId64, name, least, most);
	return -1;
}

static int
check(struct item_op *at, const struct item_kind *kind, const char **error_r)
{
	const struct value *namespace = value_get(at->op, "namespace");

	if (check_keys(at, kind, error_r) == -1 ||
	    check_number(at, "limit", 1, ITEMS_LIMIT_MAX, error_r) == -1 ||
	    check_number(at, "offset", 0, ITEMS_SCANNED_MAX, error_r) == -1 ||
	    check_number(at, "max_depth", 1, ITEM_LABELS_MAX, error_r) == -1 ||
	    item_filter_check(at->arena, value_get(at->op, "filter"), error_r) == -1)
		return -1;
	at->limit = (uint64_t)value_get_int(at->op, "limit", LIMIT_DEFAULT);
	at->offset = (uint64_t)value_get_int(at->op, "offset", 0);
	if (namespace == NULL && !kind->is_of_one)
	namespace = value_empty_array();
	at->space = item_space(at->arena, namespace, !kind->is_of_one, error_r);
	if (at->space != NULL && kind->is_of_one)
		at->member =
		    item_member(at->arena, at->space, value_get(at->op, "key"), error_r);
	return at->space == NULL || (kind->is_of_one && at->member == NULL) ? -1 : 0;
}

static const struct value *
do_op(struct store *store, struct arena *arena, const struct value *op)
{
	struct item_op at = { .store = store, .arena = arena, .op = op };
	const struct item_kind *kind = kind_of(value_get_text(op, "op"));
	const char *error;

	if (kind == NULL)
		return refuse(&at, "there are put, get, delete, search, namespaces");
	if (check(&at, kind, &error) == -1)
		return refuse(&at, error);
	return kind->run(&at);
}

/* All that a search has looked at is gone behind it; the caller's arena has the answer. */
const struct value *
items_do(struct store *store, struct arena *arena, const struct value *op)
{
	struct arena *scratch = arena_new();
	const struct value *answer = do_op(store, scratch, op);

	if (answer != NULL)
		answer = value_copy(arena, answer);
	arena_destroy(&scratch);
	return answer;
}

void
items_sweep(struct store *store, struct arena *arena, unsigned shard)
{
	const struct item_op at = { .store = store, .arena = arena };
	struct command command = begin(&at, "fl_item_sweep", shard);
	const struct value *reply;

	command_uint(&command, PAGE_ITEMS);
	store_send(store, &command, &reply, NULL);
}
