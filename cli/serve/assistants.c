/* assistants: the fleet's agents. An agent's name is its id and its graph's. */
#include <string.h>

#include "blueprint.h"
#include "select.h"
#include "shape.h"

#define LIMIT 10
#define LIMIT_MAX 1000

/* Whether an agent is one of those that the body asks for. */
static bool
is_wanted(const struct value *body, const char *name)
{
	const char *graph = value_get_text(body, "graph_id");
	const char *part = value_get_text(body, "name");

	return (graph == NULL || strcmp(graph, name) == 0) &&
	       (part == NULL || strstr(name, part) != NULL) &&
	       value_size(value_get(body, "metadata")) == 0;
}

/* The names that are wanted; NULL after answering. */
static const struct value *
find(struct call *call)
{
	static const struct select_filter filters[] = { { "graph_id", VALUE_STR },
		{ "name", VALUE_STR }, { "metadata", VALUE_MAP } };
	struct value_list names = { .arena = call->arena };
	const struct value *agents;
	enum store_status status;
	size_t i;

	if (!select_check(call, filters, sizeof filters / sizeof *filters))
		return NULL;
	status = store_agents(api_store(call->api), call->arena, &agents);
	if (status != STORE_OK) {
		reply_failed(call, status, "agents");
		return NULL;
	}
	for (i = 0; i < value_size(agents); i++)
		if (is_wanted(call->body, value_text(agents->pairs[i].key)))
			value_list_add(&names, agents->pairs[i].key);
	return value_list_end(&names);
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
	bool has_room = true;
	const struct value *names = NULL, *fields;
	int64_t limit = 0, offset = 0;
	size_t i;

	if (select_read(call, SELECT_ASSISTANT, &fields))
		names = find(call);
	if (names != NULL)
		limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX);
	if (limit > 0)
		offset = call_number(call, "offset", 0, 0, INT64_MAX);
	if (names == NULL || limit == -1 || offset == -1)
		return;
	for (i = (size_t)offset;
	     has_room && i < value_size(names) && list.count < (size_t)limit; i++) {
		struct arena *arena = arena_new();
		enum store_status status = add_one(call, arena,
		    value_text(value_at(names, i)), fields, &list, &has_room);

		arena_destroy(&arena);
		if (status != STORE_OK && status != STORE_NONE) {
			reply_list_drop(&list);
			reply_failed(call, status, "agent");
			return;
		}
	}
	reply_list_end(&list, call);
}

void
call_assistants_count(struct call *call)
{
	const struct value *names = find(call);

	if (names != NULL)
		reply(call, 200, value_int(call->arena, (int64_t)value_size(names)));
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
