#include "openai_stream.h"

#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "bounds.h"
#include "json.h"
#include "memory.h"
#include "openai_answer.h"
#include "openai_blocks.h"
#include "openai_details.h"

/* A tool call whose arguments come in pieces. */
struct call {
	int64_t index; /* the provider's */
	struct packet id, name, args;
	const struct value *beside; /* OPENAI_BESIDE, or NULL */
	size_t seen, depth; /* of args: what is_whole has looked at; braces open there */
	bool is_inside, is_shielded; /* a string; by the backslash before it */
};

struct stream {
	struct answer_stream base;
	struct packet content, refusal, thought;
	bool has_thought; /* there may be nothing in it */
	struct openai_details details;
	struct call *calls;
	size_t call_count;
	const struct value *head; /* of the first event that has one: id, model */
	bool has_head;
	bool has_choice;                   /* there was something of an answer */
	const struct value *finish_reason; /* of the choice, once it is there */
	const struct value *usage;         /* what was said last, in counts */
	struct arena *counts;
};

static int
unreadable(struct stream *stream, const char *reason)
{
	return answer_stream_unreadable(&stream->base, reason);
}

static void
release(struct answer_stream *base)
{
	struct stream *stream = (struct stream *)base;

	for (size_t i = 0; i < stream->call_count; i++) {
		packet_release(&stream->calls[i].id);
		packet_release(&stream->calls[i].name);
		packet_release(&stream->calls[i].args);
	}
	free(stream->calls);
	stream->calls = NULL;
	stream->call_count = 0;
	packet_release(&stream->content);
	packet_release(&stream->refusal);
	packet_release(&stream->thought);
	openai_details_release(&stream->details);
	arena_destroy(&stream->counts);
}

/* --- deltas ------------------------------------------------------------------------ */

static void
append(struct stream *stream, struct packet *packet, const struct value *text)
{
	answer_stream_keep(&stream->base, packet, text);
}

static bool
is_same(const struct packet *packet, const struct value *text)
{
	return packet->size == text->size &&
	       memcmp(packet->data, text->text, text->size) == 0;
}

static bool
begins_object(const struct value *args)
{
	const char *text = value_is(args, VALUE_STR) ? value_text(args) : "";

	return value_is(args, VALUE_MAP) || text[strspn(text, " \t\r\n")] == '{';
}

/* Looks at what has come of call's arguments since it looked last: an object may be long, and come in many pieces.
 * True when it has ended, so that there is nothing to add. */
static bool
is_whole(struct call *call)
{
	for (; call->seen < call->args.size; call->seen++) {
		char at = call->args.data[call->seen];
		bool was_shielded = call->is_shielded;

		call->is_shielded = call->is_inside && at == '\\' && !was_shielded;
		if (at == '"' && !was_shielded)
			call->is_inside = !call->is_inside;
		else if (!call->is_inside && at == '{')
			call->depth++;
		else if (!call->is_inside && at == '}' && call->depth > 0)
			call->depth--;
	}
	return call->args.size > 0 && call->depth == 0 && !call->is_inside &&
	       call->args.data[call->args.size - 1] == '}';
}

/* True when delta names a function although call has all that it needs: where calls have no ids, and are sent
 * whole, it is a call of its own. */
static bool
is_another(struct call *call, const struct value *delta)
{
	const struct value *function = value_get(delta, "function");

	return value_size(value_get(delta, "id")) == 0 && call->name.size > 0 &&
	       value_size(value_get(function, "name")) > 0 &&
	       begins_object(value_get(function, "arguments")) && is_whole(call);
}

/* True when delta may go on with call. Some servers give every call the same index, some
 * none: an id that is another one begins another call. */
static bool
goes_on(const struct call *call, const struct value *delta)
{
	const struct value *id = value_get(delta, "id");

	if (call->index != value_get_int(delta, "index", call->index))
		return false;
	return !value_is(id, VALUE_STR) || id->size == 0 || call->id.size == 0 ||
	       is_same(&call->id, id);
}

