/* Entries of the inbox: whatever a client XADDs is taken or refused with a reason, and its run
 * and thread can be named in either case. Each line of the input is a field "name=text". */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "submission.h"
#include "wire.h"

#define FIELDS_MAX 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
add_field(struct value_fields *fields, const char *line, size_t size)
{
	const char *equals = memchr(line, '=', size);
	const struct value *name;

	if (equals == NULL)
		return;
	name = value_strn(fields->arena, line, (size_t)(equals - line));
	value_fields_set(fields, name->text,
	    value_bin(fields->arena, equals + 1, size - (size_t)(equals - line) - 1));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct value_fields fields = { .arena = arena };
	struct submission submission;
	const char *text = (const char *)data;
	unsigned count;

	for (count = 0; size > 0 && count < FIELDS_MAX; count++) {
		const char *end = memchr(text, '\n', size);
		size_t line = end != NULL ? (size_t)(end - text) : size;

		add_field(&fields, text, line);
		line += end != NULL;
		text += line;
		size -= line;
	}
	submission_read(arena, "1-0", value_fields_end(&fields), &submission);
	assert(wire_is_id(submission.run, ID_BYTES_MAX));
	assert(wire_is_id(submission.thread, ID_BYTES_MAX));
	if (submission.error == NULL) {
		assert(submission.agent != NULL);
		assert(submission.input != NULL ||
		       value_has(submission.options, "resume") ||
		       value_has(submission.options, "checkpoint") ||
		       value_has(submission.options, "update") ||
		       value_has(submission.options, "copy_of"));
	}
	arena_destroy(&arena);
	return 0;
}
