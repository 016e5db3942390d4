/* run_command: what tool calls answered, as writes of the step and as the node to go on at. The
 * worker may be anybody's: what its commands must be is checked here (semantics.md 4.2.7). */
#include "run_round.h"

#include <stdarg.h>
#include <string.h>

#include "chat.h"
#include "field.h"

static const char *
tool_of(const struct value *tool_call)
{
	const char *name = value_get_text(tool_call, "name");

	return name != NULL ? name : "?";
}

/* --- the tool message that answers --------------------------------------------------- */

struct answers {
	const struct value *first; /* the message, or NULL */
	size_t count, others;
	bool wiped; /* all messages are removed: nothing is left to answer */
};

static void
count_message(struct answers *answers, const struct value *message, const char *id)
{
	if (chat_is(message, "tool") && id != NULL &&
	    value_text_is(value_get(message, "tool_call_id"), id)) {
		answers->first = answers->count == 0 ? message : answers->first;
		answers->count++;
	} else if (value_text_is(value_get(message, "id"), REMOVE_ALL)) {
		answers->wiped = true;
	} else {
		answers->others++;
	}
}

static struct answers
answers_of(const struct value *tool_call, const struct value *commands)
{
	const char *id = value_get_text(tool_call, "id");
	struct answers answers = { 0 };
	size_t i, j;

	for (i = 0; i < value_size(commands); i++) {
		const struct value *messages =
		    value_get(value_get(value_at(commands, i), "update"), "messages");

		if (value_is(messages, VALUE_MAP))
			count_message(&answers, messages, id);
		for (j = 0; value_is(messages, VALUE_ARRAY) && j < messages->size; j++)
			count_message(&answers, messages->items[j], id);
	}
	return answers;
}

bool
run_command_succeeded(const struct value *tool_call, const struct value *commands)
{
	struct answers answers = answers_of(tool_call, commands);

	return answers.first != NULL &&
	       !value_text_is(value_get(answers.first, "status"), "error");
}

/* --- form --------------------------------------------------------------------------- */

static const struct fault *
flaw(struct arena *arena, const struct value *tool_call, const char *format, ...)
{
	struct fault *fault;
	va_list args;

	va_start(args, format);
	fault = fault_new(arena, "ValueError", "tool %s %s", tool_of(tool_call),
	    arena_vprintf(arena, format, args));
	va_end(args);
	fault->retryable = false;
	return fault;
}

static const struct fault *
command_flaw(
    struct arena *arena, const struct value *tool_call, const struct value *command)
{
	const struct value *update = value_get(command, "update");
	size_t i;

	if (!value_is(command, VALUE_MAP))
		return flaw(arena, tool_call, "gave a command that is not a map");
	if (!value_is_nil(update) && !value_is(update, VALUE_MAP))
		return flaw(arena, tool_call, "gave a command whose update is not a map");
	for (i = 0; i < command->size; i++) {
		const char *key = value_text(command->pairs[i].key);

		if (strcmp(key, "update") != 0 && strcmp(key, "goto") != 0 &&
		    !value_is_nil(command->pairs[i].value))
			return flaw(arena, tool_call,
			    "gave a command with '%s'; it may have update and goto", key);
	}
	return NULL;
}

const struct fault *
run_command_flaw(
    struct arena *arena, const struct value *tool_call, const struct value *commands)
{
	struct answers answers = answers_of(tool_call, commands);
	const struct fault *fault = NULL;
	size_t i;

	if (!value_is(commands, VALUE_ARRAY))
		return flaw(arena, tool_call, "gave no list of commands");
	for (i = 0; i < commands->size && fault == NULL; i++)
		fault = command_flaw(arena, tool_call, commands->items[i]);
	if (fault != NULL || answers.count == 1 ||
	    (answers.count == 0 && answers.others == 0 && answers.wiped))
		return fault;
	if (answers.count == 0)
		return flaw(arena, tool_call,
		    "gave no tool message that answers the call %s",
		    value_get_text(tool_call, "id"));
	return flaw(arena, tool_call,
	    "gave %zu tool messages that answer the call %s: it takes one", answers.count,
	    value_get_text(tool_call, "id"));
}

/* --- what fits ---------------------------------------------------------------------- */

/* update without the fields that have no room for it; *full_r: one of them. */
static const struct value *
that_fits(struct run *run, struct step_result *result, const struct value *update,
    const struct field **full_r)
{
	const struct spec *spec = run->agent->spec;
	struct arena *arena = run->scratch;
	size_t i;

	for (i = 0; i < spec->field_count; i++) {
		const struct field *field = &spec->fields[i];
		const struct value *write = value_get(update, field->name);
		const struct value *old, *folded;

		if (field->bytes_max == 0 || write == NULL || !field_takes(field, write))
			continue;
		old = value_get(result->bounded, field->name);
		if (old == NULL)
			old = state_field(run->state, field->name);
		folded = field_fold(arena, field, old, write);
		if (field_has_room(field, old, folded)) {
			result->bounded =
			    value_map_with(arena, result->bounded, field->name, folded);
			continue;
		}
		update = value_map_with(arena, update, field->name, NULL);
		*full_r = field;
	}
	return update;
}

