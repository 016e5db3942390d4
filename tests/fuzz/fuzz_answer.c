/* What somebody answers, on its way: the command line's words and files, the inbox, the run that goes
 * on. It is refused with a reason and nothing has changed, or each question that it answers has
 * exactly that answer, the others wait on, and the log tells it. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../cli/asks.h"
#include "../../coordinator/run_round.h"
#include "submission.h"
#include "bounds.h"
#include "bytes.h"
#include "json.h"
#include "utf8.h"

#define QUESTIONS_MAX 4u
#define WORDS_MAX 3u
#define TEXT_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __wrap_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool complained;

void
__wrap_complain(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	complained = true;
}

/* --- a pause -------------------------------------------------------------------------- */

/* What a pause has kept of a call (run_round.c): done, to be sent, or asked about, by itself or
 * because nobody knows its fate. */
static const struct value *
kept_call(struct arena *arena, struct bytes *bytes, unsigned index)
{
	const struct value *id = value_printf(arena, "r1.2.%u", index), *ask = NULL;
	const struct value *call = value_map(
	    arena, "id", value_str(arena, "a"), "name", value_str(arena, "pay"), NULL);
	uint64_t kind = bytes_number(bytes, 4);

	if (kind == 1)
		ask = value_map(arena, "id",
		    value_printf(arena, "%s:%u", value_text(id), index + 1), "value",
		    value_str(arena, "sure?"), NULL);
	else if (kind == 2)
		ask = value_map(arena, "id", id, "value",
		    value_map(arena, "type", value_str(arena, "uncertain"), "tool_call",
			call, NULL),
		    NULL);
	return value_map(arena, "id", value_str(arena, "a"), "key", id, "outcome",
	    kind == 0 ? value_empty_map() : NULL, "ask", ask, "interrupt",
	    kind == 1 ? value_bool(true) : NULL, NULL);
}

static const struct value *
round_of(struct arena *arena, struct bytes *bytes)
{
	struct value_fields fields = { .arena = arena };
	unsigned count = (unsigned)bytes_number(bytes, QUESTIONS_MAX + 1), i;

	for (i = 0; i < count; i++)
		value_fields_set(
		    &fields, arena_printf(arena, "%u", i), kept_call(arena, bytes, i));
	return value_fields_end(&fields);
}

/* --- the command line ------------------------------------------------------------------ */

static const char *
a_text(struct arena *arena, struct bytes *bytes)
{
	return bytes_text(bytes, arena, TEXT_MAX, NULL);
}

/* "ID=ANSWER", mostly of a question that waits. */
static const char *
pair(struct arena *arena, struct bytes *bytes, const struct value *asks)
{
	size_t which = bytes_number(bytes, QUESTIONS_MAX + 1);
	const char *id = value_get_text(value_at(asks, which), "id");

	if (id == NULL)
		return a_text(arena, bytes);
	return arena_printf(arena, "%s=%s", id, a_text(arena, bytes));
}

static const char *
answer_in_file(
    struct arena *arena, struct bytes *bytes, const struct value *asks, unsigned mode)
{
	size_t size;
	const char *text = bytes_text(bytes, arena, TEXT_MAX, &size), *answer;
	int file = memfd_create("answer", MFD_CLOEXEC);
	struct asks_given given = { .file =
					arena_printf(arena, "/proc/self/fd/%d", file) };

	assert(file != -1 && write(file, text, size) == (ssize_t)size);
	given.text = mode == 3 ? text : NULL;
	answer = asks_answer(arena, asks, &given);
	close(file);
	return answer;
}

/* The answer as `flotilla resume` sends it, or NULL: it was refused. */
static const char *
answer_of(struct arena *arena, struct bytes *bytes, const struct value *asks)
{
	const char *pairs[WORDS_MAX + 1] = { NULL }, *answer;
	struct asks_given given = { .by_id = pairs };
	unsigned mode = (unsigned)bytes_number(bytes, 4), i;

	complained = false;
	if (mode == 0)
		for (i = 0; i < WORDS_MAX && bytes->left > 0; i++)
			pairs[i] = pair(arena, bytes, asks);
	else if (mode == 1)
		given.text = a_text(arena, bytes);
	answer = mode < 2 ? asks_answer(arena, asks, &given)
			  : answer_in_file(arena, bytes, asks, mode);
	assert((answer == NULL) == complained);
	return answer;
}

