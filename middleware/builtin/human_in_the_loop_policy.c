/* The policies of human_in_the_loop: which calls wait for a human, and what he is told. */
#include "human_in_the_loop.h"

#include <ctype.h>
#include <string.h>

#include "json.h"
#include "lua_expression.h"
#include "nearest.h"
#include "pointer.h"
#include "schema.h"
#include "utf8.h"

#define ARGS_SHOWN_BYTES 10000u /* of the arguments, in a description */
#define WHEN_BYTES_MAX 10000u
#define STATE "state"

static const char *const decisions[] = { "approve", "edit", "reject", "respond", NULL };
#define DECISIONS 4u

static const char *const policy_keys[] = { "allowed_decisions", "description",
	"args_schema", "when" };
#define POLICY_KEYS (sizeof policy_keys / sizeof *policy_keys)

/* --- the settings ------------------------------------------------------------------- */

static bool
is_among(const char *const *names, size_t count, const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* "; did you mean "edit"?" or nothing. */
static const char *
meant(struct arena *arena, const char *name, const char *const *names, size_t count)
{
	const char *near = nearest_name(name, names, count);

	return near != NULL ? arena_printf(arena, "; did you mean \"%s\"?", near) : "";
}

static const char *
flaw_of_allowed(struct arena *arena, const struct value *allowed, const char *place)
{
	size_t i, j;

	place = arena_printf(arena, "%s/allowed_decisions", place);
	if (!value_is(allowed, VALUE_ARRAY) || allowed->size == 0)
		return arena_printf(arena,
		    "%s: must be a list of at least one of approve, edit, reject and "
		    "respond",
		    place);
	for (i = 0; i < allowed->size; i++) {
		const char *name = value_text(allowed->items[i]);

		if (name == NULL || !is_among(decisions, DECISIONS, name))
			return arena_printf(arena,
			    "%s/%zu: must be approve, edit, reject or respond%s", place,
			    i,
			    name != NULL ? meant(arena, name, decisions, DECISIONS) : "");
		for (j = 0; j < i; j++)
			if (value_equal(allowed->items[i], allowed->items[j]))
				return arena_printf(
				    arena, "%s/%zu: %s is there twice", place, i, name);
	}
	return NULL;
}

/* --- templates ---------------------------------------------------------------------- */

/* The placeholder that text begins with: the bytes of it, braces included, or 0. */
static size_t
placeholder_size(const char *text)
{
	size_t size = 1;

	if (*text != '{' || !isalpha((unsigned char)text[1]))
		return 0;
	while (isalnum((unsigned char)text[size]) || strchr("_.-", text[size]) != NULL) {
		if (text[size] == '\0')
			return 0;
		size++;
	}
	return text[size] == '}' ? size + 1 : 0;
}

/* Behind `word` in a placeholder's name, or NULL: it begins otherwise. */
static const char *
behind_word(const char *name, const char *word)
{
	size_t size = strlen(word);

	return strncmp(name, word, size) == 0 && (name[size] == '.' || name[size] == '\0')
		   ? name + size
		   : NULL;
}

/* Of the state no more than a field at a time: what `per_call` takes along. */
static const char *
placeholder_path(
    const struct hitl_call *call, const char *name, const struct value **value_r)
{
	const char *path = behind_word(name, "args");

	*value_r = call->args;
	if (path != NULL)
		return path;
	*value_r = call->context;
	path = behind_word(name, "context");
	if (path != NULL)
		return path;
	*value_r = call->state;
	path = behind_word(name, STATE);
	return path != NULL && path[0] == '.' && strchr(".", path[1]) == NULL ? path
									      : NULL;
}

/* What stands for the placeholder name; NULL: there is none of that name. */
static const char *
placeholder_text(const struct hitl_call *call, const char *name)
{
	const struct value *value;
	const char *json, *at, *end;
	size_t size;

	if (strcmp(name, "name") == 0)
		return call->name;
	at = placeholder_path(call, name, &value);
	if (at == NULL)
		return NULL;
	for (; *at == '.'; at = end) {
		end = at + 1 + strcspn(at + 1, ".");
		value = value_get(
		    value, arena_copy(call->arena, at + 1, (size_t)(end - at - 1)));
	}
	if (value_is(value, VALUE_STR))
		return value_text(value);
	json = json_text(call->arena, value != NULL ? value : value_nil());
	size = strlen(json);
	if (size <= ARGS_SHOWN_BYTES)
		return json;
	return arena_printf(
	    call->arena, "%.*s...", (int)utf8_prefix(json, size, ARGS_SHOWN_BYTES), json);
}

/* What the beginning of text becomes, and its bytes: {{a}} is {a}, every other brace that is no
 * placeholder's is itself. NULL: a placeholder of unknown name. */
static const char *
next_piece(const struct hitl_call *call, const char *text, size_t *size_r)
{
	size_t size = text[0] == '{' ? placeholder_size(text + 1) : 0;

	*size_r = size + 2;
	if (size > 0 && text[1 + size] == '}')
		return arena_copy(call->arena, text + 1, size);
	*size_r = size = placeholder_size(text);
	if (size > 0)
		return placeholder_text(
		    call, arena_copy(call->arena, text + 1, size - 2));
	*size_r = 1 + strcspn(text + 1, "{");
	return arena_copy(call->arena, text, *size_r);
}

/* text with what its placeholders stand for; NULL with the name of one that means nothing. */
static const char *
filled(const struct hitl_call *call, const char *text, const char **unknown_r)
{
	struct packet packet = { 0 };
	const char *piece = "", *result;
	size_t size = 0;

	for (; *text != '\0'; text += size) {
		piece = next_piece(call, text, &size);
		if (piece == NULL)
			break;
		packet_append(&packet, piece, strlen(piece));
	}
	result = piece == NULL ? NULL
			       : arena_copy(call->arena,
				     packet.size > 0 ? packet.data : "", packet.size);
	packet_release(&packet);
	if (result == NULL)
		*unknown_r = arena_copy(call->arena, text + 1, size - 2);
	return result;
}

static const char *
flaw_of_description(struct arena *arena, const struct value *text, const char *place)
{
	const struct hitl_call any = {
		.arena = arena, .name = "", .args = value_empty_map()
	};
	const char *unknown;

	place = arena_printf(arena, "%s/description", place);
	if (!value_is(text, VALUE_STR))
		return arena_printf(arena, "%s: must be a string, not %s", place,
		    value_article_name(text));
	if (filled(&any, text->text, &unknown) != NULL)
		return NULL;
	return arena_printf(arena,
	    "%s: there is no {%s}; there are {name}, {args}, {args.NAME}, {context}, "
	    "{context.NAME} and {state.NAME}, and {{%s}} is the text {%s}",
	    place, unknown, unknown, unknown);
}

/* --- one policy --------------------------------------------------------------------- */

static const char *
flaw_of_when(struct arena *arena, const struct value *text, const char *place)
{
	const char *error;

	place = arena_printf(arena, "%s/when", place);
	if (!value_is(text, VALUE_STR))
		return arena_printf(arena,
		    "%s: must be an expression in Lua, a string, not %s", place,
		    value_article_name(text));
	if (text->size > WHEN_BYTES_MAX || strlen(text->text) != text->size)
		return arena_printf(
		    arena, "%s: more than %u bytes, or a NUL", place, WHEN_BYTES_MAX);
	if (lua_expression_check(arena, "when", text->text, &error) == -1)
		return arena_printf(arena, "%s: %s", place, error);
	return NULL;
}

static const char *
flaw_of_map(struct arena *arena, const struct value *policy, const char *place)
{
	const struct value *schema = value_get(policy, "args_schema");
	const char *flaw, *reason;
	size_t i;

	for (i = 0; i < policy->size; i++) {
		const char *key = value_text(policy->pairs[i].key);

		if (!is_among(policy_keys, POLICY_KEYS, key))
			return arena_printf(arena, "%s: a policy has no \"%s\"%s",
			    pointer_add(arena, place, key), key,
			    meant(arena, key, policy_keys, POLICY_KEYS));
	}
	flaw = flaw_of_allowed(arena, value_get(policy, "allowed_decisions"), place);
	if (flaw == NULL && value_has(policy, "description"))
		flaw =
		    flaw_of_description(arena, value_get(policy, "description"), place);
	if (flaw == NULL && schema != NULL && schema_usable(arena, schema, &reason) == -1)
		flaw = arena_printf(arena, "%s/args_schema: %s", place, reason);
	if (flaw == NULL && value_has(policy, "when"))
		flaw = flaw_of_when(arena, value_get(policy, "when"), place);
	return flaw;
}

const char *
hitl_flaw_of_policies(struct arena *arena, const struct value *settings)
{
	const struct value *policies = value_get(settings, "interrupt_on");
	const char *flaw = NULL;
	size_t i;

	for (i = 0; i < value_size(policies) && flaw == NULL; i++) {
		const struct value *policy = policies->pairs[i].value;
		const char *place = pointer_add(
		    arena, "/interrupt_on", value_text(policies->pairs[i].key));

		if (value_is(policy, VALUE_MAP))
			flaw = flaw_of_map(arena, policy, place);
		else if (!value_is(policy, VALUE_BOOL))
			flaw = arena_printf(arena,
			    "%s: must be true, false or a map with allowed_decisions, "
			    "not %s",
			    place, value_article_name(policy));
	}
	return flaw;
}

/* --- the state ---------------------------------------------------------------------- */

static void
add_read(struct value_list *list, const struct value *name)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (value_equal(list->items[i], name))
			return;
	value_list_add(list, name);
}

