#include "submission.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "json.h"
#include "bounds.h"
#include "nearest.h"
#include "openai_calls.h"
#include "redis.h"
#include "utf8.h"
#include "wire.h"

static const char *const known_fields[] = { "agent", "input", "run", "thread", "parent",
	"context", "resume", "stream", "after_ms", "at", "deadline_ms", "priority",
	"tenant", "metadata", "webhook", "multitask", "checkpoint", "update", "as",
	"copy_of", "ttl_ms", "ttl_action", "traceparent", "fingerprint", "assistant",
	"interrupt_before", "interrupt_after", "command", "recursion_limit",
	"max_concurrency", "assistant_context" };
#define KNOWN_COUNT (sizeof known_fields / sizeof *known_fields)
#define SHOWN_BYTES 64u /* of what was submitted */

static bool
is_known(const char *name)
{
	size_t i;

	for (i = 0; i < KNOWN_COUNT; i++)
		if (strcmp(known_fields[i], name) == 0)
			return true;
	return false;
}

static const char *
unknown_field(struct arena *arena, const struct value *fields)
{
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		const char *name = value_text(fields->pairs[i].key), *near;

		if (is_known(name))
			continue;
		near = nearest_name(name, known_fields, KNOWN_COUNT);
		return arena_printf(arena, "unknown field '%s'%s%s%s",
		    utf8_shown(arena, name, SHOWN_BYTES),
		    near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
		    near != NULL ? "'?" : "");
	}
	return NULL;
}

/* Texts end at a NUL byte: what stands behind one would count for nothing. */
static const char *
field_with_nul(struct arena *arena, const struct value *fields)
{
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		const struct value *bytes = fields->pairs[i].value;
		size_t before = strnlen(bytes->text, bytes->size);

		if (before < bytes->size)
			return arena_printf(arena,
			    "%s: byte %zu is a NUL, which no field may have",
			    value_text(fields->pairs[i].key), before + 1);
	}
	return NULL;
}

static const char *
text_of(const struct value *fields, const char *name)
{
	return redis_reply_text(value_get(fields, name));
}

/* A name that no agent can have is not kept either: it may be of any size. */
static const char *
take_agent(const struct value *fields, struct submission *submission)
{
	const char *agent = text_of(fields, "agent");

	if (agent == NULL || strlen(agent) <= ID_BYTES_MAX)
		return agent;
	if (submission->error == NULL)
		submission->error = "agent: longer than any agent's name";
	return NULL;
}

/* Takes the id in field name, or the one otherwise. */
static const char *
take_id(struct arena *arena, const struct value *fields, const char *name,
    const char *otherwise, struct submission *submission)
{
	const char *id = text_of(fields, name);

	if (id == NULL || value_get(fields, name)->size == 0)
		return otherwise;
	if (wire_is_run_id(id) && strlen(id) == value_get(fields, name)->size)
		return id;
	submission->error =
	    arena_printf(arena, "%s: " RUN_ID_RULE, name, RUN_ID_BYTES_MAX);
	return otherwise;
}

static const struct value *
take_json(struct arena *arena, const struct value *fields, const char *name,
    struct submission *submission)
{
	const struct value *bytes = value_get(fields, name), *value;
	const char *error;

	if (bytes == NULL || submission->error != NULL)
		return NULL;
	if (bytes->size > INPUT_BYTES_MAX) {
		submission->error =
		    arena_printf(arena, "%s: %u bytes, over the limit of %u", name,
			bytes->size, INPUT_BYTES_MAX);
		return NULL;
	}
	value = json_parse(arena, bytes->text, bytes->size, &error);
	if (value == NULL)
		submission->error =
		    arena_printf(arena, "%s is not valid JSON: %s", name, error);
	return value;
}

static const char *
take_multitask(
    struct arena *arena, const struct value *fields, struct submission *submission)
{
	static const char *const strategies[] = { "enqueue", "interrupt", "rollback",
		"reject" };
	const char *multitask = text_of(fields, "multitask");
	size_t i;

