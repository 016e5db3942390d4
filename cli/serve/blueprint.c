#include "blueprint.h"

#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "memory.h"
#include "room.h"
#include "round.h"
#include "store_agents.h"
#include "store_past.h"

#define STRUCTURED "structured_response"
#define HIDDEN "hidden"
#define SHOWN "shown"
#define KNOWN "is_known"
#define REMEMBERED_MAX 256u /* versions; then all are forgotten, and read again */

struct blueprints {
	struct arena *arena;       /* of known */
	const struct value *known; /* {version: {hidden: [name], shown: [name]}} */
};

struct blueprints *
blueprints_new(void)
{
	struct blueprints *blueprints = xcalloc(1, sizeof *blueprints);

	blueprints->arena = arena_new();
	blueprints->known = value_empty_map();
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

/* --- what is shown ------------------------------------------------------------------------ */

bool
blueprint_is_common(const char *field)
{
	return strcmp(field, "messages") == 0 || strcmp(field, STRUCTURED) == 0;
}

/* {hidden: [name], shown: [name], is_known} of an agent's fields; spec NULL: of one that nobody knows. */
static const struct value *
fields_of(struct arena *arena, const struct spec *spec)
{
	struct value_list hidden = { .arena = arena }, shown = { .arena = arena };
	size_t i;

	if (spec == NULL || spec_field(spec, STRUCTURED) == NULL)
		value_list_add(&shown, value_str(arena, STRUCTURED));
	for (i = 0; spec != NULL && i < spec->field_count; i++)
		value_list_add(spec->fields[i].omit_from_output ? &hidden : &shown,
		    value_str(arena, spec->fields[i].name));
	return value_map(arena, HIDDEN, value_list_end(&hidden), SHOWN,
	    value_list_end(&shown), KNOWN, value_bool(spec != NULL), NULL);
}

static const struct value *
remember(struct blueprints *blueprints, const char *version, const struct value *fields)
{
	struct arena *arena;

	if (value_size(blueprints->known) >= REMEMBERED_MAX) {
		arena_destroy(&blueprints->arena);
		blueprints->arena = arena_new();
		blueprints->known = value_empty_map();
	}
	arena = blueprints->arena;
	fields = value_copy(arena, fields);
	blueprints->known = value_map_with(arena, blueprints->known, version, fields);
	return fields;
}

/* The same of that version of an agent, which is compiled once. */
static enum store_status
find_fields(struct call *call, struct arena *arena, const char *name, const char *version,
    const struct value **fields_r)
{
	struct blueprints *blueprints = call->api->blueprints;
	struct blueprint read = { .name = name };
	const struct value *known = value_get(blueprints->known, version);
	struct arena *own = NULL;
	enum store_status status = STORE_OK;

	if (known == NULL) {
		own = arena_new();
		status =
		    store_agent_source(api_store(call->api), own, version, &read.source);
	}
	if (own != NULL && status == STORE_OK) {
		blueprint_compile(own, &read);
		known = remember(blueprints, version, fields_of(own, read.spec));
		if (read.spec == NULL && admit_wants_key(call->api))
			complain("agent '%s' cannot be compiled here (%s): a tenant's "
				 "key sees and writes messages and structured_response "
				 "of its state alone; --plugin gives its middleware",
			    read.name, read.error);
	}
	*fields_r = known != NULL ? value_copy(arena, known) : fields_of(arena, NULL);
	arena_destroy(&own);
	return status == STORE_NONE ? STORE_OK : status;
}

/* Those of the agent as it has left the state that it has not come to keep private since. now NULL: there is none of that name, as of a
 * subagent that is part of another. */
static const struct value *
shown_of(struct arena *arena, const struct value *left, const struct value *now)
{
	const struct value *all = value_get(left, SHOWN);
	struct value_list shown = { .arena = arena };
	size_t i;

	if (now == NULL)
		return all;
	if (!value_get_bool(now, KNOWN, false))
		return value_get(now, SHOWN);
	for (i = 0; i < value_size(all); i++)
		if (!value_contains(value_get(now, HIDDEN), value_text(value_at(all, i))))
			value_list_add(&shown, value_at(all, i));
	return value_list_end(&shown);
}

enum store_status
blueprint_view(struct call *call, struct arena *arena, const struct value *head,
    struct shape_view *view_r)
{
	const char *name = value_get_text(head, "agent"), *version = NULL;
	const char *left_version = value_get_text(head, "version");
	const struct value *now = NULL, *left = NULL;
	enum store_status status = STORE_NONE;

	*view_r = (struct shape_view){ .has_shown = call->tenant != NULL };
	if (name != NULL)
		status = store_agent_version(api_store(call->api), arena, name, &version);
	if (status == STORE_OK)
		status = find_fields(call, arena, name, version, &now);
	if (status != STORE_OK && status != STORE_NONE)
		return status;
	view_r->names = value_get(now, HIDDEN);
	if (!view_r->has_shown)
		return STORE_OK;
	left = now != NULL ? now : fields_of(arena, NULL);
	status = STORE_OK;
	if (name != NULL && left_version != NULL &&
	    (version == NULL || strcmp(left_version, version) != 0))
		status = find_fields(call, arena, name, left_version, &left);
	view_r->names = shown_of(arena, left, now);
	return status;
}

/* --- threads ------------------------------------------------------------------------------ */

static enum store_status
read_thread(struct call *call, struct arena *arena, const char *name, const char *run,
    const struct value **thread_r, const struct value **values_r)
{
	struct store *store = api_store(call->api);
	const struct value *thread, *head, *messages, *fields;
	struct shape_view view;
	enum store_status status =
	    run == NULL ? store_thread(store, arena, name, &thread)
			: store_thread_left(store, arena, name, run, &thread);

	if (status != STORE_OK)
		return status;
	head = value_get(thread, "head");
	status = blueprint_view(call, arena, head, &view);
	if (status != STORE_OK)
		return status;
	*thread_r = value_map_with(arena, thread, "asks", asks_of(arena, head));
	messages = value_get(thread, "messages");
	fields = value_get(thread, "fields");
	if (run == NULL) {
		messages = round_messages(arena, head, messages);
		fields = round_fields(arena, head, fields);
	}
	*values_r = shape_values(arena, messages, fields, &view);
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
