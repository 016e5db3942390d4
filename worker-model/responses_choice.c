#include "responses_choice.h"

#include <fnmatch.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The first are LangChain's; the chat completions refuse the rest of them as well (404). */
static const char *const models[] = {
	"*codex*",
	"*gpt-5.6*",
	"*gpt-5-pro*",
	"*gpt-5.[0-9]-pro*",
	"*o[13]-pro*",
	"*deep-research*",
	"*computer-use-preview*",
};

static const char *const settings[] = {
	"context_management",
	"conversation",
	"include",
	"max_tool_calls",
	"previous_response_id",
	"prompt",
	"reasoning",
	"text",
	"truncation",
};

static bool
is_model(const char *name)
{
	for (size_t i = 0; i < COUNT(models); i++)
		if (fnmatch(models[i], name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

static bool
has_setting(const struct value *given)
{
	for (size_t i = 0; i < COUNT(settings); i++)
		if (!value_is_nil(value_get(given, settings[i])))
			return true;
	return false;
}

static bool
has_own_tool(const struct value *tools)
{
	for (size_t i = 0; i < value_size(tools); i++) {
		const struct value *type = value_get(value_at(tools, i), "type");

		if (value_is(type, VALUE_STR) && !value_text_is(type, "function"))
			return true;
	}
	return false;
}

static bool
fits(const struct ask *ask)
{
	const struct value *version = value_get(ask->settings, "output_version");

	return value_text_is(version, "responses/v1") ||
	       value_get_bool(ask->settings, "use_previous_response_id", false) ||
	       has_setting(ask->settings) ||
	       has_setting(value_get(ask->settings, "model_kwargs")) ||
	       has_own_tool(ask->tools) || is_model(ask->model);
}

bool
responses_chosen(const struct endpoint *endpoint, const struct ask *ask)
{
	const struct value *said = value_get(ask->settings, "use_responses_api");

	if (value_is(said, VALUE_BOOL))
		return said->boolean;
	return endpoint->responses == RESPONSES_ALWAYS ||
	       (endpoint->responses == RESPONSES_AS_FITS && fits(ask));
}
