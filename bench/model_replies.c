#include "model_replies.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AIDE "\"model\":\"aide\""
#define MODEL_BYTES ((size_t)256)           /* the model's name stands in front */
#define STREAM_HEAD_BYTES ((size_t)8 << 10) /* where "stream" is looked for: the begin, */
#define STREAM_TAIL_BYTES ((size_t)24 << 10) /* and the end, where tools may stand, too */

/* A text that grows. */
struct text {
	FILE *file;
	char *bytes;
	size_t size;
};

static void
text_open(struct text *text)
{
	text->file = open_memstream(&text->bytes, &text->size);
	if (text->file == NULL)
		err(EXIT_FAILURE, "reply");
}

static void
text_close(struct text *text)
{
	if (fclose(text->file) == EOF)
		err(EXIT_FAILURE, "reply");
}

static void *
room_for(size_t count, size_t size)
{
	void *room = calloc(count, size);

	if (room == NULL)
		err(EXIT_FAILURE, "reply");
	return room;
}

/* ends: where in body its parts end, count of them; both may be none. */
static struct reply
reply_new(const char *status, const char *type, const char *body, const size_t *ends,
    size_t count)
{
	struct reply reply = { .count = count > 0 ? count : 1 };
	int size = asprintf(&reply.bytes,
	    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", status,
	    type, strlen(body), body);

	if (size == -1)
		err(EXIT_FAILURE, "reply");
	reply.size = (size_t)size;
	reply.ends = room_for(reply.count, sizeof *reply.ends);
	for (size_t i = 0; i < count; i++)
		reply.ends[i] = ends[i] + reply.size - strlen(body);
	reply.ends[reply.count - 1] = reply.size;
	return reply;
}

static unsigned made; /* replies: LangGraph takes two messages of one id for one */

static struct reply
plain_reply(const char *content, const char *calls, const char *finish)
{
	struct text body;
	struct reply reply;

	text_open(&body);
	fprintf(body.file,
	    "{\"id\":\"chatcmpl-%u\",\"object\":\"chat.completion\",\"created\":1,"
	    "\"model\":\"bench\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
	    "\"assistant\",\"content\":\"%s\"%s},\"finish_reason\":\"%s\"}],\"usage\":{"
	    "\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120}}",
	    made++, content, calls, finish);
	text_close(&body);
	reply = reply_new("200 OK", "application/json", body.bytes, NULL, 0);
	free(body.bytes);
	return reply;
}

static void
put_event(struct text *body, const char *delta, int size, const char *finish)
{
	fprintf(body->file,
	    "data: {\"id\":\"chatcmpl-%u\",\"object\":\"chat.completion.chunk\","
	    "\"created\":1,\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{%.*s}"
	    ","
	    "\"finish_reason\":%s}]}\n\n",
	    made, size, delta, finish);
}

/* One event for each piece of the text, one for the calls, one for the end. */
static struct reply
stream_reply(const char *content, unsigned pieces, const char *calls, const char *finish)
{
	size_t length = strlen(content), done = 0, count = 0, *ends;
	struct text body;
	struct reply reply;
	char reason[32];

	ends = room_for(pieces + 3, sizeof *ends);
	text_open(&body);
	for (unsigned i = 0; i < pieces; i++) {
		size_t size = length * (i + 1) / pieces - done;
		char *delta;

		if (asprintf(&delta, "%s\"content\":\"%.*s\"",
			i == 0 ? "\"role\":\"assistant\"," : "", (int)size,
			content + done) == -1)
			err(EXIT_FAILURE, "reply");
		put_event(&body, delta, (int)strlen(delta), "null");
		free(delta);
		done += size;
		ends[count++] = (size_t)ftell(body.file);
	}
	if (*calls != '\0')
		put_event(&body, calls + 1, (int)strlen(calls + 1), "null");
	snprintf(reason, sizeof reason, "\"%s\"", finish);
	put_event(&body, "", 0, reason);
	fputs("data: [DONE]\n\n", body.file);
	ends[count++] = (size_t)ftell(body.file);
	text_close(&body);
	made++;
	reply = reply_new("200 OK", "text/event-stream", body.bytes, ends, count);
	free(body.bytes);
	free(ends);
	return reply;
}

/* Writes text as it stands inside a JSON string. */
static void
put_escaped(FILE *file, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
}

