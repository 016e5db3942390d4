/* assistants: the fleet's agents. An agent's name is its id and its graph's. */
#include <stdlib.h>
#include <string.h>

#include "blueprint.h"
#include "select.h"
#include "shape.h"

#define LIMIT 10
#define LIMIT_MAX 1000

/* An agent that is found, and when it was made or changed, if they are sorted by that. */
struct found {
	const char *name;
	int64_t at;
};

struct search {
	struct call *call;
	struct select_order order;
	struct found *all;
	size_t count;
};

static bool
is_by_time(const struct search *search)
{
	return strcmp(search->order.by, "created_at") == 0 ||
	       strcmp(search->order.by, "updated_at") == 0;
}

/* Whether an agent of that name may be one of those that the body asks for. */
static bool
may_be_wanted(const struct value *body, const char *name)
{
	const char *graph = value_get_text(body, "graph_id");
	const char *part = value_get_text(body, "name");

	return (graph == NULL || strcmp(graph, name) == 0) &&
	       (part == NULL || strcasestr(name, part) != NULL);
}

/* Takes the agent of that name, if it is one of those. STORE_NONE: it was deleted meanwhile. */
static enum store_status
take(struct search *search, struct arena *arena, const char *name)
{
	struct call *call = search->call;
	const struct value *metadata = value_get(call->body, "metadata"), *shape;
	struct blueprint read = { 0 };
	enum store_status status;
	size_t last;

	if (!may_be_wanted(call->body, name))
		return STORE_OK;
	search->all[search->count] = (struct found){ .name = name };
	if (!is_by_time(search) && value_size(metadata) == 0) {
		search->count++;
		return STORE_OK;
	}
	status = blueprint_read(call, arena, name, &read);
	if (status != STORE_OK)
		return status;
	shape = shape_assistant(arena, name, read.version, read.source, read.log);
	if (!select_matches(value_get(shape, "metadata"), metadata))
		return STORE_OK;
	last = value_size(read.log) - 1;
	search->all[search->count++].at = value_get_int(
	    value_at(read.log, *search->order.by == 'c' ? 0 : last), "at", 0);
	return STORE_OK;
}

static int
compare(const void *a, const void *b)
{
	const struct found *one = a, *other = b;

	if (one->at != other->at)
		return one->at < other->at ? -1 : 1;
	return strcmp(one->name, other->name);
}

static void
sort(struct search *search)
{
	struct found *all = search->all;
	size_t i;

	if (search->count == 0 || value_is_nil(value_get(search->call->body, "sort_by")))
		return;
	qsort(all, search->count, sizeof *all, compare);
	for (i = 0; !search->order.is_ascending && i < search->count / 2; i++) {
		struct found other = all[i];

		all[i] = all[search->count - 1 - i];
		all[search->count - 1 - i] = other;
	}
}

/* Finds what the body asks for. Returns false after answering. */
static bool
find(struct search *search)
{
	static const struct select_filter filters[] = { { "graph_id", VALUE_STR },
		{ "name", VALUE_STR }, { "metadata", VALUE_MAP } };
	struct call *call = search->call;
	const struct value *agents;
	enum store_status status;
	size_t i;

	if (!select_check(call, filters, sizeof filters / sizeof *filters) ||
	    !select_order_read(
		call, "name assistant_id graph_id created_at updated_at", &search->order))
		return false;
	status = store_agents(api_store(call->api), call->arena, &agents);
	if (status == STORE_OK)
		search->all = arena_alloc(
		    call->arena, (value_size(agents) + 1) * sizeof *search->all);
	for (i = 0; status == STORE_OK && i < value_size(agents); i++) {
		struct arena *arena = arena_new();

		status = take(search, arena, value_text(agents->pairs[i].key));
		status = status == STORE_NONE ? STORE_OK : status;
		arena_destroy(&arena);
	}
	if (status != STORE_OK)
		reply_failed(call, status, "agents");
	else
		sort(search);
	return status == STORE_OK;
}

/* Adds the agent of that name to list; STORE_NONE: it was deleted meanwhile. */
static enum store_status
add_one(struct call *call, struct arena *arena, const char *name,
    const struct value *fields, struct reply_list *list, bool *has_room_r)
{
	struct blueprint read;
	enum store_status status = blueprint_read(call, arena, name, &read);

	if (status == STORE_OK)
		*has_room_r = reply_list_add(list,
		    select_fields(arena,
			shape_assistant(
			    arena, read.name, read.version, read.source, read.log),
			fields),
		    SERVE_LIST_BYTES_MAX);
	return status;
}

void
call_assistants_search(struct call *call)
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
		    add_one(call, arena, search.all[i].name, fields, &list, &has_room);

		arena_destroy(&arena);
		if (status != STORE_OK && status != STORE_NONE) {
			reply_list_drop(&list);
			reply_failed(call, status, "agent");
			return;
		}
	}
	i -= !has_room;
	select_pages(call, search.count, i < search.count ? i : 0);
	reply_list_end(&list, call);
}

void
call_assistants_count(struct call *call)
{
	struct search search = { .call = call };

	if (find(&search))
		reply(call, 200, value_int(call->arena, (int64_t)search.count));
}

/* Returns false after answering. */
static bool
read_agent(struct call *call, struct blueprint *read_r)
{
	enum store_status status =
	    blueprint_read(call, call->arena, call->params[0], read_r);

	if (status == STORE_NONE)
		reply_error(call, 404,
		    "no agent '%s'; POST /assistants/search lists them", call->params[0]);
	else if (status != STORE_OK)
		reply_failed(call, status, "agent");
	return status == STORE_OK;
}

