#include "items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "fiber.h"
#include "item_filter.h"
#include "item_index.h"
#include "item_key.h"
#include "item_op.h"
#include "json.h"
#include "nearest.h"

#define LIMIT_DEFAULT 10
#define WAY_MS 3000u
#define SWEEP_ITEMS 200u /* in one step */
#define SWEEPS_MAX 100u  /* then others of the shard have their turn */

/* --- answers -------------------------------------------------------------------------- */

const struct value *
item_refuse(const struct item_op *at, const char *reason)
{
	const char *name = value_get_text(at->op, "op");

	return value_map(at->arena, "fault",
	    fault_to_value(at->arena, fault_new(at->arena, "ValueError", "store %s: %s",
					  name != NULL ? name : "?", reason)),
	    NULL);
}

const struct value *
item_failed(const struct item_op *at, enum store_status status)
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
    const struct value *index, const struct value *value)
{
	const char *key;
	const struct value *labels = item_labels(arena, member, &key);

	if (labels == NULL || key == NULL)
		return NULL;
	return value_map(arena, "namespace", labels, "key", value_str(arena, key),
	    "value", value, "created_at", value_int(arena, times[0]), "updated_at",
	    value_int(arena, times[1]), "expires_at",
	    times[2] > 0 ? value_int(arena, times[2]) : NULL, "index", index, NULL);
}

/* Of what stands behind an item's times, up to end: "", " ttl", " ttl index", the last as JSON. */
static const struct value *
read_index(struct arena *arena, const char *text, const char *end)
{
	const char *index =
	    text + 1 < end ? memchr(text + 1, ' ', (size_t)(end - text - 1)) : NULL;
	const char *error;

	return index != NULL
		   ? json_parse(arena, index + 1, (size_t)(end - index - 1), &error)
		   : NULL;
}

/* "created updated expires", what read_index reads, a line feed, the packed value. */
const struct value *
item_read(struct arena *arena, const char *member, const struct value *bytes)
{
	const char *text = redis_reply_text(bytes), *end;
	const struct value *value, *index;
	int64_t times[3];
	char *after = NULL;
	size_t i;

	end = text != NULL ? memchr(text, '\n', bytes->size) : NULL;
	if (end == NULL)
		return NULL;
	for (i = 0; i < 3; i++, text = after)
		times[i] = strtoll(text, &after, 10);
	index = read_index(arena, text, end);
	end++;
	value = store_decode(arena,
	    value_bin(arena, end, bytes->size - (size_t)(end - redis_reply_text(bytes))));
	return value_is(value, VALUE_MAP) ? make_item(arena, member, times, index, value)
					  : NULL;
}

/* --- one item ------------------------------------------------------------------------- */

struct command
item_command(struct arena *arena, const char *function, unsigned shard)
{
	struct command command = { .arena = arena };

	command_function(&command, function,
	    arena_printf(arena, "%sitems", store_prefix(arena, shard)), shard);
	return command;
}

bool
item_refreshes(const struct item_op *at)
{
	return value_get_bool(at->op, "refresh_ttl", false);
}

static struct command
begin(const struct item_op *at, const char *function)
{
	return item_command(at->arena, function, item_shard(at->space));
}

static const struct value *
put(const struct item_op *at)
{
	struct command command = begin(at, "fl_item_put");
	const struct value *value = value_get(at->op, "value"), *reply;
	const struct value *index = value_get(at->op, "index");
	int64_t ttl_ms = value_get_int(at->op, "ttl_ms", 0), times[3];
	enum store_status status;
	size_t i;

	if (!value_is(value, VALUE_MAP))
		return item_refuse(at, "value: must be a map; delete takes an item away");
	value = value_freeze(at->arena, value);
	if (value->packed_size > ITEM_VALUE_BYTES_MAX)
		return item_refuse(at,
		    arena_printf(at->arena, "value: %u bytes are too many; %u at most",
			value->packed_size, ITEM_VALUE_BYTES_MAX));
	command_text(&command, at->member);
	command_value(&command, value);
	command_uint(&command, (uint64_t)ttl_ms);
	index = value_is_nil(index) ? NULL : index;
	command_text(&command, index != NULL ? json_text(at->arena, index) : "");
	status = store_read(at->store, &command, &reply);
	if (status != STORE_OK)
		return item_failed(at, status);
	for (i = 0; i < 3; i++)
		times[i] = store_number_at(reply, i);
	return value_map(at->arena, "item",
	    make_item(at->arena, at->member, times, index, value), NULL);
}

static const struct value *
get(const struct item_op *at)
{
	struct command command = begin(at, "fl_item_get");
	const struct value *reply;
	enum store_status status;

	command_text(&command, at->member);
	if (item_refreshes(at))
		command_text(&command, "refresh");
	status = store_read(at->store, &command, &reply);
	if (status != STORE_OK)
		return item_failed(at, status);
	return value_map(at->arena, "item",
	    value_size(reply) > 0 ? item_read(at->arena, at->member, value_at(reply, 0))
				  : NULL,
	    NULL);
}

static const struct value *delete (const struct item_op *at)
{
	struct command command = begin(at, "fl_item_delete");
	const struct value *reply;
	enum store_status status;
	int64_t count = 1; /* asked for again, it may have been there */
	bool again;

	command_text(&command, at->member);
	status = store_ask(at->store, &command, &reply, &again);
	if (status != STORE_OK)
		return item_failed(at, status);
	if (!again && value_is(reply, VALUE_INT))
		count = reply->integer;
	return value_map(at->arena, "deleted", value_int(at->arena, count), NULL);
}

/* --- checking ------------------------------------------------------------------------- */

#define KEYS_MAX 6

