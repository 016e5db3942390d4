/* context_editing: the model does not see old results of tools again (semantics.md 6.11). Only the
 * request is edited, never the thread. */
#include "context_editing.h"

#include <string.h>

#include "options.h"
#include "pointer.h"
#include "token_count.h"

static const char *const methods[] = { "approximate", "model", NULL };

static const struct option options[] = {
	{ .name = "edits",
	    .type = OPTION_LIST,
	    .otherwise = "[{}]",
	    .text = "What is edited, one after the other, each {type, trigger, "
		    "clear_at_least, keep, clear_tool_inputs, exclude_tools, "
		    "placeholder}." },
	{ .name = "token_count_method",
	    .type = OPTION_TEXT,
	    .otherwise = "\"approximate\"",
	    .choices = methods,
	    .text = "`approximate` counts the messages; `model` also the system prompt "
		    "and the tools, and corrects the count by what the provider has "
		    "reported." },
	{ 0 },
};

static const char *const types[] = { "clear_tool_uses", NULL };

const struct option context_edit_options[] = {
	{ .name = "type",
	    .type = OPTION_TEXT,
	    .otherwise = "\"clear_tool_uses\"",
	    .choices = types,
	    .text = "The only one there is." },
	{ .name = "trigger",
	    .type = OPTION_INTEGER,
	    .otherwise = "100000",
	    .min = 0,
	    .max = 1e12,
	    .text = "Nothing is cleared up to so many tokens." },
	{ .name = "clear_at_least",
	    .type = OPTION_INTEGER,
	    .otherwise = "0",
	    .min = 0,
	    .max = 1e12,
	    .text = "Clearing stops as soon as it has saved so many tokens; 0: all "
		    "that may be cleared is." },
	{ .name = "keep",
	    .type = OPTION_INTEGER,
	    .otherwise = "3",
	    .min = 0,
	    .max = 1e9,
	    .text = "So many of the last results stay." },
	{ .name = "clear_tool_inputs",
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "The arguments of the calls whose results are cleared go, too." },
	{ .name = "exclude_tools",
	    .type = OPTION_TEXTS,
	    .otherwise = "[]",
	    .text = "Tools whose results are never cleared." },
	{ .name = "placeholder",
	    .type = OPTION_TEXT,
	    .otherwise = "\"[cleared]\"",
	    .text = "What the model sees instead of the result." },
	{ 0 },
};

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *edits = value_get(use->settings, "edits");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(edits); i++) {
		const struct value *edit = value_at(edits, i);
		const char *path = "", *error = "";

		if (!value_is_nil(edit) && !value_is(edit, VALUE_MAP)) {
			*error_r = arena_printf(arena,
			    "/edits/%zu: must be a map of settings, not %s", i,
			    value_article_name(edit));
			return -1;
		}
		edit = options_check(
		    arena, "clear_tool_uses", context_edit_options, edit, &path, &error);
		if (edit == NULL) {
			*error_r =
			    arena_printf(arena, "/edits/%zu%s: %s", i, path, error);
			return -1;
		}
		value_list_add(&list, edit);
	}
	use->settings =
	    value_map_with(arena, use->settings, "edits", value_list_end(&list));
	return 0;
}

/* --- one edit ----------------------------------------------------------------------- */

/* The messages of a request under an edit: items are replaced in place. */
struct editing {
	struct arena *arena;
	const struct value *edit; /* its settings */
	const struct value **messages;
	size_t count;
	double chars;      /* of a token */
	double correction; /* of the count */
	int64_t tokens, saved;
	size_t cleared;
};

/* The position of the call id among calls, or -1. */
static long
find_call(const struct value *calls, const struct value *id)
{
	long i;

	for (i = (long)value_size(calls) - 1; i >= 0; i--)
		if (value_equal(value_get(value_at(calls, (size_t)i), "id"), id))
			break;
	return i;
}

/* Returns message with entry in its response_metadata.context_editing. */
static const struct value *
marked(struct arena *arena, const struct value *message, const struct value *entry)
{
	const struct value *metadata = value_get(message, "response_metadata");

	return value_map_with(arena, message, "response_metadata",
	    value_map_with(arena, metadata, "context_editing", entry));
}

static void
replace(struct editing *editing, size_t at, const struct value *message)
{
	int64_t before = token_count_message(editing->messages[at], editing->chars);
	int64_t after = token_count_message(message, editing->chars);

	editing->messages[at] = message;
	editing->saved += (int64_t)((double)(before - after) * editing->correction);
}

static void
clear_result(struct editing *editing, size_t at)
{
	struct arena *arena = editing->arena;
	const struct value *message = editing->messages[at];

	message = value_map_with(
	    arena, message, "content", value_get(editing->edit, "placeholder"));
	message = value_map_with(arena, message, "artifact", NULL);
	replace(editing, at,
	    marked(arena, message,
		value_map(arena, "cleared", value_bool(true), "strategy",
		    value_str(arena, "clear_tool_uses"), NULL)));
	editing->cleared++;
}