/* message with what was left out in front of its content. */
static const struct value *
with_notice(struct arena *arena, const struct value *message, const struct field *field)
{
	const struct value *content = value_get(message, "content"), *block;
	const struct value *notice = value_printf(arena,
	    "Error: what this call wrote to \"%s\" was left out, as all of that would "
	    "have more than %zu bytes together: take away what is no longer needed, and "
	    "write less in one round. What the call answered:\n",
	    field->name, field->bytes_max);

	if (value_is(content, VALUE_ARRAY)) {
		block =
		    value_map(arena, "type", VALUE_TEXT("text"), "text", notice, NULL);
		content =
		    value_array_concat(arena, value_array(arena, &block, 1), content);
	} else {
		content = value_printf(arena, "%s%s", notice->text,
		    value_is(content, VALUE_STR) ? content->text : "");
	}
	message = value_map_with(arena, message, "status", VALUE_TEXT("error"));
	return value_map_with(arena, message, "content", content);
}

/* update with the notice in the message that answers the call, if it is there. */
static const struct value *
with_answer_noticed(struct arena *arena, const struct value *update, const char *id,
    const struct field *field)
{
	const struct value *messages = value_get(update, "messages");
	struct value_list list = { .arena = arena };
	size_t i;

	if (value_is(messages, VALUE_MAP))
		messages = value_array(arena, &messages, 1);
	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (chat_is(message, "tool") && id != NULL &&
		    value_text_is(value_get(message, "tool_call_id"), id))
			message = with_notice(arena, message, field);
		value_list_add(&list, message);
	}
	return list.count == 0
		   ? update
		   : value_map_with(arena, update, "messages", value_list_end(&list));
}

/* --- where to ----------------------------------------------------------------------- */

static const char *
node_called(const struct run *run, const char *name)
{
	const struct graph *graph = run->agent->graph;

	/* As the jump of that name: through the after_agent hooks. */
	if (jump_from_name(name) == JUMP_END)
		return graph->nodes[graph->exit].name;
	return name;
}

/* At most one node runs at a time: all commands of a step must agree. */
static enum go
go_to(struct run *run, struct step_result *result, const struct value *tool_call,
    const struct value *target)
{
	const char *node;

	if (!value_is(target, VALUE_STR))
		return run_fail(run, "ValueError",
		    "tool %s goes to %s: goto takes the name of a node, or a list with "
		    "one",
		    tool_of(tool_call),
		    target->type == VALUE_MAP ? "a Send" : "what is no text");
	node = node_called(run, target->text);
	if (graph_find(run->agent->graph, node) == -1)
		return run_fail(run, "ValueError",
		    "tool %s goes to '%s', which is no node of agent '%s'",
		    tool_of(tool_call), target->text, run->agent->spec->name);
	if (result->go_to != NULL && strcmp(result->go_to, node) != 0)
		return run_fail(run, "ValueError",
		    "tool %s goes to '%s' and tool %s to '%s' in one step: at most one "
		    "node runs at a time",
		    result->go_to_by, result->go_to, tool_of(tool_call), node);
	result->go_to = node;
	result->go_to_by = arena_strdup(run->scratch, tool_of(tool_call));
	return GO_ON;
}

static enum go
go_to_all(struct run *run, struct step_result *result, const struct value *tool_call,
    const struct value *targets)
{
	enum go go = GO_ON;
	size_t i;

	if (value_is_nil(targets))
		return GO_ON;
	if (!value_is(targets, VALUE_ARRAY))
		return go_to(run, result, tool_call, targets);
	for (i = 0; i < targets->size && go == GO_ON; i++)
		go = go_to(run, result, tool_call, targets->items[i]);
	return go;
}

enum go
run_command_apply(struct run *run, struct step_result *result,
    const struct value *tool_call, const struct value *commands)
{
	struct arena *arena = run->scratch;
	const char *id = value_get_text(tool_call, "id");
	const struct value *writer = value_printf(
	    arena, "tools:%s (%s)", tool_of(tool_call), id != NULL ? id : "?");
	const struct field *full = NULL;
	size_t i, first = result->updates.count;
	enum go go = GO_ON;

	for (i = 0; i < value_size(commands) && go == GO_ON; i++) {
		const struct value *command = value_at(commands, i);
		const struct value *update = value_get(command, "update");

		value_list_add(&result->writers, writer);
		value_list_add(&result->updates,
		    value_is_nil(update)
			? value_empty_map()
			: that_fits(run, result, value_copy(arena, update), &full));
		go = go_to_all(run, result, tool_call,
		    value_copy(arena, value_get(command, "goto")));
	}
	for (i = first; full != NULL && i < result->updates.count; i++)
		result->updates.items[i] =
		    with_answer_noticed(arena, result->updates.items[i], id, full);
	return go;
}
