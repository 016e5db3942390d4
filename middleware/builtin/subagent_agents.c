/* The agents of a subagent use: each is an agent of its own, complete, made of what is said of it, of the
 * defaults, and of the agent that it belongs to. */
#include "subagent.h"

#include <string.h>

#include "bounds.h"

#define GENERAL "general-purpose"
#define ASKING "human_in_the_loop" /* what interrupt_on stands for */

#define GENERAL_DESCRIPTION                                                              \
	"For any task of several steps that needs no specialist: it has the same tools " \
	"as you, and works on its own."

#define GENERAL_PROMPT                                                                   \
	"You work on one task that another agent has handed to you. Nobody can be "      \
	"asked: use your tools, and finish the task as well as you can. Your last "      \
	"message is all that the other agent gets: say in it what you found or did."

/* Keys of a subagent's map that are no agent's. */
static bool
is_ours(const char *key)
{
	return strcmp(key, "interrupt_on") == 0 || strcmp(key, "agent") == 0 ||
	       strcmp(key, "middleware") == 0 || strcmp(key, "mode") == 0;
}

bool
subagent_is_fork(const struct value *given)
{
	return value_text_is(value_get(given, "mode"), "fork");
}

static void
set_default(struct value_fields *source, const struct value *given, const char *key,
    const struct value *otherwise)
{
	if (value_is_nil(value_get(given, key)) && !value_is_nil(otherwise))
		value_fields_set(source, key, otherwise);
}

static bool
is_use_of(const struct value *entry, const char *name)
{
	return value_text_is(entry, name) || value_has(entry, name);
}

/* The place of the last one of that name in list, or -1. */
static long
place_of(const struct value *list, const char *name)
{
	long i = (long)value_size(list) - 1;

	while (i >= 0 && !is_use_of(value_at(list, (size_t)i), name))
		i--;
	return i;
}

/* list with a `task` that is as its parent's, and refuses: in the place of its own, or behind its files, or all
 * else. */
static const struct value *
with_refusal(const struct subagent_making *making, const struct value *list)
{
	struct arena *arena = making->arena;
	struct value_list more = { .arena = arena };
	long files = place_of(list, "filesystem"), own = place_of(list, "subagent");
	size_t i, last = value_size(list),
		  place = own >= 0     ? (size_t)own
			  : files >= 0 ? (size_t)files + 1
				       : last;

	for (i = 0; i <= last; i++) {
		if (i == place)
			value_list_add(
			    &more, value_map(arena, "subagent",
				       value_map(arena, "delegates", value_bool(false),
					   "task_description", making->told, NULL),
				       NULL));
		if (i < last && (own < 0 || i != place))
			value_list_add(&more, value_at(list, i));
	}
	return value_list_end(&more);
}

/* Which of the settings gives it what it has first. is_general: it is ours. */
static const char *
first_key(const struct subagent_making *making, bool is_general)
{
	const struct value *own =
	    value_get(making->use->settings, "general_purpose_middleware");

	return is_general && !value_is_nil(own) ? "general_purpose_middleware"
						: "default_middleware";
}

static const struct value *
middleware_of(
    const struct subagent_making *making, const struct value *given, bool is_general)
{
	struct arena *arena = making->arena;
	const struct value *settings = making->use->settings;
	const struct value *own = value_get(given, "middleware");
	const struct value *interrupt_on = value_get(given, "interrupt_on");
	struct value_list list = { .arena = arena };

	value_list_add_all(&list, value_get(settings, first_key(making, is_general)));
	if (!value_is_nil(own))
		value_list_add_all(&list, own);
	if (value_is_nil(interrupt_on))
		interrupt_on = value_get(settings, "default_interrupt_on");
	if (value_size(interrupt_on) > 0)
		value_list_add(&list,
		    value_map(arena, ASKING,
			value_map(arena, "interrupt_on", interrupt_on, NULL), NULL));
	return subagent_is_fork(given) ? with_refusal(making, value_list_end(&list))
				       : value_list_end(&list);
}

/* A fork has the prompt of the conversation, and its own behind that. */
static const struct value *
prompt_of(struct arena *arena, const struct value *above, const struct value *given)
{
	const struct value *prompt = value_get(given, "system_prompt");
	const char *first = value_get_text(above, "system_prompt");
	const char *own = value_text(prompt);

	if (value_is_nil(prompt) || (own != NULL && *own == '\0'))
		return value_get(above, "system_prompt");
	/* What is no text is refused where agents are read. */
	return own == NULL || first == NULL || *first == '\0'
		   ? prompt
		   : value_printf(arena, "%s\n\n%s", first, own);
}

