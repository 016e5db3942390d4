#include "model_request.h"

#include <string.h>

#include "nearest.h"
#include "registry.h"

/* --- accessors ---------------------------------------------------------------------- */

struct arena *
model_arena(const struct model_request *request)
{
	return request->run->arena;
}

const struct value *
model_settings_of(const struct model_request *request)
{
	return request->use == NULL ? value_empty_map() : request->use->settings;
}

const char *
model_name(const struct model_request *request)
{
	return request->model;
}

const char *
model_system_prompt(const struct model_request *request)
{
	return request->system_prompt;
}

const struct value *
model_messages(const struct model_request *request)
{
	return request->messages;
}

const struct value *
model_tools(const struct model_request *request)
{
	return request->tools;
}

const struct value *
model_tool_choice(const struct model_request *request)
{
	return request->tool_choice;
}

const struct value *
model_response_format(const struct model_request *request)
{
	return request->response_format;
}

const struct value *
model_model_settings(const struct model_request *request)
{
	return request->model_settings;
}

const struct value *
model_state(const struct model_request *request, const char *field)
{
	const struct value *call = request->run->request;

	/* The messages travel once, as the request's. */
	if (strcmp(field, "messages") == 0)
		return value_get(call, "messages");
	return value_get(value_get(call, "state"), field);
}

const struct value *
model_context(const struct model_request *request)
{
	return value_get(request->run->request, "context");
}

const char *
model_run(const struct model_request *request)
{
	return value_get_text(request->run->request, "run");
}

const char *
model_thread(const struct model_request *request)
{
	return value_get_text(request->run->request, "thread");
}

const char *
model_agent(const struct model_request *request)
{
	return value_get_text(request->run->profile, "agent");
}

const char *
model_tenant(const struct model_request *request)
{
	return value_get_text(request->run->request, "tenant");
}

uint64_t
model_left_ms(const struct model_request *request)
{
	const struct model_backend *backend = request->run->backend;

	return backend->left_ms == NULL ? UINT64_MAX : backend->left_ms(backend->arg);
}

bool
model_streams(const struct model_request *request)
{
	const struct model_backend *backend = request->run->backend;

	return backend->streams != NULL && backend->streams(backend->arg);
}

void
model_stream(const struct model_request *request, const struct value *value)
{
	const struct model_backend *backend = request->run->backend;

	if (backend->stream != NULL)
		backend->stream(backend->arg, model_middleware(request),
		    value != NULL ? value : value_nil());
}

const char *
model_middleware(const struct model_request *request)
{
	return request->use == NULL ? NULL : request->use->name;
}

const char *
model_dialect(const struct model_request *request)
{
	static const char *const known[] = { "anthropic", "bedrock_converse", "openai",
		"scripted" };
	const struct model_backend *backend = request->run->backend;
	const char *model = request->model;
	size_t size = model == NULL ? 0 : strcspn(model, ":"), i;

	if (model == NULL)
		return NULL;
	if (backend->dialect != NULL)
		return backend->dialect(backend->arg, model);
	for (i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i]) == size && strncmp(known[i], model, size) == 0)
			return known[i];
	return NULL;
}

const struct value *
model_model_profile(const struct model_request *request, const char *model)
{
	return use_known_model(
	    request->run->arena, request->use, model == NULL ? request->model : model);
}

/* --- making and changing ------------------------------------------------------------ */

/* What model_override can replace. Each returns false when value has the wrong type;
 * value NULL means none. */

static bool
set_model(struct model_request *request, const struct value *value)
{
	if (value != NULL && !value_is(value, VALUE_STR))
		return false;
	request->model =
	    value != NULL ? value->text : value_get_text(request->run->profile, "model");
	return true;
}

static bool
set_system_prompt(struct model_request *request, const struct value *value)
{
	request->system_prompt = value_text(value);
	return value == NULL || value->type == VALUE_STR;
}

static bool
set_messages(struct model_request *request, const struct value *value)
{
	request->messages = value == NULL ? value_empty_array() : value;
	return request->messages->type == VALUE_ARRAY;
}

static bool
set_tools(struct model_request *request, const struct value *value)
{
	request->tools = value == NULL ? value_empty_array() : value;
	return request->tools->type == VALUE_ARRAY;
}

static bool
set_tool_choice(struct model_request *request, const struct value *value)
{
	request->tool_choice = value;
	return value == NULL || value->type == VALUE_STR || value->type == VALUE_MAP;
}

