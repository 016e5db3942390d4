#include "option_text.h"

#include <math.h>
#include <string.h>

#include "options.h"

static const char *
limits_text(struct arena *arena, const struct option *option)
{
	if (option->min == 0 && option->max == 0)
		return "";
	if (isinf(option->max))
		return arena_printf(arena, " from %.15g on", option->min);
	return arena_printf(arena, ", %.15g to %.15g", option->min, option->max);
}

static const char *
choices_text(struct arena *arena, const struct option *option)
{
	const char *text = "";
	size_t i;

	for (i = 0; option->choices != NULL && option->choices[i] != NULL; i++)
		text = arena_printf(
		    arena, "%s%s`%s`", text, i == 0 ? ": " : ", ", option->choices[i]);
	return text;
}

const char *
option_kind_text(struct arena *arena, const struct option *option)
{
	const char *type = option_type_text(option->type);

	/* Without the article. */
	if (strncmp(type, "an ", 3) == 0)
		type += 3;
	else if (strncmp(type, "a ", 2) == 0)
		type += 2;
	return arena_printf(arena, "%s%s%s%s", type, limits_text(arena, option),
	    choices_text(arena, option), option->nullable ? ", or null" : "");
}

static const char *
lives_text(const struct field *field)
{
	if (field->ephemeral)
		return "with the step";
	return field->untracked ? "with the run" : "with the thread";
}

static const char *
seen_text(const struct field *field)
{
	if (field->omit_from_input)
		return field->omit_from_output ? "private" : "shown in the output";
	return field->omit_from_output ? "taken from the input" : "in input and output";
}

const char *
field_text(struct arena *arena, const struct field *field)
{
	return arena_printf(arena, "%s: %s, %s", lives_text(field),
	    field->type != NULL ? field->type : "any value", seen_text(field));
}

const char *
hook_process(enum hook hook)
{
	switch (hook) {
	case HOOK_MODIFY_MODEL_REQUEST:
	case HOOK_WRAP_MODEL_CALL:
		return "worker-model";
	case HOOK_WRAP_TOOL_CALL:
		return "worker-tools";
	default:
		return "coordinator";
	}
}

bool
middleware_has_hook(const struct middleware *middleware, enum hook hook)
{
	const bool has[HOOK_COUNT] = {
		[HOOK_BEFORE_AGENT] = middleware->before_agent != NULL,
		[HOOK_BEFORE_MODEL] = middleware->before_model != NULL,
		[HOOK_AFTER_MODEL] = middleware->after_model != NULL,
		[HOOK_AFTER_AGENT] = middleware->after_agent != NULL,
		[HOOK_MODIFY_MODEL_REQUEST] = middleware->modify_model_request != NULL,
		[HOOK_WRAP_MODEL_CALL] = middleware->wrap_model_call != NULL,
		[HOOK_WRAP_TOOL_CALL] = middleware->wrap_tool_call != NULL,
	};

	return has[hook];
}
