/* `script`: what the scripted provider answers (worker-model/provider_scripted.c says how it
 * plays it); model name -> replies and faults, in order. */
#include <string.h>

#include "bounds.h"
#include "loader.h"
#include "pointer.h"

static const char *const reply_keys[] = { "content", "tool_calls", "usage", "http_error",
	"message", "retry_after", "drop", "timeout", "error", "error_type", "structured",
	"delay_ms", NULL };
static const char *const call_keys[] = { "id", "name", "args", NULL };

/* What a key of a reply or call may hold; types that are not listed are fine. */
static const struct {
	const char *key;
	enum value_type types[2];
	const char *text;
} shapes[] = {
	{ "content", { VALUE_STR, VALUE_ARRAY }, "a string or content blocks" },
	{ "tool_calls", { VALUE_ARRAY, VALUE_ARRAY }, "a list of calls" },
	{ "usage", { VALUE_MAP, VALUE_MAP }, "a map" },
	{ "http_error", { VALUE_INT, VALUE_INT }, "an HTTP status" },
	{ "message", { VALUE_STR, VALUE_STR }, "a string" },
	{ "drop", { VALUE_BOOL, VALUE_BOOL }, "true or false" },
	{ "timeout", { VALUE_BOOL, VALUE_BOOL }, "true or false" },
	{ "error", { VALUE_STR, VALUE_STR }, "a string" },
	{ "error_type", { VALUE_STR, VALUE_STR }, "a string" },
	{ "delay_ms", { VALUE_INT, VALUE_INT }, "an integer" },
	{ "id", { VALUE_STR, VALUE_STR }, "a string" },
	{ "name", { VALUE_STR, VALUE_STR }, "a string" },
	{ "args", { VALUE_MAP, VALUE_STR }, "a map, or a string that is sent as it is" },
};

static int
check_shapes(struct loader *loader, const char *path, const struct value *map)
{
	size_t i;

	for (i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct value *given = value_get(map, shapes[i].key);

		if (value_is_nil(given) || value_is(given, shapes[i].types[0]) ||
		    value_is(given, shapes[i].types[1]))
			continue;
		return loader_fail(loader,
		    pointer_add(loader->arena, path, shapes[i].key), "must be %s, not %s",
		    shapes[i].text, value_article_name(given));
	}
	return 0;
}

static int
check_call(struct loader *loader, const char *path, const struct value *call)
{
	if (!value_is(call, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be a call {id, name, args}, not %s", value_article_name(call));
	if (loader_known_keys(loader, path, call, call_keys, "a call") == -1 ||
	    check_shapes(loader, path, call) == -1)
		return -1;
	if (!value_has(call, "name"))
		return loader_fail(loader, path, "the call needs the name of a tool");
	return 0;
}

static int
check_reply(struct loader *loader, const char *path, const struct value *reply)
{
	const struct value *calls = value_get(reply, "tool_calls");
	const char *within = pointer_add(loader->arena, path, "tool_calls");
	size_t i;

	if (!value_is(reply, VALUE_MAP))
		return loader_fail(loader, path, "must be a reply {content, ...}, not %s",
		    value_article_name(reply));
	if (loader_known_keys(loader, path, reply, reply_keys, "a reply") == -1 ||
	    check_shapes(loader, path, reply) == -1)
		return -1;
	if (value_size(calls) > TOOL_CALLS_MAX)
		return loader_fail(loader, within, "more than %u calls", TOOL_CALLS_MAX);
	for (i = 0; i < value_size(calls); i++) {
		if (check_call(loader, loader_item(loader->arena, within, i),
			calls->items[i]) == -1)
			return -1;
	}
	return 0;
}

static int
check_replies(struct loader *loader, const char *path, const struct value *replies)
{
	size_t i;

	if (!value_is(replies, VALUE_ARRAY))
		return loader_fail(loader, path, "must be a list of replies, not %s",
		    value_article_name(replies));
	for (i = 0; i < replies->size; i++) {
		if (check_reply(loader, loader_item(loader->arena, path, i),
			replies->items[i]) == -1)
			return -1;
	}
	return 0;
}

/* Without replies the model could only fail, in every run. */
static int
check_model(struct loader *loader, const char *path, const char *model,
    const struct value *script)
{
	static const char prefix[] = "scripted:";

	if (strncmp(model, prefix, sizeof prefix - 1) != 0 ||
	    value_has(script, model + sizeof prefix - 1))
		return 0;
	return loader_fail(loader, path,
	    "'%s' is a scripted model, and script has no replies of '%s'", model,
	    model + sizeof prefix - 1);
}

static int
check_models(struct loader *loader, const struct value *script)
{
	const struct spec *spec = loader->spec;
	size_t i, j;

	for (i = 0; i < spec->use_count; i++) {
		const struct value *models = spec->uses[i]->asks_models;

		for (j = 0; j < value_size(models); j++)
			if (check_model(loader,
				loader_item(loader->arena, "/middleware", i),
				value_text(value_at(models, j)), script) == -1)
				return -1;
	}
	return check_model(loader, "/model", spec->model, script);
}

int
load_script(struct loader *loader, const char *path, const struct value *given)
{
	size_t i;

	if (given == NULL)
		return check_models(loader, NULL);
	if (!value_is(given, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be a map of model names to their replies, not %s",
		    value_article_name(given));
	for (i = 0; i < given->size; i++) {
		if (check_replies(loader,
			pointer_add(loader->arena, path, given->pairs[i].key->text),
			given->pairs[i].value) == -1)
			return -1;
	}
	loader->spec->script = given;
	return check_models(loader, given);
}
