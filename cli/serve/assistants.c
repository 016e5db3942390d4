/* assistants: one of them: an agent, or what was made of one; its versions, its graph, its schemas. */
#include <stdlib.h>
#include <string.h>

#include "assistant_body.h"
#include "assistant_find.h"
#include "blueprint.h"
#include "room.h"
#include "select.h"
#include "shape.h"
#include "store_agents.h"

#define LIMIT 10
#define LIMIT_MAX 1000

/* An assistant, and its agent. */
struct subject {
	struct assistant assistant;
	struct blueprint read;
};

/* Reads the path's, with its agent. Returns false after answering. */
static bool
read_subject(struct call *call, struct subject *subject)
{
	const char *id = call->params[0];
	struct assistant *assistant = &subject->assistant;
	enum store_status status = assistant_find(call, call->arena, id, assistant);

	if (!assistant_can_run(call, id, status, assistant))
		return false;
	status = blueprint_read(call, call->arena, assistant->agent, &subject->read);
	if (status != STORE_OK)
		assistant_reply_failed(call, status, id);
	return status == STORE_OK;
}

void
call_assistant_get(struct call *call)
{
	struct assistant assistant;
	struct blueprint read;
	const char *id = call->params[0];
	enum store_status status = assistant_find(call, call->arena, id, &assistant);

	if (status == STORE_OK && assistant_is_made(&assistant)) {
		reply(call, 200, assistant_body_shape(call->arena, &assistant));
		return;
	}
	if (status == STORE_OK)
		status = blueprint_read(call, call->arena, id, &read);
	if (status == STORE_OK)
		reply(call, 200,
		    shape_assistant(
			call->arena, read.name, read.version, read.source, read.log));
	else
		assistant_reply_failed(call, status, id);
}

/* An agent's subagents are agents of their own, and have no place in its graph. */
void
call_assistant_subgraphs(struct call *call)
{
	struct subject subject;

	if (read_subject(call, &subject))
		reply(call, 200, value_empty_map());
}

/* --- versions ----------------------------------------------------------------------------- */

/* The versions of one, from the newest on. */
struct versions {
	struct call *call;
	const struct value *metadata; /* that are wanted */
	size_t skip, limit;
	struct reply_list list;
	bool has_room;
};

/* Adds one, if it is wanted, shown as value; NULL: it is there no more. Returns whether others may be. */
static bool
add_version(struct versions *versions, const struct value *value)
{
	if (value == NULL ||
	    !select_matches(value_get(value, "metadata"), versions->metadata))
		return true;
	if (versions->skip > 0) {
		versions->skip--;
		return true;
	}
	return reply_list_add(&versions->list, value, SERVE_LIST_BYTES_MAX) &&
	       versions->list.count < versions->limit;
}

/* The agent as it was under number, in its log; NULL when it was deleted by that, or nobody has kept it. */
static const struct value *
agent_at(struct call *call, struct arena *arena, const struct blueprint *read,
    uint64_t number, enum store_status *status_r)
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

/* The same of one that was made: each version was made once, and changed no more. */
static const struct value *
made_at(struct call *call, struct arena *arena, const struct assistant *now,
    uint64_t number, enum store_status *status_r)
{
	struct assistant assistant;

	*status_r =
	    assistants_version(api_store(call->api), arena, now->id, number, &assistant);
	if (*status_r == STORE_OUTDATED)
		*status_r = STORE_NONE;
	if (*status_r != STORE_OK)
		return NULL;
	assistant.created_ms = assistant.updated_ms = assistant.version_ms;
	return assistant_body_shape(arena, &assistant);
}

/* read: of an agent; NULL: of one that was made. */
static enum store_status
list_versions(struct versions *versions, const struct assistant *assistant,
    const struct blueprint *read)
{
	uint64_t number = read != NULL ? value_size(read->log) : assistant->newest;
	uint64_t last = read != NULL || number < ASSISTANT_VERSIONS_MAX
			    ? 0
			    : number - ASSISTANT_VERSIONS_MAX;
	enum store_status status = STORE_OK;
	bool goes_on = true;

	for (; goes_on && number > last; number--) {
		struct arena *arena = arena_new();
		const struct value *found =
		    read != NULL
			? agent_at(versions->call, arena, read, number, &status)
			: made_at(versions->call, arena, assistant, number, &status);

		goes_on = add_version(versions, found) &&
			  (status == STORE_OK || status == STORE_NONE);
		arena_destroy(&arena);
	}
	return status == STORE_NONE ? STORE_OK : status;
}

static void
show_versions(struct call *call)
{
	static const struct select_filter filters[] = { { "metadata", VALUE_MAP } };
	struct versions versions = { .call = call,
		.metadata = value_get(call->body, "metadata") };
	int64_t limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX), offset = -1;
	const char *id = call->params[0];
	struct assistant assistant;
	struct blueprint read;
	enum store_status status;
	bool is_made;

	if (limit != -1)
		offset = call_number(call, "offset", 0, 0, INT32_MAX);
	if (offset == -1 || !select_check(call, filters, 1))
		return;
	versions.limit = (size_t)limit;
	versions.skip = (size_t)offset;
	status = assistant_find(call, call->arena, id, &assistant);
	is_made = status == STORE_OK && assistant_is_made(&assistant);
	if (status == STORE_OK && !is_made)
		status = blueprint_read(call, call->arena, id, &read);
	if (status == STORE_OK)
		status = list_versions(&versions, &assistant, is_made ? NULL : &read);
	if (status == STORE_OK) {
		reply_list_end(&versions.list, call);
	} else {
		reply_list_drop(&versions.list);
		assistant_reply_failed(call, status, id);
	}
}

void
call_assistant_versions(struct call *call)
{
	room_in_list(call, "versions", show_versions);
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
	struct subject subject;
	struct blueprint *read = &subject.read;

	if (!read_subject(call, &subject))
		return;
	blueprint_compile(call->arena, read);
	if (read->graph == NULL) {
		reply_error(call, 422, "agent '%s' cannot be compiled here: %s",
		    read->name, read->error);
		return;
	}
	graph = graph_value(call->arena, read->graph);
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
	struct subject subject;
	struct blueprint *read = &subject.read;

	if (!read_subject(call, &subject))
		return;
	blueprint_compile(arena, read);
	if (read->spec != NULL)
		context = read->spec->context_schema;
	reply(call, 200,
	    value_map(arena, "graph_id", value_str(arena, read->name), "input_schema",
		assistant_state_schema(arena, read->spec, true), "output_schema",
		assistant_state_schema(arena, read->spec, false), "state_schema",
		assistant_state_schema(arena, read->spec, false), "config_schema",
		value_empty_map(), "context_schema",
		context != NULL ? context : value_empty_map(), NULL));
}
