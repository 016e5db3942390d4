#include "bedrock_request.h"

#include <string.h>

#include "anthropic_blocks.h"
#include "anthropic_cache.h"
#include "anthropic_request.h"
#include "bedrock_blocks.h"
#include "bedrock_messages.h"
#include "bedrock_tools.h"
#include "json.h"
#include "request_settings.h"

/* --- settings ------------------------------------------------------------------------ */

/* LangChain's names, and those of others for the same. */
static const struct setting_name names[] = {
	{ "max_tokens", "maxTokens" },
	{ "max_tokens_to_sample", "maxTokens" },
	{ "max_completion_tokens", "maxTokens" },
	{ "top_p", "topP" },
	{ "stop", "stopSequences" },
	{ "stop_sequences", "stopSequences" },
	{ "guardrail_config", "guardrailConfig" },
	{ "performance_config", "performanceConfig" },
	{ "service_tier", "serviceTier" },
	{ "request_metadata", "requestMetadata" },
	{ "prompt_variables", "promptVariables" },
	{ "additional_model_request_fields", "additionalModelRequestFields" },
	{ "additional_model_response_field_paths", "additionalModelResponseFieldPaths" },
	/* how LangChain's client is made */
	{ "region_name", NULL },
	{ "provider", NULL },
	{ "base_model", NULL },
	{ "credentials_profile_name", NULL },
	/* not the API's */
	{ "parallel_tool_calls", NULL },
	{ "system", NULL },
	{ NULL, NULL },
};

static const char *const inference[] = { "maxTokens", "temperature", "topP",
	"stopSequences", NULL };
static const char *const own[] = { "inferenceConfig", "guardrailConfig",
	"performanceConfig", "serviceTier", "requestMetadata", "promptVariables",
	"additionalModelResponseFieldPaths", "outputConfig", NULL };

