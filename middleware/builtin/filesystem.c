/* filesystem: files that an agent lists, reads, writes and searches, and where what is too large for its
 * context goes (semantics.md 6.19).
 *
 * The tools run in a tool worker, on a backend (backend.h). What a tool answers is saved as a file when it is too
 * long (wrap_tool_call), so is a user's message (before_agent): that one stays whole in the state, with a tag, and
 * each model call is shown the short form of it (wrap_model_call). */
#include "filesystem.h"

#include <math.h>
#include <string.h>

#include "nearest.h"

static const char *const tool_names[] = { "ls", "read_file", "write_file", "edit_file",
	"delete", "glob", "grep", "execute" };
#define TOOL_NAMES (sizeof tool_names / sizeof *tool_names)

#define SPARE_SECONDS 30

static const struct option options[] = {
	BACKEND_OPTION,
	{ .name = "system_prompt",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "Stands behind the agent's own prompt: what to use the files for." },
	{ .name = "custom_tool_descriptions",
	    .type = OPTION_MAP,
	    .nullable = true,
	    .text = "What the model is told of a tool, by its name, instead of the "
		    "built-in text." },
	{ .name = "tool_token_limit_before_evict",
	    .type = OPTION_INTEGER,
	    .otherwise = "20000",
	    .max = 1000000,
	    .nullable = true,
	    .text = "A longer answer of a tool, at four characters a token, is saved as "
		    "a file; null or 0: none is." },
	{ .name = "human_message_token_limit_before_evict",
	    .type = OPTION_INTEGER,
	    .otherwise = "50000",
	    .max = 1000000,
	    .nullable = true,
	    .text = "The same for a user's message that a run begins with." },
	{ .name = "max_execute_timeout",
	    .type = OPTION_INTEGER,
	    .otherwise = "3600",
	    .min = 1,
	    .max = 86400,
	    .text = "The longest `timeout` that the model may give a command, in "
		    "seconds." },
	{ .name = "grep_max_count",
	    .type = OPTION_INTEGER,
	    .otherwise = "1000",
	    .min = 1,
	    .max = 10000,
	    .nullable = true,
	    .text = "How many matches `grep` answers unless it is told; null: 10,000." },
	{ .name = "tools",
	    .type = OPTION_TEXTS,
	    .otherwise = "[\"all\"]",
	    .nullable = true,
	    .text = "Which tools there are; `read_file` must be one of them." },
	{ .name = "permissions",
	    .type = OPTION_LIST,
	    .otherwise = "[]",
	    .text = "Rules, the first that fits counts: which paths may be read and "
		    "written, and where a human is asked." },
	{ 0 },
};

static const struct field fields[] = { BACKEND_FIELD, { 0 } };

/* --- settings --------------------------------------------------------------------------- */

static bool
is_tool(const char *name)
{
	size_t i;

	for (i = 0; name != NULL && i < TOOL_NAMES; i++)
		if (strcmp(tool_names[i], name) == 0)
			return true;
	return false;
}

static const char *
flaw_of_tool(struct arena *arena, const char *place, const char *name)
{
	const char *near =
	    name == NULL ? NULL : nearest_name(name, tool_names, TOOL_NAMES);

	return arena_printf(arena, "%s: is no tool of this middleware%s", place,
	    near == NULL ? "" : arena_printf(arena, "; did you mean %s?", near));
}

static bool
has_all(const struct value *tools)
{
	return value_is_nil(tools) || value_contains(tools, "all");
}

static const char *
flaw_of_tools(struct arena *arena, const struct value *tools)
{
	size_t i;

	if (has_all(tools))
		return NULL;
	for (i = 0; i < value_size(tools); i++) {
		const char *name = value_text(tools->items[i]);

		if (!is_tool(name))
			return flaw_of_tool(
			    arena, arena_printf(arena, "/tools/%zu", i), name);
	}
	if (!value_contains(tools, "read_file"))
		return "/tools: must have read_file: what is too long for the context is "
		       "read with it";
	return NULL;
}

