#include "request_settings.h"

#include <string.h>

static const char *const never_sent[] = {
	/* ours: how the request is made, not what it says */
	"timeout",
	"request_timeout",
	"max_retries",
	"streaming",
	"stream_usage",
	"base_url",
	"api_key",
	"use_responses_api",
	"use_previous_response_id",
	"output_version",
	/* the request's own */
	"model",
	"messages",
	"tools",
	"tool_choice",
	"stream",
	"n",
	/* Anthropic's, which it does not send as such: middleware that asks for them may run before
	 * another model */
	"betas",
	"cache_control",
	"system_cache_control",
	"disable_parallel_tool_use",
	/* maps of further settings */
	"model_kwargs",
	"extra_body",
};

/* Returns the name a setting is sent under, or NULL. */
static const char *
sent_as(const struct setting_name *names, const char *name)
{
	for (; names->name != NULL; names++)
		if (strcmp(names->name, name) == 0)
			return names->sent_as;
	for (size_t i = 0; i < sizeof never_sent / sizeof *never_sent; i++)
		if (strcmp(never_sent[i], name) == 0)
			return NULL;
	return name;
}

static void
add_all(struct value_fields *fields, const struct value *settings,
    const struct setting_name *names)
{
	for (size_t i = 0; value_is(settings, VALUE_MAP) && i < settings->size; i++) {
		const struct value *value = settings->pairs[i].value;
		const char *name = sent_as(names, value_text(settings->pairs[i].key));

		if (name != NULL && !value_is_nil(value))
			value_fields_set(fields, name, value);
	}
}

void
request_settings_add(struct value_fields *fields, const struct value *settings,
    const struct setting_name *names)
{
	add_all(fields, settings, names);
	add_all(fields, value_get(settings, "model_kwargs"), names);
	add_all(fields, value_get(settings, "extra_body"), names);
}
