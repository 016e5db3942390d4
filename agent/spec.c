/* An agent's source checked key by key. The parts with rules of their own are in the
 * spec_*.c files. */
#include "spec.h"

#include <czmq.h>
#include <stdio.h>
#include <string.h>

#include "bodies.h"
#include "graph.h"
#include "bounds.h"
#include "loader.h"
#include "model_profile.h"
#include "pointer.h"
#include "schema.h"

#define PARTS_DEPTH_MAX 4u

/* --- one key each ------------------------------------------------------------------- */

static int
load_name(struct loader *loader, const char *path, const struct value *given)
{
	if (given == NULL && loader->name == NULL)
		return loader_fail(loader, "", "the agent needs a name");
	if (given == NULL)
		given = value_str(loader->arena, loader->name);
	else
		loader->spec->names_messages = true;
	loader->spec->name = value_text(given);
	return loader_check_name(loader, path, "the agent's name", given, ID_BYTES_MAX);
}

static int
load_description(struct loader *loader, const char *path, const struct value *given)
{
	if (given != NULL && !value_is(given, VALUE_STR))
		return loader_fail(
		    loader, path, "must be a string, not %s", value_article_name(given));
	loader->spec->description = value_text(given);
	return 0;
}

static int
load_model(struct loader *loader, const char *path, const struct value *given)
{
	size_t provider_max = SERVICE_BYTES_MAX - strlen(SERVICE_MODEL_PREFIX);
	const char *colon;
	size_t size;

	if (given == NULL)
		return loader_fail(
		    loader, path, "the agent needs a model, as in \"openai:gpt-4o\"");
	if (loader_check_name(loader, path, "the model", given, ID_BYTES_MAX) == -1)
		return -1;
	colon = strchr(given->text, ':');
	size = colon == NULL ? 0 : (size_t)(colon - given->text);
	if (size == 0 || colon[1] == '\0')
		return loader_fail(loader, path,
		    "the model \"%s\" must be provider:name, as in \"openai:gpt-4o\"",
		    given->text);
	if (size > provider_max)
		return loader_fail(loader, path,
		    "the provider's name is longer than %zu bytes", provider_max);
	loader->spec->model = given->text;
	loader->spec->provider = arena_copy(loader->arena, given->text, size);
	return 0;
}

