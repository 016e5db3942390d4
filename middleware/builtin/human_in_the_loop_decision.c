/* One decision of a human: what it may be, and what it becomes. */
#include "human_in_the_loop.h"

#include <string.h>

#include "json.h"
#include "nearest.h"
#include "options.h"
#include "schema.h"

#define NAMES_MAX 256u /* looked at for the nearest one */

#define DEFAULT_NOTICE                                                                   \
	"A human reviewer has put another call in the place of this one, on purpose. "   \
	"Do not make the original call again."

/* --- what may be decided ------------------------------------------------------------ */

/* "approve, edit" */
static const char *
joined(struct arena *arena, const struct value *names)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(names); i++)
		text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "",
		    value_text(value_at(names, i)));
	return text;
}

static const char *
flaw_of_unknown_tool(
    const struct hitl_call *call, const struct value *tools, const char *name)
{
	const char *names[NAMES_MAX], *near, *text = "";
	size_t count = 0, i;

	for (i = 0; i < value_size(tools) && count < NAMES_MAX; i++) {
		const char *one = value_get_text(value_at(tools, i), "name");

		if (one == NULL)
			continue; /* the provider's own */
		text =
		    arena_printf(call->arena, "%s%s%s", text, count > 0 ? ", " : "", one);
		names[count++] = one;
	}
	near = nearest_name(name, names, count);
	return arena_printf(call->arena,
	    "the edited action names the tool \"%s\", which this agent has not%s%s%s; it "
	    "has %s",
	    name, near != NULL ? " (did you mean \"" : "", near != NULL ? near : "",
	    near != NULL ? "\"?)" : "", *text != '\0' ? text : "none");
}

/* The other tool has a policy of its own: a human who chooses its arguments must be allowed to. */
static const char *
flaw_of_other_policy(const struct hitl_call *edited)
{
	const struct value *allowed =
	    hitl_allowed(edited->arena, edited->settings, edited->name);
	const char *failed;

	if (allowed == NULL || value_contains(allowed, "edit") ||
	    !hitl_wants(edited, &failed))
		return NULL;
	return arena_printf(edited->arena,
	    "the edited action names the tool \"%s\", whose own policy allows no edit, "
	    "but %s",
	    edited->name, joined(edited->arena, allowed));
}

static const char *
flaw_of_args(const struct hitl_call *edited, const struct value *definition)
{
	const struct value *policy =
	    value_get(value_get(edited->settings, "interrupt_on"), edited->name);
	const char *reason;

	if (schema_check(edited->arena, value_get(definition, "parameters"), edited->args,
		&reason) == 0 &&
	    schema_check(edited->arena, value_get(policy, "args_schema"), edited->args,
		&reason) == 0)
		return NULL;
	return arena_printf(edited->arena,
	    "the edited arguments do not fit the tool \"%s\": %s", edited->name, reason);
}

static const struct value *
tool_of(const struct value *tools, const char *name)
{
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		if (value_text_is(value_get(value_at(tools, i), "name"), name))
			return value_at(tools, i);
	return NULL;
}

static const char *
flaw_of_edit(const struct hitl_call *call, const struct value *decision,
    const struct value *tools, const struct value *definition)
{
	const struct value *action = value_get(decision, "edited_action");
	struct hitl_call edited = *call;
	const char *flaw;

	edited.name = value_get_text(action, "name");
	edited.args = value_get(action, "args");
	if (edited.name == NULL || !value_is(edited.args, VALUE_MAP))
		return "an edit needs edited_action: {name: text, args: map}";
	if (strcmp(edited.name, call->name) != 0) {
		if (tools == NULL)
			return arena_printf(call->arena,
			    "an edit keeps the tool here, which is \"%s\"", call->name);
		definition = tool_of(tools, edited.name);
		if (definition == NULL)
			return flaw_of_unknown_tool(call, tools, edited.name);
		flaw = flaw_of_other_policy(&edited);
		if (flaw != NULL)
			return flaw;
	} else if (tools != NULL) {
		definition = tool_of(tools, edited.name);
	}
	return flaw_of_args(&edited, definition);
}

const char *
hitl_flaw_of_decision(const struct hitl_call *call, const struct value *decision,
    const struct value *tools, const struct value *definition)
{
	const struct value *allowed =
	    hitl_allowed(call->arena, call->settings, call->name);
	const struct value *message = value_get(decision, "message");
	const char *type = value_get_text(decision, "type");

	if (type == NULL)
		return arena_printf(call->arena, "a decision is a map with a type: %s",
		    joined(call->arena, allowed));
	if (!value_contains(allowed, type))
		return arena_printf(call->arena,
		    "the decision \"%s\" is not allowed for the tool \"%s\"; allowed: %s",
		    type, call->name, joined(call->arena, allowed));
	if (!value_is_nil(message) && !value_is(message, VALUE_STR))
		return "the message of a decision is a text";
	if (strcmp(type, "respond") == 0 && value_is_nil(message))
		return "a decision to respond needs a message, which the model gets as "
		       "the tool's answer";
	return strcmp(type, "edit") == 0 ? flaw_of_edit(call, decision, tools, definition)
					 : NULL;
}