/* Behind a content: the round's calls of tool. */
static char *
calls_of(const struct replies *replies, unsigned round, const char *tool,
    const char *arguments)
{
	unsigned count = replies->parallel > 0 ? replies->parallel : 1;
	struct text calls;

	text_open(&calls);
	fputs(",\"tool_calls\":[", calls.file);
	for (unsigned i = 0; i < count; i++) {
		fprintf(calls.file,
		    "%s{\"index\":%u,\"id\":\"call_%u_%u\",\"type\":\"function\","
		    "\"function\":{\"name\":\"%s\",\"arguments\":\"",
		    i > 0 ? "," : "", i, round, i, tool);
		put_escaped(calls.file, arguments);
		fputs("\"}}", calls.file);
	}
	fputc(']', calls.file);
	text_close(&calls);
	return calls.bytes;
}

/* Words, to size bytes; 0: what is said otherwise. */
static char *
content_of(size_t size, const char *otherwise)
{
	static const char words[] = "the tool said so and then more was told than that ";
	char *content = size == 0 ? strdup(otherwise) : room_for(size + 1, 1);

	if (content == NULL)
		err(EXIT_FAILURE, "reply");
	for (size_t i = 0; i < size; i++)
		content[i] = words[i % (sizeof words - 1)];
	return content;
}

void
replies_make(struct replies *replies, const char *tool, const char *arguments)
{
	unsigned pieces = replies->pieces > 0 ? replies->pieces : 1;
	char *beside = content_of(replies->content_bytes, "");
	char *last = content_of(replies->content_bytes, FINAL_TEXT);

	for (unsigned i = 0; i < replies->rounds; i++) {
		char *calls = calls_of(replies, i, tool, arguments);

		replies->calls[0][i] = plain_reply(beside, calls, "tool_calls");
		replies->calls[1][i] = stream_reply(beside, pieces, calls, "tool_calls");
		free(calls);
	}
	replies->final[0] = plain_reply(last, "", "stop");
	replies->final[1] = stream_reply(last, pieces, "", "stop");
	replies->health = reply_new("200 OK", "text/plain", "ok\n", NULL, 0);
	replies->refusal = reply_new("404 Not Found", "application/json",
	    "{\"error\":{\"message\":\"POST to .../chat/completions\"}}", NULL, 0);
	free(beside);
	free(last);
}

static void
reply_free(struct reply *reply)
{
	free(reply->bytes);
	free(reply->ends);
}

void
replies_free(struct replies *replies)
{
	for (unsigned i = 0; i < replies->rounds; i++) {
		reply_free(&replies->calls[0][i]);
		reply_free(&replies->calls[1][i]);
	}
	reply_free(&replies->final[0]);
	reply_free(&replies->final[1]);
	reply_free(&replies->health);
	reply_free(&replies->refusal);
}

/* How often needle stands in the size bytes at text, up to max. */
static unsigned
count(const char *text, size_t size, const char *needle, unsigned max)
{
	size_t needle_size = strlen(needle);
	const char *end = text + size, *found;
	unsigned found_count = 0;

	while (found_count < max && (found = memmem(text, (size_t)(end - text), needle,
					 needle_size)) != NULL) {
		text = found + needle_size;
		found_count++;
	}
	return found_count;
}

static bool
says_stream(const char *text, size_t size)
{
	static const char name[] = "\"stream\":";
	const char *found = memmem(text, size, name, sizeof name - 1), *end = text + size;

	if (found == NULL)
		return false;
	for (found += sizeof name - 1; found < end && *found == ' '; found++)
		;
	return end - found >= 4 && memcmp(found, "true", 4) == 0;
}

/* It stands beside the messages, before or behind them: what is large is not looked through. */
static bool
is_streamed(const char *body, size_t size)
{
	if (size <= STREAM_HEAD_BYTES + STREAM_TAIL_BYTES)
		return says_stream(body, size);
	return says_stream(body, STREAM_HEAD_BYTES) ||
	       says_stream(body + size - STREAM_TAIL_BYTES, STREAM_TAIL_BYTES);
}

/* A role is the only string that is just "assistant"; in content its quotes are escaped. */
static const struct reply *
chat_reply(const struct replies *replies, const char *body, size_t size)
{
	bool streamed = is_streamed(body, size);
	unsigned turn;

	if (memmem(body, size < MODEL_BYTES ? size : MODEL_BYTES, AIDE,
		sizeof AIDE - 1) != NULL)
		return &replies->final[streamed];
	turn = count(body, size, "\"assistant\"", replies->rounds);

	return turn < replies->rounds ? &replies->calls[streamed][turn]
				      : &replies->final[streamed];
}

const struct reply *
replies_for(const struct replies *replies, const char *head, size_t head_size,
    const char *body, size_t body_size)
{
	if (strncmp(head, "GET ", 4) == 0)
		return &replies->health;
	if (strncmp(head, "POST ", 5) == 0 &&
	    memmem(head, head_size, "/chat/completions ", 18) != NULL)
		return chat_reply(replies, body, body_size);
	return &replies->refusal;
}
