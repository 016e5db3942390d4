#include "assistant_body.h"

#include <string.h>

#include "json.h"
#include "shape.h"

/* --- context ------------------------------------------------------------------------------ */

/* What the client says of itself and of LangGraph's ways is nothing for a context. */
static bool
is_ours(const char *name)
{
	static const char *const theirs[] = { "thread_id", "run_id", "assistant_id",
		"graph_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map",
		"user-agent" };
	size_t i;

	for (i = 0; i < sizeof theirs / sizeof *theirs; i++)
		if (strcmp(theirs[i], name) == 0)
			return false;
	return strncmp(name, "__", 2) != 0 && strncmp(name, "langgraph_", 10) != 0;
}

const struct value *
assistant_body_context(struct arena *arena, const struct value *configurable)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(configurable); i++)
		if (is_ours(value_text(configurable->pairs[i].key)))
			value_fields_put(&fields, configurable->pairs[i].key,
			    configurable->pairs[i].value);
	return value_fields_end(&fields);
}

const char *
assistant_body_counts(struct arena *arena, const struct value *config)
{
	const char *const *name;
	const struct value *count;

	for (name = assistant_counts; *name != NULL; name++) {
		count = value_get(config, *name);
		if (!value_is_nil(count) &&
		    (!value_is(count, VALUE_INT) || count->integer < 1))
			return arena_printf(
			    arena, "config.%s: must be an integer, at least 1", *name);
	}
	return NULL;
}

/* --- reading ------------------------------------------------------------------------------ */

static const struct value *
given(const struct value *body, const char *name)
{
	const struct value *value = value_get(body, name);

	return value_is_nil(value) ? NULL : value;
}

/* A text of the body, or what *text_p is. Returns what is wrong with it, or NULL. */
static const char *
take_text(struct arena *arena, const struct value *body, const char *name, size_t most,
    const char **text_p)
{
	const struct value *value = given(body, name);

	if (value == NULL)
		return NULL;
	if (!value_is(value, VALUE_STR))
		return arena_printf(arena, "%s: must be a text", name);
	if (value_size(value) > most)
		return arena_printf(arena, "%s: longer than %zu bytes", name, most);
	*text_p = value_text(value);
	return NULL;
}

static const char *
take_map(struct arena *arena, const struct value *body, const char *name,
    const struct value **map_r)
{
	*map_r = given(body, name);
	return *map_r == NULL || value_is(*map_r, VALUE_MAP)
		   ? NULL
		   : arena_printf(arena, "%s: must be a map", name);
}

static const char *
read_graph(struct arena *arena, const struct value *body, struct assistant *assistant)
{
	const char *wrong =
	    take_text(arena, body, "graph_id", ID_BYTES_MAX, &assistant->agent);

	if (wrong != NULL || assistant->agent == NULL || *assistant->agent == '\0')
		return given(body, "graph_id") == NULL
			   ? "graph_id: is missing; it is the name of an agent"
			   : "graph_id: must be the name of an agent";
	return NULL;
}

/* A context, or `configurable`, as contexts were given before: each is shown as the other, too, and kept once. */
static const char *
read_context(struct arena *arena, const struct value *body, struct assistant *assistant)
{
	const struct value *config, *context, *configurable;
	const char *wrong = take_map(arena, body, "config", &config);

	if (wrong == NULL)
		wrong = take_map(arena, body, "context", &context);
	configurable = given(config, "configurable");
	if (wrong == NULL && configurable != NULL && !value_is(configurable, VALUE_MAP))
		wrong = "config.configurable: must be a map";
	if (wrong == NULL)
		wrong = assistant_body_counts(arena, config);
	if (wrong == NULL && value_size(configurable) > 0 && value_size(context) > 0)
		wrong = "config.configurable and context: are the same, give one";
	if (wrong != NULL)
		return wrong;
	if (config != NULL)
		assistant->config = value_map_with(arena, config, "configurable", NULL);
	if (context != NULL && value_size(configurable) == 0)
		assistant->context = context;
	else if (configurable != NULL)
		assistant->context = assistant_body_context(arena, configurable);
	return NULL;
}

/* Over what there is; null takes a name out. */
static const char *
read_metadata(struct arena *arena, const struct value *body, struct assistant *assistant)
{
	const struct value *map;
	const char *wrong = take_map(arena, body, "metadata", &map);
	struct value_fields kept = { .arena = arena };
	size_t i, size;

	if (wrong != NULL)
		return wrong;
	map = value_map_merge(arena, assistant->metadata, map);
	for (i = 0; i < value_size(map); i++)
		if (!value_is_nil(map->pairs[i].value))
			value_fields_put(&kept, map->pairs[i].key, map->pairs[i].value);
	assistant->metadata = value_fields_end(&kept);
	size = strlen(json_text(arena, assistant->metadata));
	return size <= METADATA_BYTES_MAX
		   ? NULL
		   : arena_printf(arena, "metadata: %zu bytes, over the limit of %u",
			 size, METADATA_BYTES_MAX);
}

const char *
assistant_body_read(
    struct arena *arena, const struct value *body, struct assistant *assistant)
{
	const char *wrong;
	size_t size;

	if (assistant->name == NULL) { /* a new one */
		assistant->name = "Untitled";
		assistant->config = assistant->context = assistant->metadata =
		    value_empty_map();
	}
	wrong = read_graph(arena, body, assistant);
	if (wrong == NULL)
		wrong = take_text(
		    arena, body, "name", ASSISTANT_NAME_BYTES_MAX, &assistant->name);
	if (wrong == NULL)
		wrong = take_text(arena, body, "description", ASSISTANT_BYTES_MAX,
		    &assistant->description);
	if (wrong == NULL)
		wrong = read_context(arena, body, assistant);
	if (wrong == NULL)
		wrong = read_metadata(arena, body, assistant);
	if (wrong != NULL)
		return wrong;
	size = assistant_size(arena, assistant);
	return size <= ASSISTANT_BYTES_MAX
		   ? NULL
		   : arena_printf(arena,
			 "the assistant has %zu bytes, over the limit of %u", size,
			 ASSISTANT_BYTES_MAX);
}

/* --- showing ------------------------------------------------------------------------------ */

const struct value *
assistant_body_shape(struct arena *arena, const struct assistant *assistant)
{
	const struct value *configurable =
	    value_size(assistant->context) > 0 ? assistant->context : NULL;

	return value_map(arena, "assistant_id", value_str(arena, assistant->id),
	    "graph_id", value_str(arena, assistant->agent), "name",
	    value_str(arena, assistant->name), "description",
	    value_str(arena, assistant->description), "version",
	    value_int(arena, (int64_t)assistant->version), "created_at",
	    shape_time(arena, assistant->created_ms), "updated_at",
	    shape_time(arena, assistant->updated_ms), "config",
	    value_map_with(arena, assistant->config, "configurable", configurable),
	    "context", assistant->context, "metadata", assistant->metadata, NULL);
}