/* --- the same as a JSON Schema ------------------------------------------------------ */

/* The tool's parameters, in which a reference means what it means there; what is not among them is
 * refused, where they can be told. */
static const struct value *
args_schema(struct arena *arena, const struct value *definition)
{
	static const char *const open[] = { "additionalProperties", "patternProperties",
		"unevaluatedProperties", "allOf", "anyOf", "oneOf", "if", "$ref",
		"$dynamicRef" };
	const struct value *schema = value_get(definition, "parameters");
	const char *reason;
	size_t i;

	if (!value_is(schema, VALUE_MAP) || schema_usable(arena, schema, &reason) == -1)
		return value_map(arena, "type", value_str(arena, "object"), NULL);
	if (!value_has(schema, "$id"))
		schema = value_map_with(
		    arena, schema, "$id", value_str(arena, "urn:flotilla:args"));
	for (i = 0; i < sizeof open / sizeof *open; i++)
		if (value_has(schema, open[i]))
			return schema;
	return value_map_with(arena, schema, "additionalProperties", value_bool(false));
}

static const struct value *
required(struct arena *arena, const char *a, const char *b)
{
	struct value_list list = { .arena = arena };

	value_list_add(&list, value_str(arena, a));
	if (b != NULL)
		value_list_add(&list, value_str(arena, b));
	return value_list_end(&list);
}

/* {type: object, properties, required}. */
static const struct value *
object_schema(struct arena *arena, const struct value *properties,
    const struct value *required_names)
{
	return value_map(arena, "type", value_str(arena, "object"), "properties",
	    properties, "required", required_names, NULL);
}

/* Where the type is `type`, the rest of the decision is as schema says. */
static const struct value *
where_type_is(struct arena *arena, const char *type, const struct value *schema)
{
	const struct value *one = value_map(arena, "const", value_str(arena, type), NULL);

	return value_map(arena, "if",
	    value_map(arena, "properties", value_map(arena, "type", one, NULL), NULL),
	    "then", schema, NULL);
}

static const struct value *
edit_schema(const struct hitl_call *call, const struct value *definition)
{
	struct arena *arena = call->arena;
	const struct value *name =
	    value_map(arena, "const", value_str(arena, call->name), NULL);
	const struct value *action = object_schema(arena,
	    value_map(arena, "name", name, "args", args_schema(arena, definition), NULL),
	    required(arena, "name", "args"));

	return value_map(arena, "properties",
	    value_map(arena, "edited_action", action, NULL), "required",
	    required(arena, "edited_action", NULL), NULL);
}

const struct value *
hitl_response_schema(const struct hitl_call *call, const struct value *definition)
{
	struct arena *arena = call->arena;
	const struct value *allowed = hitl_allowed(arena, call->settings, call->name);
	const struct value *text =
	    value_map(arena, "type", value_str(arena, "string"), NULL);
	struct value_list rules = { .arena = arena };
	const struct value *schema;

	if (value_contains(allowed, "edit"))
		value_list_add(
		    &rules, where_type_is(arena, "edit", edit_schema(call, definition)));
	if (value_contains(allowed, "respond"))
		value_list_add(&rules, where_type_is(arena, "respond",
					   value_map(arena, "required",
					       required(arena, "message", NULL), NULL)));
	schema = object_schema(arena,
	    value_map(arena, "type", value_map(arena, "enum", allowed, NULL), "message",
		text, NULL),
	    required(arena, "type", NULL));
	return rules.count == 0
		   ? schema
		   : value_map_with(arena, schema, "allOf", value_list_end(&rules));
}

/* --- what it becomes ---------------------------------------------------------------- */

const char *
hitl_answer(const struct hitl_call *call, const char *id, const struct value *decision,
    const char **status_r)
{
	const char *message = value_get_text(decision, "message");

	*status_r = "success";
	if (value_text_is(value_get(decision, "type"), "respond"))
		return message;
	*status_r = "error";
	if (message != NULL && *message != '\0')
		return arena_printf(call->arena,
		    "The user rejected this call of the tool `%s`. Reason: %s",
		    call->name, message);
	return arena_printf(call->arena,
	    "The user rejected this call of the tool `%s` (id %s): it was not executed. "
	    "Do not try it again unless the user asks for it.",
	    call->name, id);
}

const char *
hitl_notice(struct arena *arena, const struct value *settings, const struct value *edited,
    bool has_content)
{
	const struct value *own = value_get(settings, "edit_notice");

	return arena_printf(arena, "%s\nExecuted instead: %s with arguments %s.%s",
	    own != NULL ? value_text(own) : DEFAULT_NOTICE,
	    value_get_text(edited, "name"), json_text(arena, value_get(edited, "args")),
	    has_content ? "\n\nTool response:\n" : "");
}