static void
add_reads_of_when(struct value_list *list, const char *text)
{
	bool all;
	const struct value *names = lua_expression_fields(list->arena, text, STATE, &all);
	size_t i;

	if (all)
		add_read(list, value_str(list->arena, "*"));
	for (i = 0; i < value_size(names); i++)
		add_read(list, value_at(names, i));
}

/* {{state.a}} counts, too: nothing is lost by that. */
static void
add_reads_of_description(struct value_list *list, const char *text)
{
	static const char begins[] = "{" STATE ".";

	while ((text = strstr(text, begins)) != NULL) {
		text += sizeof begins - 1;
		add_read(list, value_str(list->arena,
				   arena_copy(list->arena, text, strcspn(text, ".}"))));
	}
}

const struct value *
hitl_reads(struct arena *arena, const struct value *settings)
{
	const struct value *policies = value_get(settings, "interrupt_on");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(policies); i++) {
		const struct value *policy = policies->pairs[i].value;
		const char *when = value_get_text(policy, "when");
		const char *description = value_get_text(policy, "description");

		if (when != NULL)
			add_reads_of_when(&list, when);
		if (description != NULL)
			add_reads_of_description(&list, description);
	}
	return value_list_end(&list);
}

/* --- a call ------------------------------------------------------------------------- */