static bool
set_response_format(struct model_request *request, const struct value *value)
{
	request->response_format = value;
	return value == NULL || value->type == VALUE_MAP;
}

static bool
set_model_settings(struct model_request *request, const struct value *value)
{
	request->model_settings = value == NULL ? value_empty_map() : value;
	return request->model_settings->type == VALUE_MAP;
}

static const char *const field_names[] = {
	"model",
	"system_prompt",
	"messages",
	"tools",
	"tool_choice",
	"response_format",
	"model_settings",
};

#define FIELD_COUNT (sizeof field_names / sizeof *field_names)

static bool (*const field_setters[FIELD_COUNT])(
    struct model_request *request, const struct value *value) = {
	set_model,
	set_system_prompt,
	set_messages,
	set_tools,
	set_tool_choice,
	set_response_format,
	set_model_settings,
};

/* A request like request, field by field; false when there is no such field or value has
 * the wrong type, and the run is then broken. */
static bool
set_field(struct model_request *request, const char *field, const struct value *value)
{
	struct model_run *run = request->run;
	const char *who = request->use == NULL ? "a hook" : request->use->name;
	size_t i;

	if (value_is_nil(value))
		value = NULL;
	for (i = 0; i < FIELD_COUNT; i++) {
		if (strcmp(field_names[i], field) != 0)
			continue;
		if (field_setters[i](request, value))
			return true;
		run->broken = fault_new(run->arena, "TypeError",
		    "%s overrides \"%s\" of a model request with a value of type %s", who,
		    field, value_type_name(value == NULL ? VALUE_NIL : value->type));
		return false;
	}
	run->broken = fault_new(run->arena, "ValueError",
	    "%s overrides \"%s\", which a model request has not; it has %s", who, field,
	    "model, system_prompt, messages, tools, tool_choice, response_format and "
	    "model_settings");
	return false;
}

struct model_request *
model_request_new(struct model_run *run)
{
	struct model_request *request = arena_alloc(run->arena, sizeof *request);
	const struct value *profile = run->profile;

	request->run = run;
	set_model(request, NULL);
	request->system_prompt = value_get_text(profile, "system_prompt");
	set_messages(request, value_get(run->request, "messages"));
	set_tools(request, value_get(profile, "tools"));
	/* Of a call that a middleware makes by itself. */
	request->tool_choice = value_get(profile, "tool_choice");
	request->response_format = value_get(profile, "response_format");
	set_model_settings(request, value_get(profile, "model_settings"));
	return request;
}

struct model_request *
model_request_for(const struct model_request *request, const struct middleware_use *use)
{
	struct model_request *copy = arena_alloc(request->run->arena, sizeof *copy);

	*copy = *request;
	copy->use = use;
	return copy;
}

struct model_request *
model_override(
    struct model_request *request, const char *field, const struct value *value)
{
	struct model_request *copy = model_request_for(request, request->use);

	return set_field(copy, field, value) ? copy : request;
}

struct model_request *
model_request_wished(const struct model_request *request, const struct value *wish)
{
	struct model_request *wished = model_request_for(request, request->use);
	size_t i;

	wished->system_prompt = NULL;
	wished->messages = wished->tools = value_empty_array();
	wished->tool_choice = wished->response_format = NULL;
	/* The agent's settings are of the agent's model. */
	set_model_settings(
	    wished, value_has(wish, "model")
			? NULL
			: value_get(request->run->profile, "model_settings"));
	for (i = 0; i < value_size(wish); i++) {
		if (!set_field(wished, wish->pairs[i].key->text, wish->pairs[i].value))
			break;
	}
	return wished;
}

/* --- responses ---------------------------------------------------------------------- */

struct model_response *
model_response_failed(struct arena *arena, const struct fault *fault)
{
	struct model_response *response = arena_alloc(arena, sizeof *response);

	response->fault = fault;
	return response;
}

struct model_response *
model_answer(struct model_request *request, const struct value *message)
{
	struct arena *arena = request->run->arena;
	struct model_response *response = arena_alloc(arena, sizeof *response);

	if (value_is(message, VALUE_STR))
		message = chat_ai(arena, message->text);
	response->messages = value_array(arena, &message, 1);
	return response;
}

struct model_response *
model_fail(struct model_request *request, const struct fault *fault)
{
	return model_response_failed(request->run->arena, fault);
}

struct model_request *
model_refuse(struct model_request *request, const struct fault *fault)
{
	request->run->broken = fault;
	return NULL;
}
