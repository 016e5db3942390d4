/* assistant_search: which assistants there are: those that were made, the newest first, and then the agents, by name; or sorted as
 * is asked for. */
#include <stdlib.h>
#include <string.h>

#include "assistant_body.h"
#include "assistant_find.h"
#include "blueprint.h"
#include "bounds.h"
#include "room.h"
#include "select.h"
#include "shape.h"
#include "store_agents.h"

#define LIMIT 10
#define LIMIT_MAX 1000

/* One that is found, and what it is sorted by. */
struct found {
	const char *id, *graph, *name;
	int64_t created, updated; /* of an agent, if that is asked for */
	bool is_made;
};

struct search {
	struct call *call;
	struct select_order order;
	const struct value *agents;
	struct found *all;
	size_t count;
};

static bool
is_sorted(const struct search *search)
{
	return !value_is_nil(value_get(search->call->body, "sort_by"));
}

static bool
is_by_time(const struct search *search)
{
	return is_sorted(search) && (strcmp(search->order.by, "created_at") == 0 ||
					strcmp(search->order.by, "updated_at") == 0);
}

/* Whether one of that graph and name may be one of those that the body asks for. */
static bool
may_be_wanted(const struct value *body, const char *graph, const char *name)
{
	const char *wanted = value_get_text(body, "graph_id");
	const char *part = value_get_text(body, "name");

	return (wanted == NULL || strcmp(wanted, graph) == 0) &&
	       (part == NULL || strcasestr(name, part) != NULL);
}

/* --- agents ------------------------------------------------------------------------------- */

/* Takes the agent of that name, if it is one of those. STORE_NONE: it was deleted meanwhile. */
static enum store_status
take_agent(struct search *search, struct arena *arena, const char *name)
{
	struct call *call = search->call;
	const struct value *metadata = value_get(call->body, "metadata"), *shape;
	struct found found = { .id = name, .graph = name, .name = name };
	struct blueprint read = { 0 };
	enum store_status status;

	if (!may_be_wanted(call->body, name, name))
		return STORE_OK;
	if (is_by_time(search) || value_size(metadata) > 0) {
		status = blueprint_read(call, arena, name, &read);
		if (status != STORE_OK)
			return status;
		shape = shape_assistant(arena, name, read.version, read.source, read.log);
		if (!select_matches(value_get(shape, "metadata"), metadata))
			return STORE_OK;
		found.created = value_get_int(value_at(read.log, 0), "at", 0);
		found.updated =
		    value_get_int(value_at(read.log, value_size(read.log) - 1), "at", 0);
	}
	search->all[search->count++] = found;
	return STORE_OK;
}

static enum store_status
take_agents(struct search *search)
{
	enum store_status status = STORE_OK;
	size_t i;

	for (i = 0; status == STORE_OK && i < value_size(search->agents); i++) {
		struct arena *arena = arena_new();

		status =
		    take_agent(search, arena, value_text(search->agents->pairs[i].key));
		status = status == STORE_NONE ? STORE_OK : status;
		arena_destroy(&arena);
	}
	return status;
}

/* --- made ones ---------------------------------------------------------------------------- */

/* One that is hidden by an agent is not found: who asks for its id gets the agent. */
static bool
is_wanted(const struct assistant *assistant, const void *arg)
{
	const struct search *search = arg;
	const struct value *body = search->call->body;

	return may_be_wanted(body, assistant->agent, assistant->name) &&
	       select_matches(assistant->metadata, value_get(body, "metadata")) &&
	       !value_has(search->agents, assistant->id);
}

static void
take_made(struct search *search, const struct assistant_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct assistant *assistant = &list->items[i];

		search->all[search->count++] = (struct found){ .id = assistant->id,
			.graph = assistant->agent,
			.name = assistant->name,
			.created = assistant->created_ms,
			.updated = assistant->updated_ms,
			.is_made = true };
	}
}

/* --- order -------------------------------------------------------------------------------- */

static int
by_time(int64_t one, int64_t other)
{
	return (one > other) - (one < other);
}

static int
by_id(const struct found *one, const struct found *other)
{
	return strcmp(one->id, other->id);
}

static int
by_created(const void *a, const void *b)
{
	const struct found *one = a, *other = b;
	int order = by_time(one->created, other->created);

	return order != 0 ? order : by_id(one, other);
}

static int
by_updated(const void *a, const void *b)
{
	const struct found *one = a, *other = b;
	int order = by_time(one->updated, other->updated);

	return order != 0 ? order : by_id(one, other);
}

static int
by_assistant(const void *a, const void *b)
{
	return by_id(a, b);
}

static int
by_graph(const void *a, const void *b)
{
	const struct found *one = a, *other = b;
	int order = strcmp(one->graph, other->graph);

	return order != 0 ? order : by_id(one, other);
}

static int
by_name(const void *a, const void *b)
{
	const struct found *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order != 0 ? order : by_id(one, other);
}

