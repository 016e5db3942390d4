/* memory: long-term memory (store/items.h), as items of LangGraph's store. */
#include <string.h>

#include "api.h"
#include "bounds.h"
#include "items.h"
#include "room.h"
#include "shape.h"
#include "tenant.h"

#define LIMIT 10
#define MINUTE_MS 60000

static const struct value *
shown(struct arena *arena, const struct value *item)
{
	return value_map(arena, "namespace", value_get(item, "namespace"), "key",
	    value_get(item, "key"), "value", value_get(item, "value"), "created_at",
	    shape_time(arena, value_get_int(item, "created_at", 0)), "updated_at",
	    shape_time(arena, value_get_int(item, "updated_at", 0)), "score",
	    value_get(item, "score"), NULL);
}

/* Does op. NULL after answering that it went wrong. */
static const struct value *
ask(struct call *call, const struct value *op)
{
	const struct value *answer = items_do(api_store(call->api), call->arena, op);
	const struct value *fault = value_get(answer, "fault");
	bool is_ours = value_text_is(value_get(fault, "type"), "ValueError");
	const char *message = value_get_text(fault, "message");

	if (answer != NULL && fault == NULL)
		return answer;
	reply_error(call, is_ours ? 422 : 503, "%s",
	    message != NULL ? message : "the server ends");
	return NULL;
}

/* Minutes in ms; what is none of them as it is, to be refused. */
static const struct value *
ttl_ms(struct arena *arena, const struct value *ttl)
{
	double ms = value_number(ttl, 0) * MINUTE_MS;

	if (!value_is_number(ttl) || !(ms >= 1 && ms <= (double)ITEM_TTL_MS_MAX))
		return value_is_nil(ttl) ? NULL : value_str(arena, "?");
	return value_int(arena, (int64_t)ms);
}

/* Does {op, namespace, key, value?, ttl_ms?, index?} of the body, which answers nothing. */
static void
change(struct call *call, const char *name)
{
	struct arena *arena = call->arena;
	const struct value *body = call->body, *namespace;
	const struct value *index = value_get(body, "index");
	const bool has_index = strcmp(name, "put") == 0 && !value_is_nil(index);

	if (tenant_namespace(call, value_get(body, "namespace"), false, &namespace) &&
	    ask(call,
		value_map(arena, "op", value_str(arena, name), "namespace", namespace,
		    "key", value_get(body, "key"), "value", value_get(body, "value"),
		    "ttl_ms", ttl_ms(arena, value_get(body, "ttl")), "index",
		    has_index ? index : NULL, NULL)) != NULL)
		reply_nothing(call);
}

void
call_item_put(struct call *call)
{
	change(call, "put");
}

/* "users.7" to labels, as clients write a namespace into a query. */
static const struct value *
labels_of(struct arena *arena, const char *path)
{
	struct value_list labels = { .arena = arena };

	while (path != NULL && *path != '\0') {
		size_t size = strcspn(path, ".");

		value_list_add(&labels, value_strn(arena, path, size));
		path += path[size] == '.' ? size + 1 : size;
	}
	return value_list_end(&labels);
}

/* What is read lasts again, unless the client says otherwise. */
static const struct value *
refresh_of(const struct call *call)
{
	const char *text = exchange_query(call->exchange, "refresh_ttl");
	const struct value *refresh = value_get(call->body, "refresh_ttl");

	if (text != NULL)
		return value_bool(strcmp(text, "false") != 0 && strcmp(text, "0") != 0);
	return value_is_nil(refresh) ? value_bool(true) : refresh;
}

void
call_item_get(struct call *call)
{
	struct arena *arena = call->arena;
	const char *key = exchange_query(call->exchange, "key");
	const struct value *answer, *namespace;

	if (!tenant_namespace(call,
		labels_of(arena, exchange_query(call->exchange, "namespace")), false,
		&namespace))
		return;
	answer =
	    ask(call, value_map(arena, "op", value_str(arena, "get"), "namespace",
			  namespace, "key", key != NULL ? value_str(arena, key) : NULL,
			  "refresh_ttl", refresh_of(call), NULL));
	if (answer == NULL)
		return;
	reply(call, 200,
	    value_has(answer, "item") ? shown(arena, value_get(answer, "item"))
				      : value_nil());
}

void
call_item_delete(struct call *call)
{
	change(call, "delete");
}

/* limit and offset of a search; false after answering. */
static bool
read_page(struct call *call, int64_t *limit_r, int64_t *offset_r)
{
	*limit_r = call_number(call, "limit", LIMIT, 1, ITEMS_LIMIT_MAX);
	*offset_r =
	    *limit_r == -1 ? -1 : call_number(call, "offset", 0, 0, ITEMS_SCANNED_MAX);
	return *offset_r != -1;
}

static void
search_items(struct call *call)
{
	struct arena *arena = call->arena;
	const struct value *prefix = value_get(call->body, "namespace_prefix");
	const struct value *filter = value_get(call->body, "filter"), *answer, *items;
	const struct value *query = value_get(call->body, "query");
	struct value_list list = { .arena = arena };
	int64_t limit, offset;
	size_t i;

	if (!read_page(call, &limit, &offset) ||
	    !tenant_namespace(call, prefix, true, &prefix))
		return;
	answer =
	    ask(call, value_map(arena, "op", value_str(arena, "search"), "namespace",
			  value_is_nil(prefix) ? NULL : prefix, "filter",
			  value_is_nil(filter) ? NULL : filter, "query",
			  value_is_nil(query) ? NULL : query, "limit",
			  value_int(arena, limit), "offset", value_int(arena, offset),
			  "refresh_ttl", refresh_of(call), NULL));
	if (answer == NULL)
		return;
	items = value_get(answer, "items");
	for (i = 0; i < value_size(items); i++)
		value_list_add(&list, shown(arena, value_at(items, i)));
	reply(call, 200, value_map(arena, "items", value_list_end(&list), NULL));
}

void
call_items_search(struct call *call)
{
	if (value_is_nil(value_get(call->body, "query")))
		room_in_list(call, "items", search_items);
	else
		room_in_search(call, "items", search_items);
}

static void
list_namespaces(struct call *call)
{
	struct arena *arena = call->arena;
	const struct value *prefix = value_get(call->body, "prefix");
	const struct value *depth = value_get(call->body, "max_depth"), *answer;
	const struct value *suffix = value_get(call->body, "suffix");
	int64_t limit, offset;

	if (!read_page(call, &limit, &offset) ||
	    !tenant_namespace(call, prefix, true, &prefix))
		return;
	answer = ask(
	    call, value_map(arena, "op", value_str(arena, "namespaces"), "namespace",
		      value_is_nil(prefix) ? NULL : prefix, "suffix",
		      value_is_nil(suffix) ? NULL : suffix, "max_depth",
		      value_is_nil(depth) ? NULL : depth, "limit",
		      value_int(arena, limit), "offset", value_int(arena, offset), NULL));
	if (answer != NULL)
		reply(call, 200,
		    value_map(
			arena, "namespaces", value_get(answer, "namespaces"), NULL));
}

void
call_namespaces(struct call *call)
{
	room_in_list(call, "namespaces", list_namespaces);
}