/* --- the run ---------------------------------------------------------------------------- */

static const struct value *
through_the_inbox(struct arena *arena, const char *answer, size_t size, bool checked)
{
	struct submission submission;

	submission_read(arena, "1-0",
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "r2"), "thread", value_str(arena, "t"), "resume",
		value_bin(arena, answer, size), NULL),
	    &submission);
	/* What the command line has let through is JSON. */
	assert(!checked || submission.error == NULL || size > INPUT_BYTES_MAX);
	return submission.error == NULL ? value_get(submission.options, "resume") : NULL;
}

/* The answer to the question of this id, in an answer that was taken. */
static const struct value *
part_for(const struct value *asks, const struct value *answer, const char *id)
{
	size_t i;

	for (i = 0; i < value_size(asks) && value_is(answer, VALUE_MAP); i++)
		if (value_has(answer, value_get_text(value_at(asks, i), "id")))
			return value_get(answer, id);
	return answer;
}

static bool
is_told(const struct run *run, const char *id, const struct value *answer)
{
	size_t i, count = 0;

	for (i = 0; i < run->events.count; i++) {
		const struct value *event = run->events.items[i];

		if (!value_text_is(value_get(event, "call"), id))
			continue;
		assert(value_text_is(value_get(event, "kind"), "decided"));
		assert(value_equal(value_get(event, "answer"), answer));
		count++;
	}
	assert(count <= 1);
	return count == 1;
}

static void
check_call(const struct run *run, const struct value *before, const struct value *after,
    const struct value *answer)
{
	const char *id = value_get_text(value_get(before, "ask"), "id");
	const struct value *answers = value_get(after, "answers");

	assert(value_equal(value_get(before, "key"), value_get(after, "key")));
	if (id == NULL || answer == NULL) {
		assert(value_equal(before, after));
		return;
	}
	assert(is_told(run, id, answer));
	assert(!value_has(after, "ask") && !value_has(after, "interrupt"));
	if (value_get_bool(before, "interrupt", false)) {
		assert(value_size(answers) == 1);
		assert(value_equal(value_at(answers, 0), answer));
		assert(!value_has(after, "outcome"));
	} else {
		assert(value_text_is(answer, "repeat") != value_has(after, "outcome"));
	}
}

static void
check_taken(const struct run *run, const struct value *round, const struct value *asks,
    const struct value *answer)
{
	size_t i, answered = 0;

	assert(value_size(run->round) == value_size(round));
	for (i = 0; i < value_size(round); i++) {
		const struct value *kept = round->pairs[i].value, *part = NULL;
		const char *id = value_get_text(value_get(kept, "ask"), "id");

		if (id != NULL)
			part = part_for(asks, answer, id);
		answered += part != NULL;
		check_call(run, kept,
		    value_get(run->round, value_text(round->pairs[i].key)), part);
	}
	assert(answered == run->events.count);
}

static void
resume(struct arena *arena, const struct value *round, const struct value *asks,
    const struct value *answer)
{
	struct run run = { .arena = arena,
		.batch = arena,
		.scratch = arena,
		.id = "r2",
		.thread = arena_strdup(arena, "t"),
		.round = round,
		.events = { .arena = arena } };
	enum go go = run_answer(&run, round, answer);

	assert(go == GO_ON || go == GO_FAIL);
	if (go == GO_ON) {
		check_taken(&run, round, asks, answer);
		return;
	}
	assert(run.round == round);
	assert(run.fault != NULL &&
	       utf8_valid(run.fault->message, strlen(run.fault->message)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, size };
	struct arena *arena = arena_new();
	const struct value *round = round_of(arena, &bytes), *asks, *answer;
	bool checked = bytes_number(&bytes, 4) < 3;
	const char *text;

	asks = asks_of(arena, value_map(arena, "status", value_str(arena, "interrupted"),
				  "round", round, NULL));
	if (checked) {
		text = answer_of(arena, &bytes, asks);
		size = text != NULL ? strlen(text) : 0;
	} else {
		text = bytes_text(&bytes, arena, TEXT_MAX, &size);
	}
	answer = text != NULL ? through_the_inbox(arena, text, size, checked) : NULL;
	if (answer != NULL && run_answer_wanted(round))
		resume(arena, round, asks, answer);
	arena_destroy(&arena);
	return 0;
}
