/* dynamic_prompt: a system prompt with places for what the run knows. The template's language is that
 * of tools' commands (slot.h), with dots to reach into a value. */
#include "middleware.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "nearest.h"
#include "options.h"
#include "slot.h"

#define DOTS "."

static const char *const ways[] = { "error", "empty", NULL };

static const struct option options[] = {
	{ .name = "template",
	    .type = OPTION_TEXT,
	    .required = true,
	    .text = "The system prompt, with `{context.name}`, `{state.field}` and the "
		    "like where values go." },
	{ .name = "defaults",
	    .type = OPTION_MAP,
	    .otherwise = "{}",
	    .text = "What stands for a value that is missing, by its name in the "
		    "template." },
	{ .name = "missing",
	    .type = OPTION_TEXT,
	    .otherwise = "\"error\"",
	    .choices = ways,
	    .text = "A value that is missing and has no default: `error` fails the model "
		    "call, `empty` leaves its place empty." },
	{ 0 },
};

/* --- names -------------------------------------------------------------------------- */

#define CONTEXT "context"
#define STATE "state"

/* What needs no path. */
static const char *const plain[] = { "system_prompt", "model", "agent", "thread", "run",
	CONTEXT, STATE };
#define PLAIN (sizeof plain / sizeof *plain)

/* The first size_r bytes of name are its root; returns what is behind the dot, or NULL. */
static const char *
split(const char *name, size_t *size_r)
{
	*size_r = strcspn(name, DOTS);
	return name[*size_r] == '\0' ? NULL : name + *size_r + 1;
}

static bool
is(const char *name, size_t size, const char *text)
{
	return strlen(text) == size && strncmp(name, text, size) == 0;
}

static const char *
unknown_flaw(struct arena *arena, const char *name, size_t size)
{
	const char *near = nearest_name(arena_copy(arena, name, size), plain, PLAIN);

	return arena_printf(arena,
	    "there is no {%s}: a name is context.<key>, state.<field>, system_prompt, "
	    "model, agent, thread or run%s%s%s; write {{%s}} for literal braces",
	    name, near != NULL ? "; did you mean " : "", near != NULL ? near : "",
	    near != NULL ? "?" : "", name);
}

/* What is wrong with a slot's name, or NULL. */
static const char *
name_flaw(struct arena *arena, const char *name)
{
	size_t size, i;
	const char *path = split(name, &size);

	for (i = 0; i < PLAIN && !is(name, size, plain[i]); i++)
		;
	if (i == PLAIN ||
	    (path != NULL && !is(name, size, CONTEXT) && !is(name, size, STATE)))
		return unknown_flaw(arena, name, size);
	if (path != NULL &&
	    (path[0] == '\0' || path[0] == '.' || path[strlen(path) - 1] == '.' ||
		strstr(path, "..") != NULL))
		return arena_printf(arena, "{%s} has a part without a name", name);
	if (!is(name, size, STATE))
		return NULL;
	if (path == NULL)
		return "{state} needs a field, as in {state.plan}";
	split(path, &size);
	return is(path, size, "messages")
		   ? "{state.messages} is the conversation itself, which the model has "
		     "anyway"
		   : NULL;
}

/* --- settings ----------------------------------------------------------------------- */

/* Adds the field of a name that begins with state. */
static void
add_field(struct value_fields *reads, const char *name)
{
	size_t size;
	const char *path = split(name, &size);

	if (!is(name, size, STATE))
		return;
	split(path, &size);
	value_fields_set(reads, arena_copy(reads->arena, path, size), value_nil());
}

static const struct value *
keys_of(struct arena *arena, const struct value *map)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(map); i++)
		value_list_add(&list, map->pairs[i].key);
	return value_list_end(&list);
}

