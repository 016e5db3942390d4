/* summarization: the older part of a long conversation becomes a summary (semantics.md 6.10, 13.15).
 * Files: summarization_cut.c says where to cut, summarization_text.c what the model is given,
 * summarization_ask.c how it is asked. deepagents_summarization shares them. */
#include "summarization.h"

#include <string.h>

#include "context_size.h"
#include "token_count.h"

/* The last AI message that was there when a summary was made: what its provider reported is of the
 * history before, and would ask for the next summary at once. */
#define REPORTED_BEFORE "summarization_reported_before"

#define KEEP 20 /* messages */

#define PREFIX "Summary of the conversation so far:\n\n"

static const struct option options[] = {
	{ .name = "model",
	    .type = OPTION_MODEL,
	    .required = true,
	    .text = "Writes the summary." },
	{ .name = "trigger",
	    .type = OPTION_ANY,
	    .otherwise = "null",
	    .nullable = true,
	    .text = "When: a size, a map of sizes that must all be reached, or a list "
		    "of such, one of which is enough; null: never." },
	{ .name = "keep",
	    .type = OPTION_ANY,
	    .nullable = true,
	    .text = "How much of the end of the conversation stays as it is: a size; "
		    "without it `[messages, 20]`." },
	{ .name = "summary_prompt",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "What the model is told, with `{messages}` where the conversation "
		    "goes, instead of the built-in text." },
	{ .name = "trim_tokens_to_summarize",
	    .type = OPTION_INTEGER,
	    .otherwise = "4000",
	    .nullable = true,
	    .min = 1,
	    .max = 1e9,
	    .text = "The model is given about so many tokens of what goes, the last "
		    "ones; null: all of it." },
	{ .name = "summary_prefix",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "Stands in front of the summary, instead of the built-in words." },
	{ .name = "max_tokens_before_summary",
	    .type = OPTION_INTEGER,
	    .nullable = true,
	    .min = 1,
	    .max = 1e12,
	    .text = "Older name of `trigger: [tokens, n]`." },
	{ .name = "messages_to_keep",
	    .type = OPTION_INTEGER,
	    .nullable = true,
	    .min = 1,
	    .max = 1e9,
	    .text = "Older name of `keep: [messages, n]`." },
	{ 0 },
};

static const struct field fields[] = {
	{ .name = REPORTED_BEFORE,
	    .type = "string",
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ 0 },
};

/* --- settings ----------------------------------------------------------------------- */

/* Settings with the one of an older name in place of its newer one; NULL when both are given. */
static const struct value *
modern(struct arena *arena, const struct value *settings, const char *old,
    const char *name, const char *kind, const char **error_r)
{
	const struct value *value = value_get(settings, old);

	if (settings == NULL || value_is_nil(value))
		return settings;
	if (!value_is_nil(value_get(settings, name))) {
		*error_r = arena_printf(
		    arena, "/%s: is an older name of %s: give one of the two", old, name);
		return NULL;
	}
	settings =
	    value_map_with(arena, settings, name, value_map(arena, kind, value, NULL));
	return value_map_with(arena, settings, old, NULL);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *settings = use->settings;
	const char *prompt = value_get_text(settings, "summary_prompt");
	int64_t window;

	*error_r = prompt == NULL ? NULL : summarization_prompt_flaw(arena, prompt);
	if (*error_r != NULL)
		return -1;
	window = value_get_int(
	    use_model_profile(arena, use, value_get_text(settings, "model")),
	    "max_input_tokens", 0);
	settings = modern(
	    arena, settings, "max_tokens_before_summary", "trigger", "tokens", error_r);
	settings =
	    modern(arena, settings, "messages_to_keep", "keep", "messages", error_r);
	if (settings != NULL && value_is_nil(value_get(settings, "keep")))
		settings = value_map_with(arena, settings, "keep",
		    value_map(arena, "messages", value_int(arena, KEEP), NULL));
	if (settings != NULL)
		settings = summarization_size(
		    arena, settings, "trigger", context_trigger, window, error_r);
	if (settings != NULL)
		settings = summarization_size(
		    arena, settings, "keep", context_size, window, error_r);
	if (settings == NULL)
		return -1;
	use->settings = settings;
	return 0;
}

/* --- when --------------------------------------------------------------------------- */

static bool
is_due(struct turn *turn)
{
	const struct value *settings = turn_settings(turn),
			   *profile = turn_call_profile(turn);
	const struct token_request request = {
		.model = value_get_text(settings, "model"),
		.sender = value_get_text(profile, "model"),
		.system_prompt = value_get_text(profile, "system_prompt"),
		.tools = value_get(profile, "tools"),
		.messages = turn_messages(turn),
		.stale = value_text(turn_get(turn, REPORTED_BEFORE)),
	};

	return summarization_is_due(value_get(settings, "trigger"), &request);
}

/* --- the summary -------------------------------------------------------------------- */

static const struct value *
summary_message(struct turn *turn, const char *summary)
{
	struct arena *arena = turn_arena(turn);
	const char *prefix = value_get_text(turn_settings(turn), "summary_prefix");

	return value_map_with(arena,
	    chat_human(arena,
		arena_printf(arena, "%s%s", prefix != NULL ? prefix : PREFIX, summary)),
	    "additional_kwargs",
	    value_map(arena, "lc_source", value_str(arena, SUMMARY_SOURCE), NULL));
}

/* The thread becomes summary and what stands from position cut on. */
static const struct value *
replace(struct turn *turn, const char *summary, size_t cut)
{
	struct arena *arena = turn_arena(turn);
	const struct value *messages = turn_messages(turn), *reported = NULL;
	struct value_list list = { .arena = arena };
	long last = chat_last_ai(messages);

	if (last != -1 && (size_t)last >= cut)
		reported = value_get(value_at(messages, (size_t)last), "id");
	value_list_add(&list, value_map(arena, "type", value_str(arena, "remove"), "id",
				  value_str(arena, REMOVE_ALL), NULL));
	value_list_add(&list, summary_message(turn, summary));
	value_list_add_all(
	    &list, value_array_slice(arena, messages, cut, value_size(messages)));
	return value_map(arena, "messages", value_list_end(&list), REPORTED_BEFORE,
	    reported != NULL ? reported : value_nil(), NULL);
}

static const struct value *
before_model(struct turn *turn)
{
	const struct value *messages = turn_messages(turn), *settings, *old;
	const char *summary;
	size_t cut;

	if (!is_due(turn))
		return NULL;
	settings = turn_settings(turn);
	cut = summarization_cut(turn_arena(turn), messages, value_get(settings, "keep"),
	    token_chars(value_get_text(settings, "model")));
	if (cut == 0)
		return NULL;
	old = value_array_slice(turn_arena(turn), messages, 0, cut);
	summary = summarization_of_turn(turn, old);
	if (summary == NULL)
		return NULL;
	turn_note(turn, "summed up %zu of %zu messages", cut, value_size(messages));
	return replace(turn, summary, cut);
}

const struct middleware middleware_summarization = {
	.abi = MIDDLEWARE_ABI,
	.name = "summarization",
	.summary = "puts a summary in place of the older part of a long conversation",
	.options = options,
	.fields = fields,
	.configure = configure,
	.before_model = before_model,
};