/* From behind. */
static int
as_usual(const void *a, const void *b)
{
	const struct found *one = a, *other = b;

	if (one->is_made != other->is_made)
		return one->is_made ? 1 : -1;
	return one->is_made ? by_created(a, b) : by_id(other, one);
}

static void
sort(struct search *search)
{
	static const struct {
		const char *by;
		int (*compare)(const void *a, const void *b);
	} orders[] = {
		{ "name", by_name },
		{ "assistant_id", by_assistant },
		{ "graph_id", by_graph },
		{ "created_at", by_created },
		{ "updated_at", by_updated },
	};
	int (*compare)(const void *a, const void *b) = as_usual;
	struct found *all = search->all;
	bool is_ascending = is_sorted(search) && search->order.is_ascending;
	size_t i;

	for (i = 0; is_sorted(search) && i < sizeof orders / sizeof *orders; i++)
		if (strcmp(orders[i].by, search->order.by) == 0)
			compare = orders[i].compare;
	if (search->count > 0)
		qsort(all, search->count, sizeof *all, compare);
	for (i = 0; !is_ascending && i < search->count / 2; i++) {
		struct found other = all[i];

		all[i] = all[search->count - 1 - i];
		all[search->count - 1 - i] = other;
	}
}

/* --- all ---------------------------------------------------------------------------------- */

static enum store_status
find_all(struct search *search)
{
	struct call *call = search->call;
	struct store *store = api_store(call->api);
	const struct assistant_wish wish = { call->tenant, is_wanted, search,
		value_size(value_get(call->body, "metadata")) > 0 };
	struct assistant_list list = { 0 };
	enum store_status status = store_agents(store, call->arena, &search->agents);

	if (status == STORE_OK)
		status = assistants_find(store, call->arena, &wish, &list);
	if (status != STORE_OK)
		return status;
	search->all = arena_alloc(call->arena,
	    (value_size(search->agents) + list.count + 1) * sizeof *search->all);
	take_made(search, &list);
	return take_agents(search);
}

/* Finds what the body asks for. Returns false after answering. */
static bool
find(struct search *search)
{
	static const struct select_filter filters[] = { { "graph_id", VALUE_STR },
		{ "name", VALUE_STR }, { "metadata", VALUE_MAP } };
	struct call *call = search->call;
	enum store_status status;

	if (!select_check(call, filters, sizeof filters / sizeof *filters) ||
	    !select_order_read(
		call, "name assistant_id graph_id created_at updated_at", &search->order))
		return false;
	status = find_all(search);
	if (status != STORE_OK)
		reply_failed(call, status, "assistants");
	else
		sort(search);
	return status == STORE_OK;
}

/* Adds one; STORE_NONE: it was deleted meanwhile. */
static enum store_status
add_one(struct call *call, struct arena *arena, const struct found *found,
    const struct value *fields, struct reply_list *list, bool *has_room_r)
{
	struct blueprint read;
	struct assistant assistant;
	const struct value *shape = NULL;
	enum store_status status =
	    found->is_made
		? assistants_read(api_store(call->api), arena, found->id, &assistant)
		: blueprint_read(call, arena, found->id, &read);

	if (status == STORE_OK)
		shape = found->is_made ? assistant_body_shape(arena, &assistant)
				       : shape_assistant(arena, read.name, read.version,
					     read.source, read.log);
	if (status == STORE_OK)
		*has_room_r = reply_list_add(
		    list, select_fields(arena, shape, fields), SERVE_LIST_BYTES_MAX);
	/* One that cannot be read can be deleted, and is in no other's way. */
	return status == STORE_DAMAGED ? STORE_NONE : status;
}

static void
search_assistants(struct call *call)
{
	struct reply_list list = { 0 };
	struct search search = { .call = call };
	bool has_room = true;
	const struct value *fields;
	int64_t limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX), offset = -1;
	size_t i;

	if (limit != -1)
		offset = call_number(call, "offset", 0, 0, INT64_MAX);
	if (offset == -1 || !select_read(call, SELECT_ASSISTANT, &fields) ||
	    !find(&search))
		return;
	for (i = (size_t)offset;
	     has_room && i < search.count && list.count < (size_t)limit; i++) {
		struct arena *arena = arena_new();
		enum store_status status =
		    add_one(call, arena, &search.all[i], fields, &list, &has_room);

		arena_destroy(&arena);
		if (status != STORE_OK && status != STORE_NONE) {
			reply_list_drop(&list);
			reply_failed(call, status, "assistant");
			return;
		}
	}
	i -= !has_room;
	select_pages(call, search.count, i < search.count ? i : 0);
	reply_list_end(&list, call);
}

void
call_assistants_search(struct call *call)
{
	room_in_list(call, "assistants", search_assistants);
}

static void
count_assistants(struct call *call)
{
	struct search search = { .call = call };

	if (find(&search))
		reply(call, 200, value_int(call->arena, (int64_t)search.count));
}

void
call_assistants_count(struct call *call)
{
	room_in_list(call, "assistants", count_assistants);
}