/* True when delta can only be more of call, in spite of its id: some servers make a new one for each piece. */
static bool
is_more_of(const struct call *call, const struct value *delta)
{
	const struct value *index = value_get(delta, "index");

	return value_is(index, VALUE_INT) && index->integer == call->index &&
	       call->name.size > 0 &&
	       value_size(value_get(value_get(delta, "function"), "name")) == 0;
}

/* Returns the latest call that fits delta, or NULL. */
static struct call *
latest(const struct stream *stream, const struct value *delta,
    bool (*fits)(const struct call *call, const struct value *delta))
{
	size_t i = stream->call_count;

	while (i > 0 && !fits(&stream->calls[i - 1], delta))
		i--;
	return i > 0 ? &stream->calls[i - 1] : NULL;
}

/* Returns the call that delta belongs to, the latest that fits or a new one; NULL when
 * there are too many. */
static struct call *
call_for(struct stream *stream, const struct value *delta)
{
	struct call *call = latest(stream, delta, goes_on);

	if (call == NULL)
		call = latest(stream, delta, is_more_of);
	if (call != NULL && !is_another(call, delta))
		return call;
	if (stream->call_count == TOOL_CALLS_MAX)
		return NULL;
	if (stream->calls == NULL)
		stream->calls = xcalloc(TOOL_CALLS_MAX, sizeof *stream->calls);
	call = &stream->calls[stream->call_count];
	call->index = value_get_int(delta, "index", (int64_t)stream->call_count);
	stream->call_count++;
	return call;
}

/* Ids and names come once; servers that repeat them mean the same one. */
static void
append_once(struct stream *stream, struct packet *packet, const struct value *text)
{
	if (packet->size == 0)
		append(stream, packet, text);
}

/* Comes once, too, with the call or behind it. */
static void
take_beside(struct stream *stream, struct call *call, const struct value *beside)
{
	if (call->beside != NULL || !value_is(beside, VALUE_MAP))
		return;
	call->beside = value_copy(stream->base.arena, beside);
	stream->base.gathered += stream->base.event_size;
}

static int
take_call(struct stream *stream, const struct value *delta)
{
	const struct value *function = value_get(delta, "function");
	const struct value *args = value_get(function, "arguments");
	struct call *call = call_for(stream, delta);

	if (call == NULL)
		return unreadable(stream, ANSWER_CALLS_FAULT);
	append_once(stream, &call->id, value_get(delta, "id"));
	append_once(stream, &call->name, value_get(function, "name"));
	take_beside(stream, call, value_get(delta, OPENAI_BESIDE));
	if (value_is(args, VALUE_MAP)) {
		json_write(&call->args, args);
		stream->base.gathered += stream->base.event_size;
	} else {
		append(stream, &call->args, args);
	}
	return 0;
}

static void
take_text(struct stream *stream, const struct value *text)
{
	append(stream, &stream->content, text);
	answer_stream_show(&stream->base, text);
}

/* Servers whose models think send parts, of which the text is the answer. */
static void
take_content(struct stream *stream, const struct value *content)
{
	if (!value_is(content, VALUE_ARRAY)) {
		take_text(stream, content);
		return;
	}
	for (size_t i = 0; i < content->size; i++)
		if (value_text_is(value_get(content->items[i], "type"), "text"))
			take_text(stream, value_get(content->items[i], "text"));
}

static int
take_delta(struct stream *stream, const struct value *delta)
{
	const struct value *calls = value_get(delta, "tool_calls");
	const struct value *thought = value_get(delta, "reasoning_content");

	take_content(stream, value_get(delta, "content"));
	append(stream, &stream->refusal, value_get(delta, "refusal"));
	append(stream, &stream->thought, thought);
	stream->has_thought = stream->has_thought || value_is(thought, VALUE_STR);
	if (openai_details_add(&stream->details, &stream->base,
		value_get(delta, "reasoning_details")) == -1)
		return -1;
	for (size_t i = 0; i < value_size(calls); i++)
		if (take_call(stream, value_at(calls, i)) == -1)
			return -1;
	return 0;
}

