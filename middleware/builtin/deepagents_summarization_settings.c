/* deepagents_summarization_settings: what may be set, and what is when it is not. */
#include "deepagents_summarization.h"

#include <string.h>

#include "context_size.h"
#include "options.h"

#define PREFIX "/conversation_history"

/* Of the model's window, when that is known ... */
#define TRIGGER_FRACTION 0.85
#define KEEP_FRACTION 0.10
/* ... and when it is not. */
#define TRIGGER_TOKENS 170000
#define KEEP_MESSAGES 6
#define ARGS_MESSAGES 20 /* trigger and keep */

const struct option deep_options[] = {
	{ .name = "model",
	    .type = OPTION_MODEL,
	    .nullable = true,
	    .text = "Writes the summary; without it the agent's." },
	BACKEND_OPTION,
	{ .name = "trigger",
	    .type = OPTION_ANY,
	    .nullable = true,
	    .text = "When: a size, a map of sizes that must all be reached, or a list "
		    "of such, one of which is enough; null: only when the provider says "
		    "that a request is too long. Without it `[fraction, 0.85]`, or "
		    "`[tokens, 170000]` for a model whose `max_input_tokens` is not "
		    "known." },
	{ .name = "keep",
	    .type = OPTION_ANY,
	    .nullable = true,
	    .text = "How much of the end of the conversation is shown as it is: a size; "
		    "without it `[fraction, 0.1]`, or `[messages, 6]`." },
	{ .name = "summary_prompt",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "What the model is told, with `{messages}` where the conversation "
		    "goes, instead of the built-in text." },
	{ .name = "trim_tokens_to_summarize",
	    .type = OPTION_INTEGER,
	    .otherwise = "null",
	    .nullable = true,
	    .min = 1,
	    .max = 1e9,
	    .text = "The model is given about so many tokens of what is summed up, the "
		    "last ones; null: all of it." },
	{ .name = "truncate_args_settings",
	    .type = OPTION_MAP,
	    .nullable = true,
	    .text = "How long arguments of old calls of `write_file` and `edit_file` are "
		    "cut: {trigger, keep, max_length, truncation_text}; null: not at "
		    "all." },
	{ .name = "history_path_prefix",
	    .type = OPTION_TEXT,
	    .otherwise = "\"" PREFIX "\"",
	    .text = "The folder that what is summed up is saved in." },
	{ .name = DEEP_TOOL,
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "Gives the model the tool `" DEEP_TOOL "`, to have it summed up when "
		    "it sees fit." },
	{ 0 },
};

const struct option deep_args_options[] = {
	{ .name = "trigger",
	    .type = OPTION_ANY,
	    .nullable = true,
	    .text = "When, as above; null: never. Without it `[fraction, 0.85]`, or "
		    "`[messages, 20]`." },
	{ .name = "keep",
	    .type = OPTION_ANY,
	    .nullable = true,
	    .text = "Calls in so much of the end stay whole; without it `[fraction, "
		    "0.1]`, or `[messages, 20]`." },
	{ .name = "max_length",
	    .type = OPTION_INTEGER,
	    .otherwise = "2000",
	    .min = 1,
	    .max = 1e9,
	    .text = "Longer ones are cut, in characters; the first 20 stay." },
	{ .name = "truncation_text",
	    .type = OPTION_TEXT,
	    .otherwise = "\"...(argument truncated)\"",
	    .text = "Stands behind these." },
	{ 0 },
};

/* Returns settings with the default in place of a size that is not given. */
static const struct value *
with_size(struct arena *arena, const struct value *settings, const char *name,
    bool is_nil_given, int64_t window, double fraction, const struct value *otherwise)
{
	const struct value *given = value_get(settings, name);

	if (given != NULL && (is_nil_given || !value_is_nil(given)))
		return settings;
	return value_map_with(arena, settings, name,
	    window > 0 ? value_map(arena, "fraction", value_float(arena, fraction), NULL)
		       : otherwise);
}

static const struct value *
messages_size(struct arena *arena, int64_t count)
{
	return value_map(arena, "messages", value_int(arena, count), NULL);
}

/* trigger and keep of settings in their one form, or NULL. */
static const struct value *
sized(struct arena *arena, const struct value *settings, int64_t window,
    const char **error_r)
{
	settings = summarization_size(
	    arena, settings, "trigger", context_trigger, window, error_r);
	return settings == NULL ? NULL
				: summarization_size(arena, settings, "keep",
				      context_size, window, error_r);
}

/* The same of truncate_args_settings. */
static const struct value *
args_settings(
    struct arena *arena, const struct value *given, int64_t window, const char **error_r)
{
	const struct value *otherwise = messages_size(arena, ARGS_MESSAGES), *settings;
	const char *path = "", *error = "";

	settings = options_check(
	    arena, "truncate_args_settings", deep_args_options, given, &path, &error);
	if (settings == NULL) {
		*error_r =
		    arena_printf(arena, "/truncate_args_settings%s: %s", path, error);
		return NULL;
	}
	settings = with_size(
	    arena, settings, "trigger", true, window, TRIGGER_FRACTION, otherwise);
	settings =
	    with_size(arena, settings, "keep", false, window, KEEP_FRACTION, otherwise);
	settings = sized(arena, settings, window, &error);
	if (settings == NULL)
		*error_r = arena_printf(arena, "/truncate_args_settings%s", error);
	return settings;
}

static const char *
path_flaw(struct arena *arena, const char *prefix)
{
	const char *error = "";

	if (prefix[0] == '/' && prefix[1] != '\0' &&
	    backend_path(arena, prefix, &error) != NULL)
		return NULL;
	return arena_printf(arena,
	    "/history_path_prefix: must be the path of a folder, as in " PREFIX "%s%s",
	    error[0] == '\0' ? "" : ": ", error);
}

static int
configure_sizes(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	int64_t window =
	    value_get_int(use_model_profile(arena, use, NULL), "max_input_tokens", 0);
	const struct value *settings = use->settings, *args;

	settings = with_size(arena, settings, "trigger", true, window, TRIGGER_FRACTION,
	    value_map(arena, "tokens", value_int(arena, TRIGGER_TOKENS), NULL));
	settings = with_size(arena, settings, "keep", false, window, KEEP_FRACTION,
	    messages_size(arena, KEEP_MESSAGES));
	settings = sized(arena, settings, window, error_r);
	if (settings == NULL)
		return -1;
	args = value_get(settings, "truncate_args_settings");
	if (args == NULL || !value_is_nil(args)) {
		args = args_settings(arena, args, window, error_r);
		if (args == NULL)
			return -1;
		settings =
		    value_map_with(arena, settings, "truncate_args_settings", args);
	}
	use->settings = settings;
	return 0;
}

int
deep_configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *prompt = value_get_text(use->settings, "summary_prompt");

	*error_r = prompt == NULL ? NULL : summarization_prompt_flaw(arena, prompt);
	if (*error_r == NULL)
		*error_r = path_flaw(
		    arena, value_get_text(use->settings, "history_path_prefix"));
	if (*error_r != NULL)
		return -1;
	if (!value_get_bool(use->settings, DEEP_TOOL, false))
		use->tools = value_empty_array();
	if (configure_sizes(arena, use, error_r) == -1)
		return -1;
	return backend_configure(arena, use, false, error_r);
}