static const struct item_kind {
	const char *name;
	const char *keys[KEYS_MAX]; /* beside op */
	bool is_of_one;
	const struct value *(*run)(const struct item_op *at);
} kinds[] = {
	{ "put", { "namespace", "key", "value", "ttl_ms", "index" }, true, put },
	{ "get", { "namespace", "key", "refresh_ttl" }, true, get },
	{ "delete", { "namespace", "key" }, true, delete },
	{ "search", { "namespace", "filter", "limit", "offset", "query", "refresh_ttl" },
	    false, item_search },
	{ "namespaces", { "namespace", "suffix", "max_depth", "limit", "offset" }, false,
	    item_namespaces },
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

/* A text that says something, or absent. */
static int
check_query(const struct item_op *at, const char **error_r)
{
	const struct value *query = value_get(at->op, "query");

	if (query == NULL || (value_is(query, VALUE_STR) && query->size > 0 &&
				 query->size <= ITEM_QUERY_BYTES_MAX))
		return 0;
	*error_r = arena_printf(
	    at->arena, "query: must be a text of 1 to %u bytes", ITEM_QUERY_BYTES_MAX);
	return -1;
}

static int
check_refresh(const struct item_op *at, const char **error_r)
{
	const struct value *refresh = value_get(at->op, "refresh_ttl");

	if (value_is_nil(refresh) || value_is(refresh, VALUE_BOOL))
		return 0;
	*error_r = "refresh_ttl: must be true or false";
	return -1;
}

/* Returns what of a namespace is before its first "*": what is below that has to be looked at. */
static const struct value *
before_any(struct arena *arena, const struct value *namespace)
{
	size_t i = 0;

	while (i < value_size(namespace) && !value_text_is(value_at(namespace, i), "*"))
		i++;
	return i < value_size(namespace) ? value_array_slice(arena, namespace, 0, i)
					 : namespace;
}

static int
check_suffix(const struct item_op *at, const char **error_r)
{
	const struct value *suffix = value_get(at->op, "suffix");

	if (suffix == NULL || item_space(at->arena, suffix, true, error_r) != NULL)
		return 0;
	*error_r = arena_printf(at->arena, "suffix: %s", *error_r);
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
	    check_number(at, "ttl_ms", 1, ITEM_TTL_MS_MAX, error_r) == -1 ||
	    item_filter_check(at->arena, value_get(at->op, "filter"), error_r) == -1 ||
	    item_index_check(at->arena, value_get(at->op, "index"), error_r) == -1 ||
	    check_refresh(at, error_r) == -1 || check_query(at, error_r) == -1 ||
	    check_suffix(at, error_r) == -1)
		return -1;
	at->limit = (uint64_t)value_get_int(at->op, "limit", LIMIT_DEFAULT);
	at->offset = (uint64_t)value_get_int(at->op, "offset", 0);
	if (namespace == NULL && !kind->is_of_one)
	namespace = value_empty_array();
	if (kind->run == item_namespaces &&
	    item_space(at->arena, namespace, true, error_r) != NULL)
	namespace = before_any(at->arena, namespace);
	at->space = item_space(at->arena, namespace, !kind->is_of_one, error_r);
	if (at->space != NULL && kind->is_of_one)
		at->member =
		    item_member(at->arena, at->space, value_get(at->op, "key"), error_r);
	return at->space == NULL || (kind->is_of_one && at->member == NULL) ? -1 : 0;
}

static const struct value *
do_op(struct store *store, struct arena *arena, const struct value *op, uint64_t until_ms)
{
	struct item_op at = {
		.store = store, .arena = arena, .op = op, .until_ms = until_ms
	};
	const struct item_kind *kind = kind_of(value_get_text(op, "op"));
	const char *error;

	if (kind == NULL)
		return item_refuse(&at, "there are put, get, delete, search, namespaces");
	if (check(&at, kind, &error) == -1)
		return item_refuse(&at, error);
	return kind->run(&at);
}

/* All that a search has looked at is gone behind it; the caller's arena has the answer. */
static const struct value *
do_by(struct store *store, struct arena *arena, const struct value *op, uint64_t until_ms)
{
	struct arena *scratch = arena_new();
	const struct value *answer = do_op(store, scratch, op, until_ms);

	if (answer != NULL)
		answer = value_copy(arena, answer);
	arena_destroy(&scratch);
	return answer;
}

const struct value *
items_do(struct store *store, struct arena *arena, const struct value *op)
{
	return do_by(store, arena, op, 0);
}

/* The answer takes its time to who waits, too. */
const struct value *
items_do_within(
    struct store *store, struct arena *arena, const struct value *op, uint64_t left_ms)
{
	const uint64_t way_ms = left_ms / 2 < WAY_MS ? left_ms / 2 : WAY_MS;

	return do_by(store, arena, op, loop_now_ms(fiber_loop()) + left_ms - way_ms);
}

/* Returns how many are forgotten. */
static int64_t
sweep_some(struct store *store, unsigned shard)
{
	struct arena *arena = arena_new();
	struct command command = item_command(arena, "fl_item_sweep", shard);
	const struct value *reply = NULL;
	int64_t count = 0;

	command_uint(&command, SWEEP_ITEMS);
	if (store_send(store, &command, &reply, NULL) == STORE_OK)
		count = value_is(reply, VALUE_INT) ? reply->integer : 0;
	arena_destroy(&arena);
	return count;
}

/* A busy namespace has more that end in a second than one step takes away: they would pile up. */
void
items_sweep(struct store *store, unsigned shard)
{
	unsigned sweeps = 0;

	while (sweep_some(store, shard) == SWEEP_ITEMS && ++sweeps < SWEEPS_MAX)
		continue;
}
