#include "declaration.h"

#include <ctype.h>
#include <string.h>

#include "json.h"
#include "bounds.h"
#include "options.h"
#include "schema.h"
#include "uncertain.h"

#define ROWS_MAX 64u

/* Names go into node names, topics, JSON and YAML keys. */
static bool
is_name(const char *name)
{
	const char *at;

	if (name == NULL || !isalpha((unsigned char)name[0]))
		return false;
	for (at = name; *at != '\0'; at++) {
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			return false;
	}
	return (size_t)(at - name) < ID_BYTES_MAX;
}

/* LangChain's private ones begin with "_". */
static bool
is_field_name(const char *name)
{
	return is_name(name) || (name != NULL && name[0] == '_' && is_name(name + 1));
}

static bool
is_state_type(const char *type)
{
	static const char *const types[] = { "integer", "number", "string", "array",
		"object", "boolean" };
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return false;
}

static const char *
field_flaw(struct arena *arena, const struct field *field)
{
	const char *error = NULL;

	if (!is_field_name(field->name))
		return arena_printf(arena, "\"%s\" is no name for a field", field->name);
	if (strcmp(field->name, "messages") == 0 || strcmp(field->name, "jump_to") == 0 ||
	    strcmp(field->name, "structured_response") == 0)
		return arena_printf(arena, "field %s is built in", field->name);
	if (field->type != NULL && !is_state_type(field->type))
		return arena_printf(
		    arena, "field %s: there is no type \"%s\"", field->name, field->type);
	if (field->counts_model_calls && field->reducer != REDUCE_ADD)
		return arena_printf(arena,
		    "field %s counts model calls and needs the reducer add", field->name);
	if (field->counts_usage &&
	    (field->reducer != REDUCE_LAST || field->type == NULL ||
		strcmp(field->type, "object") != 0))
		return arena_printf(arena,
		    "field %s counts usage and needs the type object, without reducer",
		    field->name);
	if (field->bytes_max > 0 && field->reducer != REDUCE_MERGE &&
	    field->reducer != REDUCE_APPEND)
		return arena_printf(arena,
		    "field %s has a bound and needs the reducer merge or append",
		    field->name);
	if (field->otherwise != NULL &&
	    json_parse(arena, field->otherwise, strlen(field->otherwise), &error) == NULL)
		return arena_printf(
		    arena, "field %s: the default is not JSON: %s", field->name, error);
	return NULL;
}

static const char *
fields_flaw(struct arena *arena, const struct field *fields)
{
	size_t i;

	for (i = 0; fields != NULL && fields[i].name != NULL; i++) {
		const char *flaw = field_flaw(arena, &fields[i]);

		if (flaw != NULL)
			return flaw;
		if (i >= ROWS_MAX)
			return "too many fields";
	}
	return NULL;
}

static const char *
tool_flaw(struct arena *arena, const struct tool *tool)
{
	const struct value *parameters;
	const char *error = NULL;

	if (!is_name(tool->name))
		return arena_printf(arena, "\"%s\" is no name for a tool", tool->name);
	if (tool->description == NULL || tool->run == NULL)
		return arena_printf(
		    arena, "tool %s needs a description and a body", tool->name);
	if (tool->uncertain != NULL &&
	    (!tool->once || !uncertain_parse(tool->uncertain, NULL)))
		return arena_printf(arena,
		    "tool %s: uncertain is tell_model, interrupt or repeat, for a tool "
		    "with once",
		    tool->name);
	if (tool->parameters == NULL)
		return NULL;
	parameters =
	    json_parse(arena, tool->parameters, strlen(tool->parameters), &error);
	if (parameters == NULL || schema_usable(arena, parameters, &error) == -1)
		return arena_printf(
		    arena, "tool %s: its parameters: %s", tool->name, error);
	return NULL;
}

static const char *
tools_flaw(struct arena *arena, const struct tool *const *tools)
{
	size_t i;

	for (i = 0; tools != NULL && tools[i] != NULL; i++) {
		const char *flaw = tool_flaw(arena, tools[i]);

		if (flaw != NULL)
			return flaw;
		if (i >= ROWS_MAX)
			return "too many tools";
	}
	return NULL;
}

/* A jump is for node hooks that are there. */
static const char *
jumps_flaw(struct arena *arena, const struct middleware *middleware)
{
	const bool nodes[HOOK_COUNT] = {
		[HOOK_BEFORE_AGENT] = middleware->before_agent != NULL,
		[HOOK_BEFORE_MODEL] = middleware->before_model != NULL,
		[HOOK_AFTER_MODEL] = middleware->after_model != NULL,
		[HOOK_AFTER_AGENT] = middleware->after_agent != NULL,
	};
	unsigned known = (unsigned)JUMP_MODEL | (unsigned)JUMP_TOOLS | (unsigned)JUMP_END;
	int hook;

	for (hook = 0; hook < HOOK_COUNT; hook++) {
		if (middleware->jumps[hook] != 0 && !nodes[hook])
			return arena_printf(arena,
			    "declares jumps of %s, which it has not",
			    hook_name((enum hook)hook));
		if ((middleware->jumps[hook] & ~known) != 0)
			return arena_printf(arena, "declares an unknown jump of %s",
			    hook_name((enum hook)hook));
	}
	return NULL;
}

const char *
declaration_flaw(struct arena *arena, const struct middleware *middleware)
{
	const char *flaw;

	if (!is_name(middleware->name))
		return "has no usable name";
	flaw = options_flaw(arena, middleware->options);
	if (flaw == NULL)
		flaw = fields_flaw(arena, middleware->fields);
	if (flaw == NULL)
		flaw = tools_flaw(arena, middleware->tools);
	if (flaw == NULL)
		flaw = jumps_flaw(arena, middleware);
	return flaw;
}