/* A default for nothing is a mistake in its name. */
static int
check_defaults(struct arena *arena, const struct value *defaults,
    const struct value *names, const char **error_r)
{
	size_t i;

	for (i = 0; i < value_size(defaults); i++) {
		const char *name = defaults->pairs[i].key->text;

		if (value_has(names, name))
			continue;
		*error_r = arena_printf(
		    arena, "/defaults/%s: the template has no {%s}", name, name);
		return -1;
	}
	return 0;
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *text = value_get_text(use->settings, "template");
	struct value_fields names = { .arena = arena }, reads = { .arena = arena };
	struct slot slot;

	for (; slot_find(text, DOTS, &slot); text = slot.end) {
		const char *name = arena_copy(arena, slot.name, slot.name_size);
		const char *flaw = slot.is_literal ? NULL : name_flaw(arena, name);

		if (flaw != NULL) {
			*error_r = arena_printf(arena, "/template: %s", flaw);
			return -1;
		}
		if (slot.is_literal)
			continue;
		value_fields_set(&names, name, value_nil());
		add_field(&reads, name);
	}
	use->reads = keys_of(arena, value_fields_end(&reads));
	return check_defaults(arena, value_get(use->settings, "defaults"),
	    value_fields_end(&names), error_r);
}

/* --- values ------------------------------------------------------------------------- */

/* One prompt in the making. */
struct filling {
	struct model_request *request;
	const char *missing; /* the first that has no value, or NULL */
};

/* Follows path into value: keys of maps, positions of lists. */
static const struct value *
follow(struct arena *arena, const struct value *value, const char *path)
{
	size_t size;

	while (path != NULL && value != NULL) {
		const char *next = split(path, &size), *key;

		key = arena_copy(arena, path, size);
		if (value_is(value, VALUE_ARRAY))
			value = isdigit((unsigned char)key[0])
				    ? value_at(value, strtoul(key, NULL, 10))
				    : NULL;
		else
			value = value_get(value, key);
		path = next;
	}
	return value;
}

static const struct value *
find(struct model_request *request, const char *name)
{
	struct arena *arena = model_arena(request);
	const char *prompt = model_system_prompt(request), *path, *rest;
	size_t size, field_size;

	path = split(name, &size);
	if (is(name, size, CONTEXT))
		return follow(arena, model_context(request), path);
	if (is(name, size, STATE)) {
		rest = split(path, &field_size);
		return follow(arena,
		    model_state(request, arena_copy(arena, path, field_size)), rest);
	}
	if (is(name, size, "system_prompt"))
		return value_str(arena, prompt != NULL ? prompt : "");
	if (is(name, size, "model"))
		return value_str(arena, model_name(request));
	if (is(name, size, "agent"))
		return value_str(arena, model_agent(request));
	return value_str(
	    arena, is(name, size, "thread") ? model_thread(request) : model_run(request));
}

static const char *
give(void *arg, const char *name)
{
	struct filling *filling = arg;
	struct arena *arena = model_arena(filling->request);
	const struct value *settings = model_settings_of(filling->request);
	const struct value *value = find(filling->request, name);

	if (value_is_nil(value))
		value = value_get(value_get(settings, "defaults"), name);
	if (!value_is_nil(value))
		return value_is(value, VALUE_STR) ? value->text : json_text(arena, value);
	if (value_text_is(value_get(settings, "missing"), "empty"))
		return "";
	filling->missing = name;
	return NULL;
}

static struct model_response *
refuse(struct model_request *request, const char *name)
{
	struct fault *fault = fault_new(model_arena(request), "KeyError",
	    "%s: {%s} has no value: the run needs one, or the middleware a default for "
	    "it "
	    "(defaults) or missing: empty",
	    model_middleware(request), name);

	fault->retryable = false;
	fault->fatal = true; /* asking again gives it none */
	return model_fail(request, fault);
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct filling filling = { .request = request };
	struct arena *arena = model_arena(request);
	const char *prompt = slot_fill(arena,
	    value_get_text(model_settings_of(request), "template"), DOTS, give, &filling);

	if (prompt == NULL)
		return refuse(request, filling.missing);
	return model_next(
	    next, model_override(request, "system_prompt", value_str(arena, prompt)));
}

const struct middleware middleware_dynamic_prompt = {
	.abi = MIDDLEWARE_ABI,
	.name = "dynamic_prompt",
	.summary = "makes the system prompt from a template, with what the run knows",
	.options = options,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};
