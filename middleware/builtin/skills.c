/* skills: instructions that the model reads when it needs them, and of which it knows the names until
 * then (semantics.md 6.23). */
#include "skills.h"

#include <ctype.h>
#include <string.h>

#include "prompt.h"
#include "slot.h"

#define METADATA "skills_metadata"
#define ERRORS "skills_load_errors"
#define FILES_TOOL "skills_files"

#define SOURCES_MAX 64u

#define SYSTEM_PROMPT                                                                    \
	"## Skills\n\n"                                                                  \
	"You have skills: instructions, each for a kind of task, in files of their "     \
	"own. Below is only what each is for.\n\n"                                       \
	"Where they are:\n{skills_locations}{skills_load_warnings}\n\n"                  \
	"The skills:\n{skills_list}\n\n"                                                 \
	"- When a task is of the kind that a skill is for, read its file before you "    \
	"begin, with `read_file` and a `limit` of 1000, and do as it says.\n"            \
	"- Do not read skills that the task has no use for.\n"                           \
	"- A skill may name further files: scripts, examples, references. They are in "  \
	"its folder; use absolute paths.\n"                                              \
	"- When no skill fits, work without one."

static const struct option options[] = {
	{ .name = "sources",
	    .type = OPTION_LIST,
	    .required = true,
	    .text = "Paths of folders that have skills in them, each a folder with a "
		    "`SKILL.md`; or `[path, label]`. Of skills with one name the last "
		    "counts." },
	BACKEND_OPTION,
	{ .name = "system_prompt",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "What stands behind the agent's own prompt instead of the built-in "
		    "text; it has the slots `{skills_locations}`, `{skills_list}` and "
		    "`{skills_load_warnings}`. null: nothing does, and the skills are "
		    "read all the same." },
	{ 0 },
};

static const struct field fields[] = {
	{ .name = METADATA,
	    .type = "array",
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ .name = ERRORS,
	    .type = "array",
	    .omit_from_input = true,
	    .omit_from_output = true },
	BACKEND_FIELD,
	{ 0 },
};

static const struct tool files_tool = {
	.name = FILES_TOOL,
	.description = "",
	.internal = true,
	.run = backend_run_tool,
};
static const struct tool *const tools[] = { &files_tool, NULL };

static const char *const reads[] = { METADATA, ERRORS, NULL };

/* --- settings ---------------------------------------------------------------------------- */

static const char *
path_of(const struct value *source)
{
	return value_text(value_is(source, VALUE_ARRAY) ? value_at(source, 0) : source);
}

static const char *
flaw_of_source(struct arena *arena, const struct value *source)
{
	const char *path = path_of(source), *why;

	if (path == NULL ||
	    (value_is(source, VALUE_ARRAY) &&
		(source->size != 2 || value_text(source->items[1]) == NULL)))
		return "must be a path, or a path and a label";
	return backend_path(arena, path, &why) == NULL ? why : NULL;
}

static const char *
flaw_of_prompt(struct arena *arena, const char *prompt)
{
	static const char *const slots[] = { "{skills_locations}", "{skills_list}",
		"{skills_load_warnings}" };
	size_t i;

	for (i = 0; prompt != NULL && i < sizeof slots / sizeof *slots; i++)
		if (strstr(prompt, slots[i]) == NULL)
			return arena_printf(
			    arena, "/system_prompt: must have the slot %s", slots[i]);
	return NULL;
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *sources = value_get(use->settings, "sources");
	const char *flaw = NULL;
	size_t i;

	if (value_size(sources) > SOURCES_MAX)
		flaw = arena_printf(arena, "/sources: must be at most %u", SOURCES_MAX);
	for (i = 0; i < value_size(sources) && flaw == NULL; i++) {
		flaw = flaw_of_source(arena, value_at(sources, i));
		if (flaw != NULL)
			flaw = arena_printf(arena, "/sources/%zu: %s", i, flaw);
	}
	if (flaw == NULL)
		flaw =
		    flaw_of_prompt(arena, value_get_text(use->settings, "system_prompt"));
	if (flaw == NULL)
		return backend_configure(arena, use, false, error_r);
	*error_r = flaw;
	return -1;
}

/* --- loading ----------------------------------------------------------------------------- */

static const struct value *
before_agent(struct turn *turn)
{
	const struct value *sources = value_get(turn_settings(turn), "sources");
	struct value_list paths = { .arena = turn_arena(turn) };
	struct backend backend;
	struct skills skills;
	size_t i;

	if (!value_is_nil(turn_get(turn, METADATA)))
		return NULL;
	for (i = 0; i < value_size(sources); i++)
		value_list_add(
		    &paths, value_str(paths.arena, path_of(value_at(sources, i))));
	backend_of_turn(&backend, turn, FILES_TOOL);
	if (skills_load(turn, &backend, value_list_end(&paths), &skills) == -1)
		return NULL;
	return value_map(paths.arena, METADATA, skills.found, ERRORS,
	    value_size(skills.errors) > 0 ? skills.errors : value_nil(), NULL);
}