static const struct value *
policy_of(const struct value *settings, const char *name)
{
	return value_get(value_get(settings, "interrupt_on"), name);
}

static const struct value *
all_decisions(struct arena *arena)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; decisions[i] != NULL; i++)
		value_list_add(&list, value_str(arena, decisions[i]));
	return value_list_end(&list);
}

const struct value *
hitl_allowed(struct arena *arena, const struct value *settings, const char *name)
{
	const struct value *policy = policy_of(settings, name);

	if (value_is(policy, VALUE_MAP))
		return value_get(policy, "allowed_decisions");
	return value_is(policy, VALUE_BOOL) && policy->boolean ? all_decisions(arena)
							       : NULL;
}

/* What an expression sees of the state: it may be long, and most ask for none of it. NULL: nothing. */
static const struct value *
state_for(const struct hitl_call *call, const char *when)
{
	struct value_fields fields = { .arena = call->arena };
	bool all;
	const struct value *names = lua_expression_fields(call->arena, when, STATE, &all);
	size_t i;

	if (all)
		return call->state;
	if (value_size(names) == 0)
		return NULL;
	for (i = 0; i < value_size(names); i++) {
		const char *name = value_text(value_at(names, i));

		value_fields_set(&fields, name, value_get(call->state, name));
	}
	return value_fields_end(&fields);
}

bool
hitl_wants(const struct hitl_call *call, const char **failed_r)
{
	const char *when = value_get_text(policy_of(call->settings, call->name), "when");
	const char *error;
	int holds;

	*failed_r = NULL;
	if (hitl_allowed(call->arena, call->settings, call->name) == NULL)
		return false;
	if (when == NULL)
		return true;
	holds = lua_expression_holds(call->arena, "when", when,
	    value_map(call->arena, "name", value_str(call->arena, call->name), "args",
		call->args, "context", call->context, STATE, state_for(call, when), NULL),
	    &error);
	if (holds == -1)
		*failed_r = error;
	return holds != 0;
}

const char *
hitl_description(const struct hitl_call *call)
{
	const char *text =
	    value_get_text(policy_of(call->settings, call->name), "description");
	const char *unknown;

	if (text != NULL)
		return filled(call, text, &unknown);
	return arena_printf(call->arena, "%s\n\nTool: %s\nArgs: %s",
	    value_get_text(call->settings, "description_prefix"), call->name,
	    placeholder_text(call, "args"));
}