	if (multitask == NULL || *multitask == '\0')
		return NULL;
	for (i = 0; i < sizeof strategies / sizeof *strategies; i++)
		if (strcmp(strategies[i], multitask) == 0)
			return strategies[i];
	if (submission->error == NULL)
		submission->error = arena_printf(arena,
		    "multitask: '%s' is none of enqueue, interrupt, rollback, reject",
		    utf8_shown(arena, multitask, SHOWN_BYTES));
	return NULL;
}

/* The number of a checkpoint, 0: the empty thread, or NULL. */
static const struct value *
take_checkpoint(
    struct arena *arena, const struct value *fields, struct submission *submission)
{
	const char *text = text_of(fields, "checkpoint");
	char *end;
	long long version;

	if (text == NULL || *text == '\0')
		return NULL;
	version = strtoll(text, &end, 10);
	if (*end == '\0' && *text >= '0' && *text <= '9' && version >= 0 &&
	    version < INT64_MAX)
		return value_int(arena, version);
	if (submission->error == NULL)
		submission->error = arena_printf(arena,
		    "checkpoint: '%s' is no version that `flotilla history` shows",
		    utf8_shown(arena, text, SHOWN_BYTES));
	return NULL;
}

/* A number of its own in the place of its agent's: how many there may be of what. */
static void
take_count(struct arena *arena, const struct value *fields, const char *name,
    const char *what, struct value_fields *options, struct submission *submission)
{
	const char *text = text_of(fields, name);
	long long count;

	if (text == NULL || *text == '\0')
		return;
	errno = 0;
	count = strtoll(text, NULL, 10);
	if (text[strspn(text, "0123456789")] == '\0' && errno == 0 && count >= 1)
		value_fields_set(options, name, value_int(arena, count));
	else if (submission->error == NULL)
		submission->error =
		    arena_printf(arena, "%s: '%s' is no number of %s, at least 1", name,
			utf8_shown(arena, text, SHOWN_BYTES), what);
}

/* A text or a list of messages stands for {messages: ...}. */
static void
take_input(struct arena *arena, const struct value *fields, struct submission *submission)
{
	const struct value *input = take_json(arena, fields, "input", submission);
	const struct value *messages;
	const char *error;

	if (submission->error != NULL)
		return;
	if (input == NULL) {
		submission->error =
		    "input is missing: JSON, such as "
		    "{\"messages\": [{\"type\": \"human\", \"content\": \"Hi\"}]}";
		return;
	}
	if (!value_is(input, VALUE_MAP))
		input = value_map(arena, "messages", input, NULL);
	messages = value_get(input, "messages");
	if (!value_is_nil(messages)) {
		messages = chat_normalise(arena, openai_calls(arena, messages), &error);
		if (messages == NULL) {
			submission->error = arena_printf(arena, "input: %s", error);
			return;
		}
		input = value_map_with(arena, input, "messages", messages);
	}
	submission->input = input;
}

/* What a run writes as a node, which does nothing else. */
static void
take_update(struct arena *arena, const struct value *fields, struct value_fields *options,
    struct submission *submission)
{
	const struct value *update = take_json(arena, fields, "update", submission);
	const char *as = text_of(fields, "as"), *error = NULL;

	if (update == NULL && as == NULL)
		return;
	if (update == NULL)
		error = "as: goes with update, what to write as that node";
	else if (!value_is(update, VALUE_MAP))
		error = "update: must be a JSON object of messages and state fields";
	else if (as == NULL || *as == '\0')
		error = "as is missing: the node whose update it is";
	else if (strlen(as) > ID_BYTES_MAX)
		error = "as: longer than any node's name";
	if (submission->error == NULL)
		submission->error = error;
	if (error != NULL)
		return;
	if (value_has(update, "messages"))
		update = value_map_with(arena, update, "messages",
		    openai_calls(arena, value_get(update, "messages")));
	value_fields_set(options, "update", update);
	value_fields_set(options, "as", value_str(arena, as));
}

static bool
is_node(const struct value *name)
{
	return value_is(name, VALUE_STR) && name->size > 0 && name->size <= ID_BYTES_MAX;
}