/* The agent's source, complete: of given, the defaults, and the agent that it belongs to. */
static const struct value *
source_of(
    const struct subagent_making *making, const struct value *given, bool is_general)
{
	const struct middleware_use *use = making->use;
	const struct value *above = use->agent_source, *model, *tools;
	struct value_fields source = { .arena = making->arena };
	size_t i;

	for (i = 0; i < value_size(given); i++)
		if (!is_ours(value_text(given->pairs[i].key)))
			value_fields_set(&source, value_text(given->pairs[i].key),
			    given->pairs[i].value);
	model = value_get(use->settings, "default_model");
	if (value_is_nil(model))
		model = value_get(above, "model");
	if (value_is_nil(value_get(given, "model")) &&
	    value_equal(model, value_get(above, "model")))
		set_default(
		    &source, given, "model_profile", value_get(above, "model_profile"));
	set_default(&source, given, "model", model);
	tools = value_get(use->settings, "default_tools");
	if (value_is_nil(tools))
		tools = value_get(above, "tools");
	set_default(&source, given, "tools", tools);
	set_default(&source, given, "script", value_get(above, "script"));
	set_default(
	    &source, given, "recursion_limit", value_get(above, "recursion_limit"));
	set_default(
	    &source, given, "max_concurrency", value_get(above, "max_concurrency"));
	if (subagent_is_fork(given) &&
	    !value_is_nil(prompt_of(making->arena, above, given)))
		value_fields_set(
		    &source, "system_prompt", prompt_of(making->arena, above, given));
	value_fields_set(&source, "middleware", middleware_of(making, given, is_general));
	return value_fields_end(&source);
}

/* Where item, one of source's middleware, was given: it is an item of a list as that has it, or stands for
 * interrupt_on; what we add ourselves stands where the agent does. */
static const char *
place_of_item(const struct subagent_making *making, const struct value *given,
    const char *place, const struct value *item)
{
	const char *key = first_key(making, *place == '\0');
	const struct value *first = value_get(making->use->settings, key);
	const struct value *own = value_get(given, "middleware");
	size_t i;

	for (i = 0; i < value_size(own); i++)
		if (value_at(own, i) == item)
			return arena_printf(making->arena, "%s/middleware/%zu", place, i);
	for (i = 0; i < value_size(first); i++)
		if (value_at(first, i) == item)
			return arena_printf(making->arena, "/%s/%zu", key, i);
	if (!value_has(item, ASKING))
		return place;
	return value_is_nil(value_get(given, "interrupt_on"))
		   ? "/default_interrupt_on"
		   : arena_printf(making->arena, "%s/interrupt_on", place);
}

/* Where what source has beside what given says was given. */
static const struct value *
places_of(const struct subagent_making *making, const struct value *given,
    const char *place, const struct value *source)
{
	struct arena *arena = making->arena;
	const struct value *middleware = value_get(source, "middleware");
	struct value_list list = { .arena = arena };
	struct value_fields places = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(middleware); i++)
		value_list_add(&list, value_str(arena, place_of_item(making, given, place,
							   value_at(middleware, i))));
	value_fields_set(&places, "middleware", value_list_end(&list));
	if (value_is_nil(value_get(given, "model")))
		value_fields_set(&places, "model", value_str(arena, "/default_model"));
	if (value_is_nil(value_get(given, "tools")))
		value_fields_set(&places, "tools", value_str(arena, "/default_tools"));
	return value_fields_end(&places);
}

static const struct value *
general(struct arena *arena)
{
	return value_map(arena, "name", value_str(arena, GENERAL), "description",
	    value_str(arena, GENERAL_DESCRIPTION), "system_prompt",
	    value_str(arena, GENERAL_PROMPT), NULL);
}

/* Why mode and what hangs on it are none, or NULL; *key_r: which key it is. */
static const char *
flaw_of_mode(const struct value *given, const char **key_r)
{
	if (!value_is_nil(value_get(given, "mode")) && !subagent_is_fork(given) &&
	    !value_text_is(value_get(given, "mode"), "isolated")) {
		*key_r = "/mode";
		return "must be \"isolated\" or \"fork\"";
	}
	if (!subagent_is_fork(given) || !value_has(given, "skills"))
		return NULL;
	*key_r = "/skills";
	return "an agent with `mode: fork` has its parent's skills: leave them out";
}