static int
load_model_settings(struct loader *loader, const char *path, const struct value *given)
{
	loader->spec->model_settings = given == NULL ? value_empty_map() : given;
	if (given != NULL && !value_is(given, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be a map, as in {temperature: 0}, not %s",
		    value_article_name(given));
	return 0;
}

static int
load_model_profile(struct loader *loader, const char *path, const struct value *given)
{
	const char *flaw, *key;

	if (given == NULL)
		return 0;
	flaw = model_profile_flaw(loader->arena, given, &key);
	if (flaw != NULL)
		return loader_fail(loader,
		    *key == '\0' ? path : pointer_add(loader->arena, path, key), "%s",
		    flaw);
	loader->spec->model_profile = given;
	return 0;
}

static int
load_system_prompt(struct loader *loader, const char *path, const struct value *given)
{
	if (given != NULL && !value_is(given, VALUE_STR))
		return loader_fail(
		    loader, path, "must be a string, not %s", value_article_name(given));
	loader->spec->system_prompt = value_text(given);
	return 0;
}

static int
load_context(struct loader *loader, const char *path, const struct value *given)
{
	const char *reason;

	if (given == NULL)
		return 0;
	if (!value_is(given, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be the JSON Schema of the run's context, not %s",
		    value_article_name(given));
	if (schema_usable(loader->arena, given, &reason) == -1)
		return loader_fail(loader, path, "is no usable JSON Schema: %s", reason);
	loader->spec->context_schema = given;
	return 0;
}

static int
load_tool_errors(struct loader *loader, const char *path, const struct value *given)
{
	static const char *const names[] = { "message", "raise", NULL };

	if (given == NULL || value_text_is(given, "message"))
		return 0;
	loader->spec->raise_tool_errors = value_text_is(given, "raise");
	if (loader->spec->raise_tool_errors)
		return 0;
	if (!value_is(given, VALUE_STR))
		return loader_fail(loader, path,
		    "must be \"message\" or \"raise\", not %s",
		    value_article_name(given));
	return loader_fail(loader, path, "must be \"message\" or \"raise\", not \"%s\"%s",
	    given->text, loader_hint(loader->arena, given->text, names));
}

/* *count_r: given, at least 1; what it was where there is none. */
static int
load_count(
    struct loader *loader, const char *path, const struct value *given, int64_t *count_r)
{
	if (given == NULL)
		return 0;
	if (!value_is(given, VALUE_INT))
		return loader_fail(loader, path, "must be an integer, not %s",
		    value_article_name(given));
	if (given->integer < 1)
		return loader_fail(loader, path, "must be at least 1");
	*count_r = given->integer;
	return 0;
}

static int
load_recursion_limit(struct loader *loader, const char *path, const struct value *given)
{
	loader->spec->recursion_limit = RECURSION_LIMIT;
	return load_count(loader, path, given, &loader->spec->recursion_limit);
}

static int
load_max_concurrency(struct loader *loader, const char *path, const struct value *given)
{
	return load_count(loader, path, given, &loader->spec->max_concurrency);
}

/* Node names are checked when the graph is there. */
static const struct value *
load_interrupts(struct loader *loader, const char *path, const struct value *given)
{
	size_t i;

	if (given == NULL)
		return value_empty_array();
	if (value_is(given, VALUE_STR))
		given = value_array(loader->arena, &given, 1);
	if (!value_is(given, VALUE_ARRAY)) {
		loader_fail(loader, path, "must be a list of node names, not %s",
		    value_article_name(given));
		return NULL;
	}
	for (i = 0; i < given->size; i++) {
		if (value_is(given->items[i], VALUE_STR))
			continue;
		loader_fail(loader, loader_item(loader->arena, path, i),
		    "must be the name of a node, not %s",
		    value_article_name(given->items[i]));
		return NULL;
	}
	return given;
}

static int
load_interrupt_before(struct loader *loader, const char *path, const struct value *given)
{
	loader->spec->interrupt_before = load_interrupts(loader, path, given);
	return loader->spec->interrupt_before == NULL ? -1 : 0;
}

static int
load_interrupt_after(struct loader *loader, const char *path, const struct value *given)
{
	loader->spec->interrupt_after = load_interrupts(loader, path, given);
	return loader->spec->interrupt_after == NULL ? -1 : 0;
}

/* It is spelled out before (spec_deep.c); here it is a key that there is. */
static int
load_nothing(struct loader *loader, const char *path, const struct value *given)
{
	(void)loader, (void)path, (void)given;
	return 0;
}

/* In this order: `state` comes over the middleware's fields, output tools are compared
 * with the tools. */
static const struct {
	const char *name;
	int (*load)(struct loader *loader, const char *path, const struct value *given);
} parts[] = {
	{ "name", load_name },
	{ "description", load_description },
	{ "model", load_model },
	{ "model_settings", load_model_settings },
	{ "model_profile", load_model_profile },
	{ "system_prompt", load_system_prompt },
	{ "deep_agent", load_nothing },
	{ "middleware", load_middleware },
	{ "tools", load_tools },
	{ "state", load_state },
	{ "response_format", load_response_format },
	{ "context", load_context },
	{ "tool_errors", load_tool_errors },
	{ "recursion_limit", load_recursion_limit },
	{ "max_concurrency", load_max_concurrency },
	{ "interrupt_before", load_interrupt_before },
	{ "interrupt_after", load_interrupt_after },
	{ "cache", load_cache },
	{ "debug", load_debug },
	{ "script", load_script },
};
#define PARTS (sizeof parts / sizeof *parts)

/* --- the whole ---------------------------------------------------------------------- */

/* SHA-1 in lower-case hex. */
static const char *
version_of(struct arena *arena, const struct value *source)
{
	char text[2 * 20 + 1];
	zdigest_t *digest = zdigest_new();
	const unsigned char *bytes;
	size_t i;

	if (digest == NULL)
		arena_exhausted();
	zdigest_update(digest, source->packed, source->packed_size);
	bytes = zdigest_data(digest);
	for (i = 0; i < sizeof text / 2; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	zdigest_destroy(&digest);
	return arena_strdup(arena, text);
}

static int
load_parts(struct loader *loader, const struct value *source)
{
	const char *names[PARTS + 1] = { NULL };
	const struct value *given;
	size_t i;

	for (i = 0; i < PARTS; i++)
		names[i] = parts[i].name;
	if (loader_known_keys(loader, "", source, names, "an agent") == -1)
		return -1;
	for (i = 0; i < PARTS; i++) {
		given = value_get(source, parts[i].name);
		if (parts[i].load(loader, pointer_add(loader->arena, "", parts[i].name),
			value_is_nil(given) ? NULL : given) == -1)
			return -1;
	}
	return 0;
}

/* "*" stands for every node. */
static const struct value *
spell_out(struct arena *arena, const struct value *names, const struct graph *graph)
{
	struct value_list list = { .arena = arena };
	size_t i;

	if (!value_contains(names, "*"))
		return names;
	for (i = 0; i < graph->count; i++) {
		if (graph->nodes[i].kind != NODE_END)
			value_list_add(&list, value_str(arena, graph->nodes[i].name));
	}
	return value_list_end(&list);
}

/* Jumps and interrupts are checked by compiling the graph they are about. */
static int
check_graph(struct loader *loader)
{
	struct spec *spec = loader->spec;
	const char *path, *error;
	struct graph *graph = graph_compile(loader->arena, spec, &path, &error);

	if (graph == NULL)
		return loader_fail(loader, path, "%s", error);
	spec->interrupt_before = spell_out(loader->arena, spec->interrupt_before, graph);
	spec->interrupt_after = spell_out(loader->arena, spec->interrupt_after, graph);
	return 0;
}

static int
load(struct loader *loader, const struct value *source)
{
	struct spec *spec = loader->spec;

	if (!value_is(source, VALUE_MAP))
		return loader_fail(loader, "", "an agent is a map of keys, not %s",
		    value_article_name(source));
	/* The spec lives as long as its arena, whatever source lived in. */
	spec->source = value_freeze(loader->arena, value_copy(loader->arena, source));
	if (spec->source->packed_size > SPEC_BYTES_MAX)
		return loader_fail(
		    loader, "", "the spec is larger than %u bytes", SPEC_BYTES_MAX);
	/* Each has the script and the tools of the agent that it is part of. */
	if (loader->depth > 0)
		*loader->part_bytes += spec->source->packed_size;
	if (*loader->part_bytes > SPEC_PARTS_BYTES_MAX)
		return loader_fail(loader, "",
		    "the agents within one have more than %u bytes together, with what "
		    "they have from it",
		    SPEC_PARTS_BYTES_MAX);
	loader->source = load_deep_agent(loader, spec->source);
	if (loader->source == NULL || load_parts(loader, loader->source) == -1)
		return -1;
	spec->version = version_of(loader->arena, spec->source);
	return check_graph(loader);
}

static struct spec *
load_with(struct loader *loader, const struct value *source, const char **path_r,
    const char **error_r)
{
	loader->spec = arena_alloc(loader->arena, sizeof *loader->spec);
	if (load(loader, source) == 0)
		return loader->spec;
	*path_r = deep_agent_place(loader, loader->path);
	*error_r = loader->error;
	return NULL;
}

struct spec *
spec_load(struct arena *arena, const struct value *source, const char *name,
    const char **path_r, const char **error_r)
{
	size_t part_bytes = 0;
	struct loader loader = {
		.arena = arena, .name = name, .part_bytes = &part_bytes
	};

	return load_with(&loader, source, path_r, error_r);
}

struct spec *
loader_part(struct loader *loader, const struct value *source, const char *name,
    const char **path_r, const char **error_r)
{
	struct loader part = {
		.arena = loader->arena,
		.name = name,
		.depth = loader->depth + 1,
		.part_bytes = loader->part_bytes,
	};

	if (part.depth <= PARTS_DEPTH_MAX)
		return load_with(&part, source, path_r, error_r);
	*path_r = "";
	*error_r = arena_printf(loader->arena,
	    "is nested too deep: an agent within an agent, more than %u times",
	    PARTS_DEPTH_MAX);
	return NULL;
}