/* --- the prompt --------------------------------------------------------------------------- */

/* What goes into a prompt's slots. */
struct fill {
	struct arena *arena;
	struct model_request *request;
	const struct value *sources;
};

/* "User" for "/skills/user/". */
static const char *
label_of(struct arena *arena, const struct value *source)
{
	const char *path = path_of(source);
	size_t size = strlen(path), begin;
	char *label;

	if (value_is(source, VALUE_ARRAY))
		return value_text(value_at(source, 1));
	while (size > 0 && path[size - 1] == '/')
		size--;
	for (begin = size; begin > 0 && path[begin - 1] != '/';)
		begin--;
	if (begin == size)
		return "All";
	label = arena_copy(arena, path + begin, size - begin);
	label[0] = (char)toupper((unsigned char)label[0]);
	return label;
}

static const char *
locations(const struct fill *fill)
{
	const char *text = "";
	size_t i, count = value_size(fill->sources);

	for (i = 0; i < count; i++) {
		const struct value *source = value_at(fill->sources, i);

		text = arena_printf(fill->arena, "%s%s- %s: `%s`%s", text,
		    i == 0 ? "" : "\n", label_of(fill->arena, source), path_of(source),
		    i + 1 == count && count > 1 ? " (counts before the others)" : "");
	}
	return text;
}

/* "a, b" */
static const char *
joined(struct arena *arena, const struct value *texts)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i;

	for (i = 0; i < value_size(texts); i++) {
		text = value_text(value_at(texts, i));
		if (i > 0)
			packet_append(&packet, ", ", 2);
		packet_append(&packet, text, text != NULL ? strlen(text) : 0);
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return text;
}

static const char *
remarks(struct arena *arena, const struct value *skill)
{
	const char *license = value_get_text(skill, "license");
	const char *compatibility = value_get_text(skill, "compatibility");

	if (license == NULL && compatibility == NULL)
		return "";
	return arena_printf(arena, " (%s%s%s%s%s)", license != NULL ? "License: " : "",
	    license != NULL ? license : "",
	    license != NULL && compatibility != NULL ? ", " : "",
	    compatibility != NULL ? "Compatibility: " : "",
	    compatibility != NULL ? compatibility : "");
}

static void
add_skill(struct packet *packet, struct arena *arena, const struct value *skill)
{
	const struct value *allowed = value_get(skill, "allowed_tools");
	const char *line = arena_printf(arena, "%s- **%s**: %s%s%s%s\n  File: `%s`",
	    packet->size > 0 ? "\n" : "", value_get_text(skill, "name"),
	    value_get_text(skill, "description"), remarks(arena, skill),
	    value_size(allowed) > 0 ? "\n  Tools: " : "", joined(arena, allowed),
	    value_get_text(skill, "path"));

	packet_append(packet, line, strlen(line));
}

static const char *
list_of(const struct fill *fill)
{
	const struct value *skills = model_state(fill->request, METADATA);
	struct packet packet = { 0 };
	const char *text;
	size_t i;

	if (value_size(skills) == 0)
		return "(There are none yet.)";
	for (i = 0; i < value_size(skills); i++)
		add_skill(&packet, fill->arena, value_at(skills, i));
	text = arena_copy(fill->arena, packet.data, packet.size);
	packet_release(&packet);
	return text;
}

static const char *
warnings(const struct fill *fill)
{
	const struct value *errors = model_state(fill->request, ERRORS);
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(errors); i++)
		text = arena_printf(
		    fill->arena, "%s\n- %s", text, value_text(value_at(errors, i)));
	return *text == '\0' ? ""
			     : arena_printf(fill->arena,
				   "\n\n<skill_load_warnings>\nThese could not be "
				   "read:%s\n</skill_load_warnings>",
				   text);
}

/* Other slots are themselves. */
static const char *
fill_slot(void *arg, const char *name)
{
	const struct fill *fill = arg;

	if (strcmp(name, "skills_locations") == 0)
		return locations(fill);
	if (strcmp(name, "skills_list") == 0)
		return list_of(fill);
	return strcmp(name, "skills_load_warnings") == 0
		   ? warnings(fill)
		   : arena_printf(fill->arena, "{%s}", name);
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *settings = model_settings_of(request);
	const char *template = value_get_text(settings, "system_prompt");
	struct fill fill = { .arena = model_arena(request),
		.request = request,
		.sources = value_get(settings, "sources") };

	if (template == NULL && value_has(settings, "system_prompt"))
		return model_next(next, request);
	if (template == NULL)
		template = SYSTEM_PROMPT;
	return model_next(next, prompt_append(request, slot_fill(fill.arena, template, "",
							   fill_slot, &fill)));
}

const struct middleware middleware_skills = {
	.abi = MIDDLEWARE_ABI,
	.name = "skills",
	.summary = "tells the model of skills that it may read when it needs them",
	.options = options,
	.fields = fields,
	.tools = tools,
	.reads = reads,
	.configure = configure,
	.before_agent = before_agent,
	.wrap_model_call = wrap_model_call,
};
