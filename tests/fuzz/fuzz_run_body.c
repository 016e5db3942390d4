/* Bodies of LangGraph's API: whatever a client sends is an entry that our own inbox can read, or is refused with a reason.
 * Whatever id it comes back with, a stream is frames. The first line of the input is the id, the rest the body. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "submission.h"
#include "assistant_body.h"
#include "bounds.h"
#include "frames.h"
#include "json.h"
#include "run_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As the inbox gives them: the entry is refused there for what its JSON means, which is not ours to know, but each of its
 * fields is read. */
static void
check_fields(struct arena *arena, const struct value *fields)
{
	struct value_fields entry = { .arena = arena };
	struct submission submission;
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		const struct value *text = fields->pairs[i].value;

		assert(value_is(text, VALUE_STR));
		assert(strlen(text->text) == text->size);
		value_fields_put(&entry, fields->pairs[i].key,
		    value_bin(arena, text->text, text->size));
	}
	submission_read(arena, "1-0", value_fields_end(&entry), &submission);
	assert(strcmp(submission.run, "r") == 0 && strcmp(submission.thread, "t") == 0);
	assert(submission.error != NULL || submission.agent != NULL);
}

static void
check_body(struct arena *arena, const struct value *body, bool goes_on, int64_t version)
{
	const struct run_place place = { .thread = "t",
		.run = "r",
		.is_stateless = !goes_on && version == 0,
		.goes_on = goes_on,
		.next = goes_on ? "tools" : NULL,
		.version = version };
	struct run_body read;
	const char *wrong = run_body_read(arena, body, &place, 1000, &read);

	if (wrong != NULL) {
		assert(*wrong != '\0');
		return;
	}
	assert(read.agent != NULL && *read.agent != '\0');
	check_fields(arena, read.fields);
}

static void
check_ttl(struct arena *arena, const struct value *ttl)
{
	const char *error, *text = run_body_ttl(arena, ttl, &error);
	struct submission submission;
	size_t digits;

	assert(text == NULL || error == NULL);
	if (text == NULL)
		return;
	digits = strspn(text, "0123456789");
	assert(digits > 0 && text[digits] == ' ');
	submission_read(arena, "1-0",
	    value_map(arena, "ttl_ms", value_bin(arena, text, digits), "ttl_action",
		value_bin(arena, text + digits + 1, strlen(text + digits + 1)), NULL),
	    &submission);
	assert(submission.ttl != NULL && strcmp(submission.ttl, text) == 0);
}

/* What is taken of a new one is small enough, and takes it as a change as well, which changes nothing more. */
static void
check_assistant(struct arena *arena, const struct value *body)
{
	struct assistant assistant = { .id = "a" }, changed;
	const struct value *shape;

	if (!value_is(body, VALUE_MAP) ||
	    assistant_body_read(arena, body, &assistant) != NULL)
		return;
	assert(assistant_size(arena, &assistant) <= ASSISTANT_BYTES_MAX);
	assert(assistant.agent != NULL && *assistant.agent != '\0');
	assert(value_is(assistant.context, VALUE_MAP));
	shape = assistant_body_shape(arena, &assistant);
	changed = assistant;
	assert(assistant_body_read(arena, body, &changed) == NULL);
	assert(value_equal(shape, assistant_body_shape(arena, &changed)));
}

/* Events, {step, offset, content, ...}, are those of a worker, or of the log where they have a number. */
static void
play(struct arena *arena, struct frames *frames, const struct value *events)
{
	size_t i;

	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		if (value_has(event, "seq")) {
			frames_step(frames, arena, event, value_get(event, "messages"));
			frames_close(frames, (uint64_t)value_get_int(event, "seq", 0));
		} else {
			frames_live(frames, arena, event);
		}
	}
	frames_close(frames, 0);
}

static void
check_frames(struct arena *arena, const char *last_id, const struct value *body)
{
	const struct frames_run run = { "r", "t", "a", NULL, NULL, false };
	struct frames *frames =
	    frames_new(&run, (unsigned)value_get_int(body, "modes", 31), last_id);
	const struct packet *bytes;

	frames_begin(frames);
	play(arena, frames, value_get(body, "events"));
	bytes = frames_bytes(frames);
	assert(bytes->size > 2 && memcmp(bytes->data + bytes->size - 2, "\n\n", 2) == 0);
	assert(memcmp(bytes->data, "event: ", 7) == 0);
	frames_destroy(&frames);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *text = arena_copy(arena, data, size), *error;
	size_t line = strcspn(text, "\n");
	const char *last_id = arena_copy(arena, text, line);
	const struct value *body;

	line += text[line] == '\n';
	body = json_parse(arena, text + line, strlen(text + line), &error);
	if (body != NULL) {
		check_body(arena, body, false, 0);
		check_body(arena, body, true, 7);
		check_body(arena, body, false, 7);
		check_ttl(arena, value_get(body, "ttl"));
		check_assistant(arena, body);
		check_frames(arena, last_id, body);
	}
	arena_destroy(&arena);
	return 0;
}
