#include "model_replies.h"

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_BYTES_MAX 2048

static struct reply
reply_new(const char *status, const char *type, const char *body)
{
	struct reply reply;
	int size = asprintf(&reply.bytes,
	    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", status,
	    type, strlen(body), body);

	if (size == -1)
		err(EXIT_FAILURE, "reply");
	reply.size = (size_t)size;
	return reply;
}

static struct reply
plain_reply(const char *message, const char *finish)
{
	char body[REPLY_BYTES_MAX];

	snprintf(body, sizeof body,
	    "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1,"
	    "\"model\":\"bench\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
	    "\"assistant\",%s},\"finish_reason\":\"%s\"}],\"usage\":{\"prompt_tokens\":"
	    "100,"
	    "\"completion_tokens\":20,\"total_tokens\":120}}",
	    message, finish);
	return reply_new("200 OK", "application/json", body);
}

static struct reply
stream_reply(const char *delta, const char *finish)
{
	char body[REPLY_BYTES_MAX];

	snprintf(body, sizeof body,
	    "data: "
	    "{\"id\":\"chatcmpl-bench\",\"model\":\"bench\",\"choices\":[{\"index\":0,"
	    "\"delta\":{\"role\":\"assistant\",%s},\"finish_reason\":null}]}\n\n"
	    "data: "
	    "{\"id\":\"chatcmpl-bench\",\"model\":\"bench\",\"choices\":[{\"index\":0,"
	    "\"delta\":{},\"finish_reason\":\"%s\"}]}\n\n"
	    "data: [DONE]\n\n",
	    delta, finish);
	return reply_new("200 OK", "text/event-stream", body);
}

/* Writes text as it stands inside a JSON string. */
static void
escape(char *to, size_t room, const char *text)
{
	size_t size = 0;

	for (; *text != '\0' && size + 3 < room; text++) {
		if (*text == '"' || *text == '\\')
			to[size++] = '\\';
		to[size++] = *text;
	}
	if (*text != '\0') {
		errno = E2BIG;
		err(EXIT_FAILURE, "arguments");
	}
	to[size] = '\0';
}

void
replies_make(struct replies *replies, const char *tool, const char *arguments)
{
	const char *text = "\"content\":\"All looked up: this is the final answer.\"";
	char call[REPLY_BYTES_MAX / 2], escaped[REPLY_BYTES_MAX / 4];

	escape(escaped, sizeof escaped, arguments);
	for (unsigned i = 0; i < replies->rounds; i++) {
		snprintf(call, sizeof call,
		    "\"content\":\"\",\"tool_calls\":[{\"index\":0,\"id\":\"call_%u\","
		    "\"type\":\"function\",\"function\":{\"name\":\"%s\",\"arguments\":"
		    "\"%s\"}}]",
		    i, tool, escaped);
		replies->calls[0][i] = plain_reply(call, "tool_calls");
		replies->calls[1][i] = stream_reply(call, "tool_calls");
	}
	replies->final[0] = plain_reply(text, "stop");
	replies->final[1] = stream_reply(text, "stop");
	replies->health = reply_new("200 OK", "text/plain", "ok\n");
	replies->refusal = reply_new("404 Not Found", "application/json",
	    "{\"error\":{\"message\":\"POST to .../chat/completions\"}}");
}

void
replies_free(struct replies *replies)
{
	for (unsigned i = 0; i < replies->rounds; i++) {
		free(replies->calls[0][i].bytes);
		free(replies->calls[1][i].bytes);
	}
	free(replies->final[0].bytes);
	free(replies->final[1].bytes);
	free(replies->health.bytes);
	free(replies->refusal.bytes);
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

/* A role is the only string that is just "assistant"; in content its quotes are escaped. */
static const struct reply *
chat_reply(const struct replies *replies, const char *body, size_t size)
{
	bool streamed = count(body, size, "\"stream\":true", 1) > 0 ||
			count(body, size, "\"stream\": true", 1) > 0;
	unsigned turn = count(body, size, "\"assistant\"", replies->rounds);

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
