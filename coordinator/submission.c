#include "submission.h"

#include <string.h>

#include "chat.h"
#include "json.h"
#include "bounds.h"
#include "nearest.h"
#include "redis.h"
#include "wire.h"

/* Ids of runs and threads become part of keys, call ids ("<run>.<step>.<n>") and topics.
 */
#define RUN_ID_BYTES_MAX 96u

static const char *const known_fields[] = { "agent", "input", "run", "thread", "context",
	"resume", "stream", "tenant", "priority" };
#define KNOWN_COUNT (sizeof known_fields / sizeof *known_fields)

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
		return arena_printf(arena, "unknown field '%.64s'%s%s%s", name,
		    near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
		    near != NULL ? "'?" : "");
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

	if (id == NULL || *id == '\0')
		return otherwise;
	if (wire_is_id(id, RUN_ID_BYTES_MAX) && strpbrk(id, "{}*?[]\\") == NULL)
		return id;
	submission->error = arena_printf(arena,
	    "%s: an id is 1 to %u printable ASCII characters without spaces and without "
	    "any of {}*?[]\\",
	    name, RUN_ID_BYTES_MAX);
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
		messages = chat_normalise(arena, messages, &error);
		if (messages == NULL) {
			submission->error = arena_printf(arena, "input: %s", error);
			return;
		}
		input = value_map_with(arena, input, "messages", messages);
	}
	submission->input = input;
}

static void
take_options(
    struct arena *arena, const struct value *fields, struct submission *submission)
{
	struct value_fields options = { .arena = arena };
	const struct value *resume = take_json(arena, fields, "resume", submission);
	const struct value *context = take_json(arena, fields, "context", submission);
	const char *stream = text_of(fields, "stream");

	if (resume != NULL)
		value_fields_set(&options, "resume", resume);
	if (context != NULL)
		value_fields_set(&options, "context", context);
	if (stream != NULL && strcmp(stream, "0") != 0 && strcmp(stream, "false") != 0)
		value_fields_set(&options, "stream", value_bool(true));
	if (text_of(fields, "tenant") != NULL)
		value_fields_set(
		    &options, "tenant", value_str(arena, text_of(fields, "tenant")));
	submission->options = value_fields_end(&options);
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
	submission->agent = take_agent(fields, submission);
	if (submission->error == NULL)
		submission->error = unknown_field(arena, fields);
	if (submission->error == NULL &&
	    (submission->agent == NULL || *submission->agent == '\0'))
		submission->error = "agent is missing: the name of an agent that "
				    "`flotilla agents list` shows";
	take_options(arena, fields, submission);
	if (submission->error == NULL && !value_has(submission->options, "resume"))
		take_input(arena, fields, submission);
}