static bool
is_in(const char *const *list, const char *name)
{
	for (; *list != NULL; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* In the form that the API wants. */
static const struct value *
formed(struct arena *arena, const char *name, const struct value *value)
{
	if (!value_is(value, VALUE_STR))
		return value;
	if (strcmp(name, "stopSequences") == 0)
		return value_array(arena, &value, 1);
	if (strcmp(name, "serviceTier") == 0)
		return value_map(arena, "type", value, NULL);
	return value;
}

struct settings {
	const struct value *own, *inference, *further;
};

static struct settings
settings_of(const struct ask *ask)
{
	static const char further_key[] = "additionalModelRequestFields";
	struct arena *arena = ask->arena;
	struct value_fields all = { .arena = arena }, own_fields = { .arena = arena },
			    inferred = { .arena = arena }, further = { .arena = arena };
	const struct value *said;

	request_settings_add(&all, ask->settings, names);
	said = value_fields_end(&all);
	for (size_t i = 0; i < value_size(said); i++) {
		const char *name = value_text(said->pairs[i].key);
		const struct value *value = formed(arena, name, said->pairs[i].value);

		if (is_in(inference, name))
			value_fields_set(&inferred, name, value);
		else if (is_in(own, name))
			value_fields_set(&own_fields, name, value);
		else if (strcmp(name, further_key) != 0)
			value_fields_set(&further, name, value);
	}
	value_fields_put_all(&further, value_get(said, further_key));
	return (struct settings){ .own = value_fields_end(&own_fields),
		.inference = value_fields_end(&inferred),
		.further = value_fields_end(&further) };
}

static bool
thinks(const struct settings *settings)
{
	const struct value *type =
	    value_get(value_get(settings->further, "thinking"), "type");

	return value_text_is(type, "enabled") || value_text_is(type, "adaptive");
}

/* --- structured output --------------------------------------------------------------- */

/* Of an agent's strategies one is the provider's to do. */
static const struct value *
output_config(const struct ask *ask, const struct value *given)
{
	struct arena *arena = ask->arena;
	const struct value *format = ask->response_format;
	const struct value *schema = value_at(value_get(format, "schemas"), 0);
	const char *text;

	if (!value_text_is(value_get(format, "strategy"), "provider") || schema == NULL)
		return given;
	text = json_text(arena, anthropic_schema(arena, schema));
	return value_map_with(arena, given, "textFormat",
	    value_map(arena, "type", VALUE_TEXT("json_schema"), "structure",
		value_map(arena, "jsonSchema",
		    value_map(arena, "schema", value_str(arena, text), "name",
			value_get(schema, "title"), NULL),
		    NULL),
		NULL));
}

/* --- the whole ----------------------------------------------------------------------- */

/* Tools, system prompt and messages, in Anthropic's words, with the marks of what is to be cached. NULL with a reason. */
static const struct value *
marked(const struct ask *ask, const char **error_r)
{
	struct arena *arena = ask->arena;
	const struct value *mark = value_get(ask->settings, "cache_control"),
			   *system_mark =
			       value_get(ask->settings, "system_cache_control"),
			   *tools = bedrock_tools(ask), *turns, *blocks;
	struct value_list system = { .arena = arena };

	if (ask->system_prompt != NULL)
		anthropic_add_content(&system, value_str(arena, ask->system_prompt));
	turns = bedrock_messages(ask, &system, error_r);
	if (turns == NULL)
		return NULL;
	if (tools == NULL)
		turns = bedrock_told(arena, turns);
	if (!value_is_nil(mark))
		turns = anthropic_cached_messages(arena, turns, mark);
	blocks = value_list_end(&system);
	if (!value_is_nil(system_mark))
		blocks = anthropic_cached_blocks(arena, blocks, system_mark);
	return anthropic_few_marks(arena,
	    value_map(arena, "system", blocks, "messages", turns, "tools", tools, NULL));
}

static const struct value *
messages_of(struct bedrock_words *words, const struct value *turns)
{
	struct value_list list = { .arena = words->arena };

	for (size_t i = 0; i < value_size(turns); i++) {
		const struct value *turn = value_at(turns, i);

		value_list_add(
		    &list, value_map_with(words->arena, turn, "content",
			       bedrock_blocks(words, value_get(turn, "content"))));
	}
	return value_list_end(&list);
}

static const struct value *
tool_config(
    const struct ask *ask, const struct value *tools, const struct settings *settings)
{
	struct arena *arena = ask->arena;
	struct value_list list = { .arena = arena };

	if (tools == NULL)
		return NULL;
	for (size_t i = 0; i < value_size(tools); i++) {
		const struct value *tool = value_at(tools, i);

		bedrock_add_marked(&list,
		    value_has(tool, "cache_control")
			? value_map_with(arena, tool, "cache_control", NULL)
			: tool,
		    value_get(tool, "cache_control"));
	}
	return value_map(arena, "tools", value_list_end(&list), "toolChoice",
	    bedrock_tool_choice(ask, thinks(settings)), NULL);
}

static const struct value *
unless_empty(const struct value *value)
{
	return value_size(value) > 0 ? value : NULL;
}

const struct value *
bedrock_request(const struct ask *ask, bool stream, const char **error_r)
{
	struct arena *arena = ask->arena;
	struct bedrock_words words = { .arena = arena };
	struct value_fields fields = { .arena = arena };
	struct settings settings = settings_of(ask);
	const struct value *parts = marked(ask, error_r), *given;

	(void)stream;
	if (parts == NULL)
		return NULL;
	value_fields_set(&fields, "system",
	    unless_empty(bedrock_blocks(&words, value_get(parts, "system"))));
	value_fields_set(
	    &fields, "messages", messages_of(&words, value_get(parts, "messages")));
	*error_r = words.error;
	if (words.error != NULL)
		return NULL;
	value_fields_set(&fields, "toolConfig",
	    tool_config(ask, value_get(parts, "tools"), &settings));
	value_fields_put_all(&fields, settings.own);
	given = value_get(settings.own, "inferenceConfig");
	value_fields_set(&fields, "inferenceConfig",
	    unless_empty(value_map_merge(arena, given, settings.inference)));
	value_fields_set(&fields, "outputConfig",
	    output_config(ask, value_get(settings.own, "outputConfig")));
	value_fields_set(
	    &fields, "additionalModelRequestFields", unless_empty(settings.further));
	return value_fields_end(&fields);
}