/* Why given, the index-th, is none, or NULL. */
static const char *
flaw_of(struct arena *arena, const struct value *given, size_t index,
    const struct value_fields *before)
{
	const char *name = value_get_text(given, "name"), *flaw = NULL, *key = "";
	size_t i;

	if (!value_is(given, VALUE_MAP)) {
		flaw = "must be a map with name and description";
	} else if (name == NULL || *name == '\0') {
		key = "/name";
		flaw = "a subagent needs a name";
	} else if (value_get_text(given, "description") == NULL) {
		key = "/description";
		flaw = "a subagent needs a description: the model chooses by it";
	} else if (value_has(given, "agent") && value_get_text(given, "agent") == NULL) {
		key = "/agent";
		flaw = "must be the name of an agent";
	} else if (!value_is_nil(value_get(given, "middleware")) &&
		   !value_is(value_get(given, "middleware"), VALUE_ARRAY)) {
		key = "/middleware";
		flaw = "must be a list";
	} else if (!value_is_nil(value_get(given, "interrupt_on")) &&
		   !value_is(value_get(given, "interrupt_on"), VALUE_MAP)) {
		key = "/interrupt_on";
		flaw = "must be a map of tools to what may be decided";
	} else {
		flaw = flaw_of_mode(given, &key);
	}
	for (i = 0; value_has(given, "agent") && flaw == NULL && i < value_size(given);
	     i++) {
		const char *one = value_text(given->pairs[i].key);

		if (strcmp(one, "name") != 0 && strcmp(one, "description") != 0 &&
		    strcmp(one, "agent") != 0 && strcmp(one, "mode") != 0)
			flaw = arena_printf(arena,
			    "\"%s\" is the agent's own: one of the fleet's has only "
			    "name, "
			    "description and mode here",
			    one);
	}
	for (i = 0; flaw == NULL && i < before->count; i++)
		if (value_text_is(before->pairs[i].key, name)) {
			key = "/name";
			flaw = arena_printf(
			    arena, "there is a subagent \"%s\" already", name);
		}
	return flaw == NULL
		   ? NULL
		   : arena_printf(arena, "/subagents/%zu%s: %s", index, key, flaw);
}

static const struct value *
child_of(
    const struct subagent_making *making, const struct value *given, const char *place)
{
	struct arena *arena = making->arena;
	const struct value *agent = value_get(given, "agent"), *source = NULL;

	if (agent == NULL && making->use->agent_source != NULL)
		source = source_of(making, given, *place == '\0');
	return value_map(arena, "agent", agent, "source", source, "description",
	    value_get(given, "description"), "place", value_str(arena, place), "places",
	    source != NULL ? places_of(making, given, place, source) : NULL, "mode",
	    subagent_is_fork(given) ? value_get(given, "mode") : NULL, NULL);
}

static bool
has_general(const struct value *subagents)
{
	size_t i;

	for (i = 0; i < value_size(subagents); i++)
		if (value_text_is(value_get(value_at(subagents, i), "name"), GENERAL))
			return true;
	return false;
}

/* Why a list of middleware that many agents have is too long for any, or NULL. */
static const char *
flaw_of_shared(struct arena *arena, const struct value *settings)
{
	static const char *const keys[] = { "default_middleware",
		"general_purpose_middleware" };
	size_t i;

	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		if (value_size(value_get(settings, keys[i])) > MIDDLEWARE_MAX)
			return arena_printf(arena, "/%s: more than %u middleware",
			    keys[i], MIDDLEWARE_MAX);
	return NULL;
}

const struct value *
subagent_agents(struct arena *arena, const struct value *settings, const char **error_r)
{
	const struct value *subagents = value_get(settings, "subagents");
	struct value_fields agents = { .arena = arena };
	size_t i;

	if (value_size(subagents) > AGENT_CHILDREN_MAX) {
		*error_r = arena_printf(
		    arena, "/subagents: must be at most %u", AGENT_CHILDREN_MAX);
		return NULL;
	}
	*error_r = flaw_of_shared(arena, settings);
	if (*error_r != NULL)
		return NULL;
	if (value_get_bool(settings, "general_purpose_agent", true) &&
	    !has_general(subagents))
		value_fields_set(&agents, GENERAL, general(arena));
	for (i = 0; i < value_size(subagents); i++) {
		const struct value *given = value_at(subagents, i);

		*error_r = flaw_of(arena, given, i, &agents);
		if (*error_r != NULL)
			return NULL;
		value_fields_set(&agents, value_get_text(given, "name"), given);
	}
	if (agents.count > 0)
		return value_fields_end(&agents);
	*error_r = "/subagents: names no agent, and general_purpose_agent is false";
	return NULL;
}

const struct value *
subagent_children(const struct subagent_making *making, const struct value *agents)
{
	const struct value *subagents = value_get(making->use->settings, "subagents");
	struct value_fields children = { .arena = making->arena };
	size_t i, ours = value_size(agents) - value_size(subagents);

	for (i = 0; i < value_size(agents); i++)
		value_fields_set(&children, value_text(agents->pairs[i].key),
		    child_of(making, agents->pairs[i].value,
			i < ours
			    ? ""
			    : arena_printf(making->arena, "/subagents/%zu", i - ours)));
	return value_fields_end(&children);
}