/* Only the first choice is ours: we never ask for more. */
static const struct value *
first_choice(const struct value *chunk)
{
	const struct value *choice = value_at(value_get(chunk, "choices"), 0);

	return value_get_int(choice, "index", 0) == 0 ? choice : NULL;
}

/* Some servers count in every event: of all that, the last is kept. */
static void
take_usage(struct stream *stream, const struct value *usage)
{
	if (!value_is(usage, VALUE_MAP))
		return;
	arena_destroy(&stream->counts);
	stream->counts = arena_new();
	stream->usage = openai_usage(stream->counts, usage, &openai_chat_counts);
}

static bool
says_whose(const struct value *chunk)
{
	return value_size(value_get(chunk, "id")) +
		   value_size(value_get(chunk, "model")) >
	       0;
}

/* Azure's first event is about the request alone: its id and model are empty. */
static void
take_head(struct stream *stream, const struct value *chunk)
{
	struct arena *arena = stream->base.arena;

	if (stream->head != NULL && (stream->has_head || !says_whose(chunk)))
		return;
	stream->head = value_copy(arena, openai_metadata(arena, chunk, NULL));
	stream->has_head = says_whose(chunk);
}

static int
take(struct answer_stream *base, const char *event, const struct value *chunk)
{
	struct stream *stream = (struct stream *)base;
	const struct value *choice = first_choice(chunk);
	const struct value *finish = value_get(choice, "finish_reason");

	(void)event;
	take_head(stream, chunk);
	stream->has_choice = stream->has_choice || choice != NULL;
	take_usage(stream, value_get(chunk, "usage"));
	if (take_delta(stream, value_get(choice, "delta")) == -1)
		return -1;
	/* Some servers have an empty one in each event, where others have null. */
	if (value_is(finish, VALUE_STR) && finish->size > 0) {
		stream->finish_reason = value_copy(base->arena, finish);
		base->gathered += finish->size;
	}
	return 0;
}

/* --- the whole ----------------------------------------------------------------------- */

static const struct value *
packet_text(struct arena *arena, const struct packet *packet)
{
	return value_strn(arena, packet->data, packet->size);
}

static const struct value *
assemble(struct answer_stream *base)
{
	struct stream *stream = (struct stream *)base;
	struct arena *arena = base->arena;
	struct answer answer = { .arena = arena,
		.content = packet_text(arena, &stream->content),
		.usage = stream->usage == NULL ? NULL : value_copy(arena, stream->usage),
		.extra = openai_extra(arena, packet_text(arena, &stream->refusal),
		    stream->has_thought ? packet_text(arena, &stream->thought) : NULL,
		    openai_details_list(&stream->details, arena)) };

	if (!stream->has_choice) {
		unreadable(stream, "it has no message");
		return NULL;
	}
	answer.metadata =
	    value_map_with(arena, stream->head, "finish_reason", stream->finish_reason);
	for (size_t i = 0; i < stream->call_count; i++) {
		const struct call *call = &stream->calls[i];

		if (call->name.size == 0) {
			unreadable(stream, "a tool call names no function");
			return NULL;
		}
		openai_call(&answer, value_text(packet_text(arena, &call->id)),
		    value_text(packet_text(arena, &call->name)),
		    packet_text(arena, &call->args), call->beside);
	}
	return answer_message(&answer);
}

/* The end was announced, or a finish_reason came: some servers leave out either. */
static bool
is_complete(const struct answer_stream *base)
{
	const struct stream *stream = (const struct stream *)base;

	return stream->head != NULL && (base->done || stream->finish_reason != NULL);
}

const struct stream_type openai_stream = {
	.size = sizeof(struct stream),
	.take = take,
	.is_complete = is_complete,
	.assemble = assemble,
	.answer = openai_answer,
	.release = release,
};
