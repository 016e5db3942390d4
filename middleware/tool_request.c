#include "tool_request.h"

#include <string.h>

/* --- accessors ---------------------------------------------------------------------- */

struct arena *
tool_arena(const struct tool_request *request)
{
	return request->run->arena;
}

const struct value *
tool_settings_of(const struct tool_request *request)
{
	return request->use == NULL ? value_empty_map() : request->use->settings;
}

const char *
tool_name(const struct tool_request *request)
{
	return request->name;
}

const char *
tool_call_id(const struct tool_request *request)
{
	return request->id;
}

const struct value *
tool_args(const struct tool_request *request)
{
	return request->args;
}

const struct value *
tool_definition(const struct tool_request *request)
{
	return request->definition;
}

const struct value *
tool_state(const struct tool_request *request, const char *field)
{
	return value_get(request->state, field);
}

const struct value *
tool_whole_state(const struct tool_request *request)
{
	return request->state;
}

const struct value *
tool_context(const struct tool_request *request)
{
	return value_get(request->run->request, "context");
}

const char *
tool_run(const struct tool_request *request)
{
	return value_get_text(request->run->request, "run");
}

const char *
tool_thread(const struct tool_request *request)
{
	return value_get_text(request->run->request, "thread");
}

const char *
tool_agent(const struct tool_request *request)
{
	return value_get_text(request->run->profile, "agent");
}

const char *
tool_tenant(const struct tool_request *request)
{
	return value_get_text(request->run->request, "tenant");
}

const char *
tool_middleware(const struct tool_request *request)
{
	return request->use == NULL ? NULL : request->use->name;
}

const char *
tool_worker(const struct tool_request *request)
{
	return request->run->backend->worker;
}

uint64_t
tool_left_ms(const struct tool_request *request)
{
	const struct tool_backend *backend = request->run->backend;

	return backend->left_ms == NULL ? UINT64_MAX : backend->left_ms(backend->arg);
}

bool
tool_streams(const struct tool_request *request)
{
	const struct tool_backend *backend = request->run->backend;

	return backend->streams != NULL && backend->streams(backend->arg);
}

void
tool_stream(const struct tool_request *request, const struct value *value)
{
	const struct tool_backend *backend = request->run->backend;

	if (backend->stream != NULL)
		backend->stream(backend->arg, tool_middleware(request),
		    value != NULL ? value : value_nil());
}

const char *
tool_idempotency_key(const struct tool_request *request)
{
	return request->run->key;
}

/* --- definitions -------------------------------------------------------------------- */

static const struct value *
definition_in(const struct value *tools, const char *name)
{
	size_t i;

	for (i = 0; i < value_size(tools); i++) {
		if (value_text_is(value_get(value_at(tools, i), "name"), name))
			return value_at(tools, i);
	}
	return NULL;
}

/* The last listed, whose definition the model is told. */
const struct middleware_use *
tool_bringer(const struct tool_run *run, const char *name)
{
	size_t i;

	for (i = run->chain->count; i > 0; i--) {
		if (definition_in(run->chain->uses[i - 1]->tools, name) != NULL)
			return run->chain->uses[i - 1];
	}
	return NULL;
}

/* What the agent knows by that name: the CALL's own definition, this worker's (the user's
 * tools win over those of middleware), a middleware's. */
static const struct value *
find_definition(const struct tool_run *run, const char *name)
{
	const struct value *definition = value_get(run->request, "tool");
	const struct middleware_use *use;

	if (value_text_is(value_get(definition, "name"), name))
		return definition;
	if (!value_contains(value_get(run->profile, "tools"), name))
		return NULL;
	definition = run->backend->find == NULL
			 ? NULL
			 : run->backend->find(run->backend->arg, name);
	if (definition != NULL)
		return definition;
	use = tool_bringer(run, name);
	return use == NULL ? NULL : definition_in(use->tools, name);
}

/* --- making and changing ------------------------------------------------------------ */

struct tool_request *
tool_request_new(struct tool_run *run)
{
	struct tool_request *request = arena_alloc(run->arena, sizeof *request);
	const struct value *call = value_get(run->request, "tool_call");
	const struct value *definition = value_get(run->request, "tool");

	request->run = run;
	request->name = value_get_text(call, "name");
	request->id = value_get_text(call, "id");
	request->args = value_get(call, "args");
	if (!value_is(request->args, VALUE_MAP))
		request->args = value_empty_map();
	request->state = value_get(run->request, "state");
	if (!value_is(request->state, VALUE_MAP))
		request->state = value_empty_map();
	request->definition = value_is(definition, VALUE_MAP) ? definition : NULL;
	return request;
}

struct tool_request *
tool_request_for(const struct tool_request *request, const struct middleware_use *use)
{
	struct tool_request *copy = arena_alloc(request->run->arena, sizeof *copy);

	*copy = *request;
	copy->use = use;
	return copy;
}

static bool
set_args(struct tool_request *request, const struct value *value)
{
	request->args = value_is_nil(value) ? value_empty_map() : value;
	return request->args->type == VALUE_MAP;
}

static bool
set_state(struct tool_request *request, const struct value *value)
{
	request->state = value_is_nil(value) ? value_empty_map() : value;
	return request->state->type == VALUE_MAP;
}

static bool
set_name(struct tool_request *request, const struct value *value)
{
	if (!value_is(value, VALUE_STR))
		return false;
	request->name = value->text;
	request->definition = find_definition(request->run, value->text);
	return true;
}

/* The tool that runs has the definition's name: so has the message that answers. */
static bool
set_tool(struct tool_request *request, const struct value *value)
{
	const char *name = value_get_text(value, "name");

	request->definition = value_is_nil(value) ? NULL : value;
	if (name != NULL)
		request->name = name;
	return request->definition == NULL || request->definition->type == VALUE_MAP;
}

struct tool_request *
tool_override(struct tool_request *request, const char *field, const struct value *value)
{
	struct tool_request *copy = tool_request_for(request, request->use);
	struct tool_run *run = request->run;
	const char *who = request->use == NULL ? "a hook" : request->use->name;
	bool fits;

	if (strcmp(field, "args") == 0) {
		fits = set_args(copy, value);
	} else if (strcmp(field, "name") == 0) {
		fits = set_name(copy, value);
	} else if (strcmp(field, "state") == 0) {
		fits = set_state(copy, value);
	} else if (strcmp(field, "tool") == 0) {
		fits = set_tool(copy, value);
	} else {
		run->broken = fault_new(run->arena, "ValueError",
		    "%s overrides \"%s\", which a tool request has not; it has args, "
		    "name, state and tool",
		    who, field);
		return request;
	}
	if (fits)
		return copy;
	run->broken = fault_new(run->arena, "TypeError",
	    "%s overrides \"%s\" of a tool request with a value of type %s", who, field,
	    value_type_name(value == NULL ? VALUE_NIL : value->type));
	return request;
}