/* Where a run begins, and what it writes before. Which nodes and fields there are the agent knows. */
static const char *
command_flaw(const struct value *command)
{
	static const char *const names[] = { "goto", "update", "resume" };
	const struct value *node = value_get(command, "goto");
	size_t i, known = 0;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		known += value_has(command, names[i]);
	if (!value_is(command, VALUE_MAP) || known < value_size(command) ||
	    (!value_has(command, "goto") && !value_has(command, "update")))
		return "command: must be a JSON object with goto or update, and maybe "
		       "resume";
	if (value_has(command, "goto") && !is_node(node))
		return "command: goto must be the name of a node";
	if (value_has(command, "update") &&
	    !value_is(value_get(command, "update"), VALUE_MAP))
		return "command: update must be a JSON object of messages and state "
		       "fields";
	return NULL;
}

static void
take_command(struct arena *arena, const struct value *fields,
    struct value_fields *options, struct submission *submission)
{
	const struct value *command = take_json(arena, fields, "command", submission);
	const struct value *update = value_get(command, "update");

	if (command == NULL)
		return;
	if (submission->error == NULL)
		submission->error = command_flaw(command);
	if (value_has(update, "messages"))
		command = value_map_with(arena, command, "update",
		    value_map_with(arena, update, "messages",
			openai_calls(arena, value_get(update, "messages"))));
	value_fields_set(options, "command", command);
}

static void
take_copy_of(struct arena *arena, const struct value *fields,
    struct value_fields *options, struct submission *submission)
{
	const char *source = take_id(arena, fields, "copy_of", NULL, submission);

	if (source == NULL)
		return;
	if (strcmp(source, submission->thread) == 0 && submission->error == NULL)
		submission->error = "copy_of: a thread cannot be copied into itself";
	value_fields_set(options, "copy_of", value_str(arena, source));
}

/* Nodes at which the run pauses, as a list: "*" stands for all. Which there are the agent knows. */
static void
take_pauses(struct arena *arena, const struct value *fields, const char *name,
    struct value_fields *options, struct submission *submission)
{
	const struct value *nodes = take_json(arena, fields, name, submission);
	size_t i = 0;

	if (value_text_is(nodes, "*"))
		nodes = value_array_add(arena, value_empty_array(), nodes);
	while (i < value_size(nodes) && is_node(value_at(nodes, i)))
		i++;
	if (submission->error == NULL && nodes != NULL &&
	    (!value_is(nodes, VALUE_ARRAY) || i < value_size(nodes) ||
		i > INTERRUPT_NODES_MAX))
		submission->error = arena_printf(arena,
		    "%s: must be JSON, \"*\" or a list of at most %u names of nodes",
		    name, INTERRUPT_NODES_MAX);
	if (submission->error == NULL && value_size(nodes) > 0)
		value_fields_set(options, name, nodes);
}

static void
take_options(
    struct arena *arena, const struct value *fields, struct submission *submission)
{
	struct value_fields options = { .arena = arena };
	const struct value *resume = take_json(arena, fields, "resume", submission);
	const struct value *context = take_json(arena, fields, "context", submission);
	const struct value *assistant_context =
	    take_json(arena, fields, "assistant_context", submission);
	const struct value *checkpoint = take_checkpoint(arena, fields, submission);
	const char *stream = text_of(fields, "stream");

	if (resume != NULL)
		value_fields_set(&options, "resume", resume);
	if (context != NULL)
		value_fields_set(&options, "context", context);
	if (assistant_context != NULL)
		value_fields_set(&options, "assistant_context", assistant_context);
	if (checkpoint != NULL)
		value_fields_set(&options, "checkpoint", checkpoint);
	take_count(arena, fields, "recursion_limit", "steps", &options, submission);
	take_count(arena, fields, "max_concurrency", "calls", &options, submission);
	if (stream != NULL && strcmp(stream, "0") != 0 && strcmp(stream, "false") != 0)
		value_fields_set(&options, "stream", value_bool(true));
	take_pauses(arena, fields, "interrupt_before", &options, submission);
	take_pauses(arena, fields, "interrupt_after", &options, submission);
	take_update(arena, fields, &options, submission);
	take_command(arena, fields, &options, submission);
	take_copy_of(arena, fields, &options, submission);
	submission->options = value_fields_end(&options);
}