void
call_assistant_get(struct call *call)
{
	struct blueprint read;

	if (read_agent(call, &read))
		reply(call, 200,
		    shape_assistant(
			call->arena, read.name, read.version, read.source, read.log));
}

/* An agent's subagents are agents of their own, and have no place in its graph. */
void
call_assistant_subgraphs(struct call *call)
{
	struct blueprint read;

	if (read_agent(call, &read))
		reply(call, 200, value_empty_map());
}

/* The agent as it was under number, in its log; NULL when it was deleted by that, or nobody has kept it. */
static const struct value *
version_at(struct call *call, struct arena *arena, const struct blueprint *read,
    size_t number, enum store_status *status_r)
{
	const char *version = value_get_text(value_at(read->log, number - 1), "version");
	const struct value *source;

	*status_r = STORE_NONE;
	if (version != NULL && *version != '\0')
		*status_r =
		    store_agent_source(api_store(call->api), arena, version, &source);
	return *status_r == STORE_OK ? shape_assistant(arena, read->name, version, source,
					   value_array(arena, read->log->items, number))
				     : NULL;
}

void
call_assistant_versions(struct call *call)
{
	struct reply_list list = { 0 };
	int64_t limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX), offset = -1;
	struct blueprint read;
	enum store_status status = STORE_OK;
	bool has_room = true;
	size_t number;

	if (limit != -1)
		offset = call_number(call, "offset", 0, 0, INT32_MAX);
	if (offset == -1 || !read_agent(call, &read))
		return;
	number = value_size(read.log);
	for (; has_room && number > 0 && list.count < (size_t)limit; number--) {
		struct arena *arena = arena_new();
		const struct value *found =
		    version_at(call, arena, &read, number, &status);

		if (found != NULL && offset-- <= 0)
			has_room = reply_list_add(&list, found, SERVE_LIST_BYTES_MAX);
		arena_destroy(&arena);
		if (status != STORE_OK && status != STORE_NONE) {
			reply_list_drop(&list);
			reply_failed(call, status, "agent");
			return;
		}
	}
	reply_list_end(&list, call);
}

/* --- its graph ---------------------------------------------------------------------------- */

static const struct value *
node_of(struct arena *arena, const char *name)
{
	return value_map(arena, "id", value_str(arena, name), "type",
	    value_str(arena, strncmp(name, "__", 2) == 0 ? "schema" : "runnable"), "data",
	    value_map(arena, "name", value_str(arena, name), NULL), NULL);
}

static const struct value *
nodes_of(struct arena *arena, const struct value *graph)
{
	const struct value *names = value_get(graph, "nodes");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(names); i++)
		value_list_add(&list, node_of(arena, value_text(value_at(names, i))));
	return value_list_end(&list);
}

static const struct value *
edges_of(struct arena *arena, const struct value *graph)
{
	const struct value *edges = value_get(graph, "edges");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(edges); i++) {
		const struct value *edge = value_at(edges, i);
		bool is_conditional = value_get_bool(edge, "conditional", false);

		value_list_add(
		    &list, value_map(arena, "source", value_get(edge, "from"), "target",
			       value_get(edge, "to"), "conditional",
			       is_conditional ? value_bool(true) : NULL, NULL));
	}
	return value_list_end(&list);
}

void
call_assistant_graph(struct call *call)
{
	const struct value *graph;
	struct blueprint read;

	if (!read_agent(call, &read))
		return;
	blueprint_compile(call->arena, &read);
	if (read.graph == NULL) {
		reply_error(call, 422, "agent '%s' cannot be compiled here: %s",
		    read.name, read.error);
		return;
	}
	graph = graph_value(call->arena, read.graph);
	reply(call, 200,
	    value_map(call->arena, "nodes", nodes_of(call->arena, graph), "edges",
		edges_of(call->arena, graph), NULL));
}

/* --- its schemas -------------------------------------------------------------------------- */

static const struct value *
schema_of(struct arena *arena, const char *type)
{
	return type == NULL ? value_empty_map()
			    : value_map(arena, "type", value_str(arena, type), NULL);
}

const struct value *
assistant_state_schema(struct arena *arena, const struct spec *spec, bool is_input)
{
	struct value_fields properties = { .arena = arena };
	size_t i;

	value_fields_set(&properties, "messages", schema_of(arena, "array"));
	for (i = 0; spec != NULL && i < spec->field_count; i++) {
		const struct field *field = &spec->fields[i];

		if (is_input ? !field->omit_from_input : !field->omit_from_output)
			value_fields_set(
			    &properties, field->name, schema_of(arena, field->type));
	}
	return value_map(arena, "type", value_str(arena, "object"), "properties",
	    value_fields_end(&properties), NULL);
}

void
call_assistant_schemas(struct call *call)
{
	struct arena *arena = call->arena;
	const struct value *context = NULL;
	struct blueprint read;

	if (!read_agent(call, &read))
		return;
	blueprint_compile(arena, &read);
	if (read.spec != NULL)
		context = read.spec->context_schema;
	reply(call, 200,
	    value_map(arena, "graph_id", value_str(arena, read.name), "input_schema",
		assistant_state_schema(arena, read.spec, true), "output_schema",
		assistant_state_schema(arena, read.spec, false), "state_schema",
		assistant_state_schema(arena, read.spec, false), "config_schema",
		value_empty_map(), "context_schema",
		context != NULL ? context : value_empty_map(), NULL));
}