static const char *
flaw_of_descriptions(struct arena *arena, const struct value *descriptions)
{
	size_t i;

	for (i = 0; i < value_size(descriptions); i++) {
		const struct value_pair *pair = &descriptions->pairs[i];
		const char *place =
		    arena_printf(arena, "/custom_tool_descriptions/%s", pair->key->text);

		if (!is_tool(pair->key->text))
			return flaw_of_tool(arena, place, pair->key->text);
		if (!value_is(pair->value, VALUE_STR))
			return arena_printf(arena, "%s: must be a text", place);
	}
	return NULL;
}

/* A call lasts as long as its command may, the model's choice or not, and a little. */
static const struct value *
with_timeout(struct arena *arena, const struct value *tool, const struct value *settings)
{
	double most = value_get_number(settings, "max_execute_timeout", 3600);
	double usual = backend_execute_seconds(value_get(settings, "backend"));
	int64_t seconds = (int64_t)ceil(usual > most ? usual : most);

	return value_map_with(arena, tool, "timeout_ms",
	    value_int(arena, (seconds + SPARE_SECONDS) * 1000));
}

/* The definitions of those tools that are wanted and that the backend can. */
static const struct value *
tools_of(struct arena *arena, const struct middleware_use *use)
{
	const struct value *wanted = value_get(use->settings, "tools"), *text;
	const struct value *texts = value_get(use->settings, "custom_tool_descriptions");
	bool executes = backend_executes(value_get(use->settings, "backend"));
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(use->tools); i++) {
		const struct value *tool = use->tools->items[i];
		const char *name = value_get_text(tool, "name");

		if ((!has_all(wanted) && !value_contains(wanted, name)) ||
		    (!executes && strcmp(name, "execute") == 0))
			continue;
		if (strcmp(name, "execute") == 0)
			tool = with_timeout(arena, tool, use->settings);
		text = value_get(texts, name);
		if (text != NULL)
			tool = value_map_with(arena, tool, "description", text);
		value_list_add(&list, tool);
	}
	return value_list_end(&list);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *settings = use->settings;
	const char *flaw;

	if (backend_configure(arena, use, BACKEND_READ_BY_TOOLS, error_r) == -1)
		return -1;
	flaw = flaw_of_tools(arena, value_get(settings, "tools"));
	if (flaw == NULL)
		flaw = flaw_of_descriptions(
		    arena, value_get(settings, "custom_tool_descriptions"));
	if (flaw == NULL)
		flaw = filesystem_rules_flaw(arena, settings);
	if (flaw != NULL) {
		*error_r = flaw;
		return -1;
	}
	use->tools = tools_of(arena, use);
	use->hooks[HOOK_BEFORE_AGENT] =
	    value_get_int(settings, "human_message_token_limit_before_evict", 0) > 0;
	use->hooks[HOOK_WRAP_TOOL_CALL] =
	    value_get_int(settings, "tool_token_limit_before_evict", 0) > 0;
	return 0;
}

/* --- a model call ----------------------------------------------------------------------- */

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const struct value *text = value_get(model_settings_of(request), "system_prompt");
	const char *prompt = model_system_prompt(request);
	const struct value *messages = model_messages(request);
	const struct value *shown =
	    filesystem_shown(arena, model_settings_of(request), messages);

	if (value_size(text) > 0)
		request = model_override(request, "system_prompt",
		    prompt == NULL || prompt[0] == '\0'
			? text
			: value_printf(arena, "%s\n\n%s", prompt, text->text));
	shown = filesystem_media_taken(arena, model_model_profile(request, NULL), shown);
	if (model_dialect(request) != NULL &&
	    strcmp(model_dialect(request), "openai") == 0)
		shown = filesystem_media_moved(arena, shown);
	if (shown != messages)
		request = model_override(request, "messages", shown);
	return model_next(next, request);
}

const struct middleware middleware_filesystem = {
	.abi = MIDDLEWARE_ABI,
	.name = "filesystem",
	.summary = "gives the model files to list, read, write and search",
	.options = options,
	.fields = fields,
	.tools = filesystem_tools,
	.configure = configure,
	.before_agent = filesystem_before_agent,
	.wrap_model_call = wrap_model_call,
	.wrap_tool_call = filesystem_wrap_tool_call,
};
