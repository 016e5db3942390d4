#include "blueprint.h"

#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "memory.h"
#include "room.h"
#include "shape.h"
#include "store_past.h"

#define REMEMBERED_MAX 256u /* versions; then all are forgotten, and read again */

struct blueprints {
	struct arena *arena;        /* of hidden */
	const struct value *hidden; /* {version: [name]} */
};

struct blueprints *
blueprints_new(void)
{
	struct blueprints *blueprints = xcalloc(1, sizeof *blueprints);

	blueprints->arena = arena_new();
	blueprints->hidden = value_empty_map();
	return blueprints;
}

void
blueprints_destroy(struct blueprints **blueprints_p)
{
	struct blueprints *blueprints = *blueprints_p;

	if (blueprints == NULL)
		return;
	*blueprints_p = NULL;
	arena_destroy(&blueprints->arena);
	free(blueprints);
}

void
blueprint_compile(struct arena *arena, struct blueprint *blueprint)
{
	const char *path;

	blueprint->spec = spec_load(
	    arena, blueprint->source, blueprint->name, &path, &blueprint->error);
	if (blueprint->spec != NULL)
		blueprint->graph =
		    graph_compile(arena, blueprint->spec, &path, &blueprint->error);
	if (blueprint->graph == NULL)
		blueprint->spec = NULL;
}

enum store_status
blueprint_read(struct call *call, struct arena *arena, const char *name,
    struct blueprint *blueprint_r)
{
	struct store *store = api_store(call->api);
	struct blueprint *read = blueprint_r;
	enum store_status status;

	*read = (struct blueprint){ .name = name };
	status = store_agent_version(store, arena, name, &read->version);
	if (status == STORE_OK)
		status = store_agent_source(store, arena, read->version, &read->source);
	if (status == STORE_OK)
		status = store_agent_log(store, arena, name, &read->log);
	return status;
}

bool
blueprint_open(struct call *call, const char *name, struct blueprint *blueprint_r)
{
	enum store_status status = blueprint_read(call, call->arena, name, blueprint_r);

	if (status == STORE_OK)
		blueprint_compile(call->arena, blueprint_r);
	else
		reply_failed(call, status, "such agent");
	return status == STORE_OK;
}

static const struct value *
hidden_of(struct arena *arena, const struct spec *spec)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; spec != NULL && i < spec->field_count; i++)
		if (spec->fields[i].omit_from_output)
			value_list_add(&list, value_str(arena, spec->fields[i].name));
	return value_list_end(&list);
}

static void
remember(struct blueprints *blueprints, const char *version, const struct value *hidden)
{
	struct arena *arena;

	if (value_size(blueprints->hidden) >= REMEMBERED_MAX) {
		arena_destroy(&blueprints->arena);
		blueprints->arena = arena_new();
		blueprints->hidden = value_empty_map();
	}
	arena = blueprints->arena;
	blueprints->hidden =
	    value_map_with(arena, blueprints->hidden, version, value_copy(arena, hidden));
}

enum store_status
blueprint_hidden(
    struct api *api, struct arena *arena, const char *name, const struct value **hidden_r)
{
	struct store *store = api_store(api);
	struct blueprint read = { .name = name };
	const struct value *known;
	enum store_status status = STORE_NONE;

	*hidden_r = value_empty_array();
	if (name != NULL)
		status = store_agent_version(store, arena, name, &read.version);
	if (status == STORE_OK) {
		known = value_get(api->blueprints->hidden, read.version);
		if (known != NULL) {
			*hidden_r = value_copy(arena, known);
			return STORE_OK;
		}
		status = store_agent_source(store, arena, read.version, &read.source);
	}
	if (status != STORE_OK)
		return status == STORE_NONE ? STORE_OK : status;
	blueprint_compile(arena, &read);
	*hidden_r = hidden_of(arena, read.spec);
	remember(api->blueprints, read.version, *hidden_r);
	return STORE_OK;
}

static enum store_status
read_thread(struct call *call, struct arena *arena, const char *name, const char *run,
    const struct value **thread_r, const struct value **values_r)
{
	struct store *store = api_store(call->api);
	const struct value *thread, *head, *hidden;
	enum store_status status =
	    run == NULL ? store_thread(store, arena, name, &thread)
			: store_thread_left(store, arena, name, run, &thread);

	if (status != STORE_OK)
		return status;
	head = value_get(thread, "head");
	status =
	    blueprint_hidden(call->api, arena, value_get_text(head, "agent"), &hidden);
	if (status != STORE_OK)
		return status;
	*thread_r = value_map_with(arena, thread, "asks", asks_of(arena, head));
	*values_r = shape_values(
	    arena, value_get(thread, "messages"), value_get(thread, "fields"), hidden);
	return STORE_OK;
}

enum store_status
blueprint_thread(struct call *call, struct arena *arena, const char *name,
    const char *run, const struct value **thread_r, const struct value **values_r)
{
	enum store_status status = room_for_state(call);

	if (status != STORE_OK)
		return status;
	status = read_thread(call, arena, name, run, thread_r, values_r);
	room_leave_state(call);
	return status;
}
