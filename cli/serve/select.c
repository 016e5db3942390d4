/* select: which fields of an answer are wanted, and which items of a list. */
#include "select.h"

#include <inttypes.h>
#include <string.h>

#include "utf8.h"

#define FIELDS_MAX 64u
#define SHOWN_BYTES 64u /* of what was asked for */
#define WANTED_MAX                                                                       \
	1000u /* values of a filter, those in them counted: each item is held against all of them */

/* Whether the list of names has that one, of size bytes; or its parts, if part is a part's. */
static bool
is_known(const char *known, const char *name, size_t size)
{
	const char *dot = memchr(name, '.', size);
	size_t length;

	for (; *known != '\0'; known += length + (known[length] == ' ')) {
		length = strcspn(known, " ");
		if (dot == NULL && length == size && memcmp(known, name, size) == 0)
			return true;
		if (dot != NULL && known[length - 1] == '*' &&
		    length - 1 == (size_t)(dot + 1 - name) &&
		    memcmp(known, name, length - 1) == 0)
			return true;
	}
	return false;
}

const struct value *
select_split(struct arena *arena, const char *text)
{
	struct value_list names = { .arena = arena };
	size_t size;

	for (; *text != '\0'; text += size + (text[size] == ',')) {
		size = strcspn(text, ",");
		value_list_add(&names, value_strn(arena, text, size));
	}
	return value_list_end(&names);
}

bool
select_read(struct call *call, const char *known, const struct value **fields_r)
{
	const char *query = call_list(call, "select");
	const struct value *fields = query != NULL ? select_split(call->arena, query)
						   : value_get(call->body, "select");
	size_t i;

	*fields_r = fields;
	if (value_is_nil(fields))
		return true;
	if (!value_is(fields, VALUE_ARRAY) || value_size(fields) > FIELDS_MAX) {
		reply_error(call, 422,
		    "select: must be an array of at most %u names of fields", FIELDS_MAX);
		return false;
	}
	for (i = 0; i < value_size(fields); i++) {
		const struct value *name = value_at(fields, i);

		if (!value_is(name, VALUE_STR) ||
		    !is_known(known, name->text, name->size)) {
			reply_error(call, 422, "select[%zu]: there is no %s, but %s", i,
			    value_is(name, VALUE_STR)
				? utf8_shown(call->arena, value_text(name), SHOWN_BYTES)
				: "such field",
			    known);
			return false;
		}
	}
	return true;
}

/* The parts of a field that are wanted, "values.messages"; or nil. */
static const struct value *
parts_of(struct arena *arena, const struct value_pair *pair, const struct value *fields)
{
	const char *name = value_text(pair->key);
	size_t size = strlen(name), i;
	const struct value *parts = value_nil();

	for (i = 0; i < value_size(fields); i++) {
		const char *wanted = value_text(value_at(fields, i));
		const struct value *part;

		if (strncmp(wanted, name, size) != 0 || wanted[size] != '.')
			continue;
		if (value_is_nil(parts))
			parts = value_empty_map();
		part = value_get(pair->value, wanted + size + 1);
		if (!value_is_nil(part))
			parts = value_map_with(arena, parts, wanted + size + 1, part);
	}
	return parts;
}

const struct value *
select_fields(struct arena *arena, const struct value *item, const struct value *fields)
{
	struct value_fields kept = { .arena = arena };
	size_t i;

	if (value_is_nil(fields))
		return item;
	for (i = 0; i < value_size(item); i++) {
		const struct value_pair *pair = &item->pairs[i];
		bool is_whole = value_contains(fields, value_text(pair->key));
		const struct value *parts =
		    is_whole ? pair->value : parts_of(arena, pair, fields);

		if (is_whole || !value_is_nil(parts))
			value_fields_set(&kept, value_text(pair->key), parts);
	}
	return value_fields_end(&kept);
}

/* How many values there are in value, itself counted, up to more than WANTED_MAX. */
static size_t
weight(const struct value *value)
{
	size_t sum = 1, i;

	if (!value_is(value, VALUE_MAP) && !value_is(value, VALUE_ARRAY))
		return sum;
	for (i = 0; i < value_size(value) && sum <= WANTED_MAX; i++)
		sum += weight(value_is(value, VALUE_MAP) ? value->pairs[i].value
							 : value_at(value, i));
	return sum;
}

bool
select_check(struct call *call, const struct select_filter *filters, size_t count)
{
	size_t i;

	if (!value_is(call->body, VALUE_MAP)) {
		reply_error(call, 422, "the body must be a map");
		return false;
	}
	for (i = 0; i < count; i++) {
		const struct value *given = value_get(call->body, filters[i].name);

		/* Each item is held against each of them. */
		if (value_is(given, VALUE_MAP) && value_size(given) > FIELDS_MAX) {
			reply_error(call, 422, "%s: has more than %u names",
			    filters[i].name, FIELDS_MAX);
			return false;
		}
		if (filters[i].type == VALUE_MAP && weight(given) > WANTED_MAX) {
			reply_error(call, 422, "%s: has more than %u values",
			    filters[i].name, WANTED_MAX);
			return false;
		}
		if (!value_is_nil(given) && !value_is(given, filters[i].type)) {
			reply_error(call, 422, "%s: is no %s", filters[i].name,
			    value_type_name(filters[i].type));
			return false;
		}
	}
	return true;
}

bool
select_order_read(struct call *call, const char *known, struct select_order *order_r)
{
	const struct value *by = value_get(call->body, "sort_by");
	const struct value *way = value_get(call->body, "sort_order");
	bool is_ascending = value_text_is(way, "asc");

	*order_r =
	    (struct select_order){ arena_copy(call->arena, known, strcspn(known, " ")),
		    is_ascending };
	if (!value_is_nil(by) &&
	    (!value_is(by, VALUE_STR) || !is_known(known, by->text, by->size)))
		reply_error(call, 422, "sort_by: must be one of %s", known);
	else if (!value_is_nil(way) && !is_ascending && !value_text_is(way, "desc"))
		reply_error(call, 422, "sort_order: must be asc or desc");
	else if (!value_is_nil(by))
		order_r->by = value_text(by);
	return !exchange_is_answered(call->exchange);
}

void
select_pages(struct call *call, uint64_t total, uint64_t next)
{
	exchange_add_header(call->exchange, "X-Pagination-Total",
	    arena_printf(call->arena, "%" PRIu64, total));
	if (next > 0)
		exchange_add_header(call->exchange, "X-Pagination-Next",
		    arena_printf(call->arena, "%" PRIu64, next));
}