static void
clear_input(struct editing *editing, size_t at, size_t call)
{
	struct arena *arena = editing->arena;
	const struct value *message = editing->messages[at];
	const struct value *calls = value_get(message, "tool_calls"), *entry, *ids;
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(calls); i++)
		value_list_add(&list, i != call
					  ? value_at(calls, i)
					  : value_map_with(arena, value_at(calls, i),
						"args", value_empty_map()));
	entry = value_get(value_get(message, "response_metadata"), "context_editing");
	ids = value_get(entry, "cleared_tool_inputs");
	entry = value_map_with(arena, entry, "cleared_tool_inputs",
	    value_array_add(arena, ids != NULL ? ids : value_empty_array(),
		value_get(value_at(calls, call), "id")));
	message = value_map_with(arena, message, "tool_calls", value_list_end(&list));
	replace(editing, at, marked(arena, message, entry));
}

static bool
is_cleared(const struct value *message)
{
	return value_get_bool(
	    value_get(value_get(message, "response_metadata"), "context_editing"),
	    "cleared", false);
}

/* Clears the result at position at, if it may be: ai is the AI message before it. */
static void
consider(struct editing *editing, size_t ai, size_t at)
{
	const struct value *message = editing->messages[at], *name;
	const struct value *calls = value_get(editing->messages[ai], "tool_calls");
	long call = find_call(calls, value_get(message, "tool_call_id"));

	if (call == -1 || is_cleared(message))
		return;
	name = value_get(message, "name");
	if (!value_truthy(name))
		name = value_get(value_at(calls, (size_t)call), "name");
	if (value_is(name, VALUE_STR) &&
	    value_contains(value_get(editing->edit, "exclude_tools"), name->text))
		return;
	clear_result(editing, at);
	if (value_get_bool(editing->edit, "clear_tool_inputs", false))
		clear_input(editing, ai, (size_t)call);
}

static size_t
count_results(const struct editing *editing)
{
	size_t count = 0, i;

	for (i = 0; i < editing->count; i++)
		count += chat_is(editing->messages[i], "tool");
	return count;
}

static void
run_edit(struct editing *editing)
{
	int64_t keep = value_get_int(editing->edit, "keep", 0);
	int64_t enough = value_get_int(editing->edit, "clear_at_least", 0);
	size_t results, i, ai = SIZE_MAX;

	editing->saved = 0;
	if (editing->tokens <= value_get_int(editing->edit, "trigger", 0))
		return;
	results = count_results(editing);
	results = (uint64_t)keep < results ? results - (size_t)keep : 0;
	for (i = 0; i < editing->count && results > 0; i++) {
		if (chat_is(editing->messages[i], "ai"))
			ai = i;
		if (!chat_is(editing->messages[i], "tool"))
			continue;
		results--;
		if (ai != SIZE_MAX)
			consider(editing, ai, i);
		if (enough > 0 && editing->saved >= enough)
			break;
	}
	editing->tokens -= editing->saved;
}

/* --- the hook ----------------------------------------------------------------------- */

/* Counts, and how much the count is to be corrected by. */
static void
count(struct editing *editing, struct model_request *request)
{
	const struct token_request all = { .model = model_name(request),
		.system_prompt = model_system_prompt(request),
		.tools = model_tools(request),
		.messages = model_messages(request) };
	int64_t plain;

	editing->chars = token_chars(all.model);
	editing->tokens = plain = token_count_messages(all.messages, editing->chars);
	editing->correction = 1;
	if (!value_text_is(
		value_get(model_settings_of(request), "token_count_method"), "model"))
		return;
	plain += token_count_head(all.system_prompt, all.tools, editing->chars);
	editing->tokens = token_count_request(&all);
	if (plain > 0)
		editing->correction = (double)editing->tokens / (double)plain;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *edits = value_get(model_settings_of(request), "edits");
	const struct value *messages = model_messages(request);
	struct editing editing = { .arena = model_arena(request),
		.count = value_size(messages) };
	int64_t before;
	size_t i;

	count(&editing, request);
	before = editing.tokens;
	editing.messages =
	    arena_alloc(editing.arena, editing.count * sizeof *editing.messages);
	for (i = 0; i < editing.count; i++)
		editing.messages[i] = value_at(messages, i);
	for (i = 0; i < value_size(edits); i++) {
		editing.edit = value_at(edits, i);
		run_edit(&editing);
	}
	if (editing.cleared == 0)
		return model_next(next, request);
	model_note(request, "cleared %zu result%s of tools: about %lld tokens of %lld",
	    editing.cleared, editing.cleared == 1 ? "" : "s",
	    (long long)(before - editing.tokens), (long long)before);
	return model_next(
	    next, model_override(request, "messages",
		      value_array(editing.arena, editing.messages, editing.count)));
}

const struct middleware middleware_context_editing = {
	.abi = MIDDLEWARE_ABI,
	.name = "context_editing",
	.summary = "leaves old results of tools out of long requests",
	.options = options,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};
