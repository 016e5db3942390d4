#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "id_table.h"
#include "memory.h"
#include "socket.h"

#define CHANNELS_MAX 4u
#define ANSWERS_MAX 16u
#define ANSWER_BYTES 256u

/* What was heard of one answer: pieces 0 to next - 1 as one text. */
struct heard {
	char text[ANSWER_BYTES];
	size_t size;
	int64_t answer, next; /* its number; of the next piece */
	bool gap;             /* a piece is missing: the text ends before it */
};

struct heard_run {
	struct id_key by_name;
	struct heard answers[ANSWERS_MAX];
	size_t count;
	bool repeated; /* told to begin again, or more answers than can be */
	bool finished;
	bool late; /* a piece after the end */
};

/* One broker's. What comes by several is in no order. */
struct channel {
	struct stream *stream;
	unsigned index;
	struct socket *socket;
};

struct stream {
	struct arena *arena;
	struct id_table *runs;
	struct channel channels[CHANNELS_MAX];
	size_t count;
	unsigned long pieces, late;
};

static struct heard_run *
run_of(struct stream *stream, unsigned channel, const char *id)
{
	const char *name = arena_printf(stream->arena, "%u %s", channel, id);
	struct heard_run *run = id_table_get(stream->runs, name);

	if (run != NULL)
		return run;
	run = arena_alloc(stream->arena, sizeof *run);
	id_table_put(stream->runs, &run->by_name, name, run);
	return run;
}

/* Its answer, which a piece of number 0 begins; or NULL: its beginning was lost, or there is no room. */
static struct heard *
answer_of(struct heard_run *run, int64_t answer, int64_t index)
{
	size_t i;

	for (i = 0; i < run->count; i++)
		if (run->answers[i].answer == answer)
			return &run->answers[i];
	run->repeated = run->repeated || run->count == ANSWERS_MAX;
	if (index != 0 || run->count == ANSWERS_MAX)
		return NULL;
	run->answers[run->count].answer = answer;
	return &run->answers[run->count++];
}

static void
hear_piece(struct heard_run *run, const struct value *token, const struct value *text,
    unsigned long *late)
{
	int64_t index = value_get_int(token, "index", 0);
	struct heard *heard = answer_of(run, value_get_int(token, "answer", 0), index);

	run->late = run->late || run->finished;
	*late += run->finished;
	if (heard == NULL)
		return;
	heard->gap = heard->gap || index != heard->next ||
		     heard->size + text->size > sizeof heard->text;
	if (heard->gap)
		return;
	memcpy(heard->text + heard->size, text->text, text->size);
	heard->size += text->size;
	heard->next++;
}

static void
on_event(void *arg, struct parts *parts, bool truncated)
{
	struct channel *channel = arg;
	struct stream *stream = channel->stream;
	struct arena *arena = arena_new();
	const struct value *event = NULL, *content;
	const char *error, *name;

	if (!truncated && parts->count == 2 &&
	    value_unpack(
		arena, parts_data(parts, 1), parts_size(parts, 1), &event, &error) == 0 &&
	    (name = value_get_text(event, "run")) != NULL) {
		struct heard_run *run = run_of(stream, channel->index, name);

		content = value_get(event, "content");
		if (value_text_is(value_get(event, "kind"), "token") &&
		    value_is(content, VALUE_STR)) {
			stream->pieces++;
			hear_piece(run, event, content, &stream->late);
		}
		run->repeated =
		    run->repeated || value_text_is(value_get(event, "kind"), "restart");
		run->finished =
		    run->finished || value_text_is(value_get(event, "kind"), "finished");
	}
	arena_destroy(&arena);
}

struct stream *
stream_new(struct fleet *fleet)
{
	struct stream *stream = xcalloc(1, sizeof *stream);
	const char *error;
	unsigned i;

	stream->arena = arena_new();
	stream->runs = id_table_new(1);
	for (i = 0; i < fleet->plan->counts[PARTY_BROKER] && i < CHANNELS_MAX; i++) {
		struct channel *channel = &stream->channels[i];

		*channel = (struct channel){ .stream = stream, .index = i };
		channel->socket = socket_sub(fleet->loop,
		    fleet_status(fleet, "client", i), on_event, channel, &error);
		if (channel->socket == NULL)
			abort();
		socket_subscribe(channel->socket, "run.");
		stream->count++;
	}
	return stream;
}

void
stream_destroy(struct stream **stream_p)
{
	struct stream *stream = *stream_p;
	size_t i;

	for (i = 0; i < stream->count; i++)
		socket_close(&stream->channels[i].socket, 0);
	id_table_destroy(&stream->runs);
	arena_destroy(&stream->arena);
	free(stream);
	*stream_p = NULL;
}

static bool
is_of(const struct heard *heard, const struct value *const *answers, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (heard->size <= answers[i]->size &&
		    memcmp(heard->text, answers[i]->text, heard->size) == 0)
			return true;
	return false;
}

static void
check_channel(struct tally *t, const struct heard_run *heard_run, const char *run,
    const struct value *const *answers, size_t count)
{
	size_t i;

	for (i = 0; i < heard_run->count; i++)
		tally(t, HOLDS_STREAM, is_of(&heard_run->answers[i], answers, count),
		    "run %s: heard \"%.*s\", which was not committed", run,
		    (int)heard_run->answers[i].size, heard_run->answers[i].text);
}

/* A call that was begun again is heard again, by the same broker or by another one; two workers
 * may write at once then, and one of them still when the other's answer is committed. So where
 * more answers were begun than there are, nothing is said. */
void
stream_check(struct stream *stream, struct tally *t, const char *run,
    const struct value *const *answers, size_t count)
{
	const struct heard_run *heard[CHANNELS_MAX];
	size_t begun = 0;
	unsigned i;

	for (i = 0; i < stream->count; i++) {
		heard[i] = id_table_get(
		    stream->runs, arena_printf(stream->arena, "%u %s", i, run));
		if (heard[i] != NULL)
			begun += heard[i]->repeated ? count + 1 : heard[i]->count;
	}
	/* A worker that loses one broker brings its RESULT by another, while pieces are still on
	 * the way to the first: the end may overtake them. */
	for (i = 0; i < stream->count && begun <= count; i++) {
		if (heard[i] == NULL)
			continue;
		check_channel(t, heard[i], run, answers, count);
		if (stream->count == 1)
			tally(t, HOLDS_STREAM, !heard[i]->late,
			    "run %s: a piece of its answer after its end", run);
	}
}

unsigned long
stream_late(const struct stream *stream)
{
	return stream->late;
}

unsigned long
stream_pieces(const struct stream *stream)
{
	return stream->pieces;
}