/* Entry ids begin with Redis's time: what is moved again is due when it was. */
static void
take_more(struct arena *arena, const char *id, const struct value *fields,
    struct submission *submission)
{
	const char *error =
	    run_options_read(arena, fields, strtoll(id, NULL, 10), &submission->more);

	if (submission->error == NULL)
		submission->error = error;
}

/* "ms action" of the thread, or NULL. */
static const char *
take_ttl(struct arena *arena, const struct value *fields, struct submission *submission)
{
	const char *ms = text_of(fields, "ttl_ms"),
		   *action = text_of(fields, "ttl_action");
	const char *error = NULL;

	if (ms == NULL && action == NULL)
		return NULL;
	if (ms == NULL)
		error = "ttl_action: goes with ttl_ms";
	else if (*ms == '\0' || ms[strspn(ms, "0123456789")] != '\0' ||
		 strtoull(ms, NULL, 10) > TTL_MS_MAX)
		error = arena_printf(
		    arena, "ttl_ms: must be 0 (for ever) to %" PRIu64, TTL_MS_MAX);
	else if (action != NULL && !submission_is_ttl_action(action))
		error = "ttl_action: must be delete or keep_latest";
	if (submission->error == NULL)
		submission->error = error;
	return error != NULL ? NULL
			     : arena_printf(arena, "%" PRIu64 " %s",
				   (uint64_t)strtoull(ms, NULL, 10),
				   action != NULL ? action : "delete");
}

bool
submission_is_ttl_action(const char *text)
{
	return strcmp(text, "delete") == 0 || strcmp(text, "keep_latest") == 0;
}

/* Whether it changes a thread without running anything. */
static bool
is_edit(const struct submission *submission)
{
	return value_has(submission->options, "update") ||
	       value_has(submission->options, "copy_of");
}

/* A run does one thing: of two, one would be left out. What is empty is not given. */
static const char *
two_tasks(struct arena *arena, const struct value *fields)
{
	static const char *const tasks[] = { "input", "resume", "update", "copy_of",
		"command" };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
		if (value_size(value_get(fields, tasks[i])) == 0)
			continue;
		if (first != NULL)
			return arena_printf(arena,
			    "%s and %s: a run has one of them; submit the other as a run "
			    "of its own",
			    first, tasks[i]);
		first = tasks[i];
	}
	return NULL;
}

/* Whether it says what to do by itself: another is a conversation's next input. */
static bool
needs_input(const struct submission *submission, const struct value *fields)
{
	if (value_has(submission->options, "resume") ||
	    value_has(submission->options, "command") || is_edit(submission))
		return false;
	/* On an empty thread there is nothing to run once more. */
	return value_get_int(submission->options, "checkpoint", 0) == 0 ||
	       value_has(fields, "input");
}

void
submission_read(struct arena *arena, const char *id, const struct value *fields,
    struct submission *submission)
{
	const char *made = arena_printf(arena, "run-%s", id);

	*submission = (struct submission){ 0 };
	submission->run = take_id(arena, fields, "run", made, submission);
	submission->thread =
	    take_id(arena, fields, "thread", submission->run, submission);
	submission->parent = take_id(arena, fields, "parent", NULL, submission);
	if (submission->parent != NULL &&
	    strcmp(submission->parent, submission->run) == 0)
		submission->error = "parent: a run cannot be its own";
	submission->agent = take_agent(fields, submission);
	if (submission->error == NULL)
		submission->error = unknown_field(arena, fields);
	if (submission->error == NULL)
		submission->error = field_with_nul(arena, fields);
	if (submission->error == NULL)
		submission->error = two_tasks(arena, fields);
	if (submission->error == NULL &&
	    (submission->agent == NULL || *submission->agent == '\0'))
		submission->error = "agent is missing: the name of an agent that "
				    "`flotilla agents list` shows";
	take_options(arena, fields, submission);
	take_more(arena, id, fields, submission);
	submission->multitask = take_multitask(arena, fields, submission);
	submission->ttl = take_ttl(arena, fields, submission);
	if (submission->multitask == NULL && is_edit(submission))
		submission->multitask = "reject";
	if (submission->error == NULL && needs_input(submission, fields))
		take_input(arena, fields, submission);
}
