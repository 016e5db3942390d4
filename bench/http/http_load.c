#include "http_load.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fiber.h"
#include "http.h"
#include "json.h"
#include "../rig.h"
#include "value.h"

#define TIMEOUT_MS 60000u
#define MESSAGES (2 + 2 * (size_t)RIG_ROUNDS) /* a question, calls, last words */
#define BODY                                                                             \
	"{\"assistant_id\":\"bench\",\"if_not_exists\":\"create\",\"stream_mode\":["     \
	"\"messages-tuple\"],\"input\":{\"messages\":[{\"role\":\"user\",\"content\":"   \
	"\"What is three times seventeen? Work it out, then check it twice.\"}]}}"
#define FRAME "event: messages"
#define FAILURE "event: error"

struct http_load {
	const struct http_load_kind *kind;
	struct http *http;
	size_t runs, next, fibers;
	double *latencies_ms;
};

/* A thread's id must be a UUID for LangGraph's server. */
static const char *
new_thread(struct arena *arena)
{
	unsigned char bytes[16];

	if (getentropy(bytes, sizeof bytes) == -1)
		err(EXIT_FAILURE, "getentropy");
	return arena_printf(arena,
	    "%02x%02x%02x%02x-%02x%02x-4%x%02x-8%x%02x-%02x%02x%02x%02x%02x%02x",
	    bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6] & 15u,
	    bytes[7], bytes[8] & 15u, bytes[9], bytes[10], bytes[11], bytes[12],
	    bytes[13], bytes[14], bytes[15]);
}

/* What the agent of bench/agent.yaml must have said and done: who speaks is `type` for LangGraph's server, too. */
static bool
is_right(const struct value *state)
{
	const struct value *messages = value_get(state, "messages"), *message;
	size_t i, count = value_size(messages);

	for (i = 0; i < count; i++) {
		message = value_at(messages, i);
		if (!value_text_is(value_get(message, "type"), i == 0       ? "human"
							       : i % 2 == 1 ? "ai"
									    : "tool"))
			return false;
		if (i > 0 && i % 2 == 0 &&
		    !value_text_is(value_get(message, "content"), RIG_TOOL_ANSWER))
			return false;
	}
	return count == MESSAGES;
}

/* What has come of a stream. */
struct stream {
	size_t frames, bytes;
	bool has_failed;
	char tail[sizeof FRAME]; /* its last bytes: a line may be cut anywhere */
	size_t tail_size;
};

/* How often line stands in text. */
static size_t
count(const char *text, size_t size, const char *line)
{
	const char *end = text + size, *found;
	size_t counted = 0, line_size = strlen(line);

	while ((found = memmem(text, (size_t)(end - text), line, line_size)) != NULL) {
		text = found + line_size;
		counted++;
	}
	return counted;
}

static int
on_data(void *arg, const char *data, size_t size)
{
	struct stream *stream = arg;
	struct packet text = { 0 };
	size_t kept;

	packet_append(&text, stream->tail, stream->tail_size);
	packet_append(&text, data, size);
	stream->bytes += size;
	stream->frames += count(text.data, text.size, FRAME);
	stream->has_failed |= count(text.data, text.size, FAILURE) > 0;
	kept = text.size < sizeof FRAME - 2 ? text.size : sizeof FRAME - 2;
	memcpy(stream->tail, text.data + text.size - kept, kept);
	stream->tail_size = kept;
	packet_release(&text);
	return 0;
}

/* Tokens that come together may be one frame; all of the text must be there. */
static bool
is_told(const struct stream *stream, size_t tokens)
{
	return !stream->has_failed && stream->frames > 2 * (size_t)RIG_ROUNDS &&
	       stream->bytes > tokens * HTTP_LOAD_TOKEN_BYTES * (RIG_ROUNDS + 1);
}

static void
ask(struct http_load *load, struct arena *arena)
{
	static const char *const headers[] = { "Content-Type: application/json", NULL };
	const struct http_load_kind *kind = load->kind;
	const char *url = arena_printf(arena, "%s/threads/%s/runs/%s", kind->url,
	    new_thread(arena), kind->tokens > 0 ? "stream" : "wait");
	struct stream stream = { 0 };
	const struct http_request request = { .method = "POST",
		.url = url,
		.headers = headers,
		.body = BODY,
		.body_size = sizeof BODY - 1,
		.timeout_ms = TIMEOUT_MS,
		.on_data = kind->tokens > 0 ? on_data : NULL,
		.arg = &stream };
	struct http_response response;

	http_send(load->http, arena, &request, &response);
	if (response.failure != HTTP_OK)
		errx(EXIT_FAILURE, "%s: %s", url, response.reason);
	if (response.status != 200)
		errx(EXIT_FAILURE, "%s: status %ld: %.400s", url, response.status,
		    response.body);
	if (kind->tokens > 0 && !is_told(&stream, kind->tokens))
		errx(EXIT_FAILURE, "%s has brought %zu messages in %zu bytes%s", url,
		    stream.frames, stream.bytes, stream.has_failed ? ", and failed" : "");
	if (kind->tokens == 0 &&
	    !is_right(json_parse(arena, response.body, response.body_size, NULL)))
		errx(EXIT_FAILURE, "%s has not ended as it must: %.2000s", url,
		    response.body);
}

static void
work(void *arg)
{
	struct http_load *load = arg;
	struct arena *arena;
	uint64_t begin_us;
	size_t run;

	while (load->next < load->runs) {
		run = load->next++;
		arena = arena_new();
		begin_us = loop_now_us();
		ask(load, arena);
		if (load->latencies_ms != NULL)
			load->latencies_ms[run] =
			    (double)(loop_now_us() - begin_us) / 1e3;
		arena_destroy(&arena);
	}
	load->fibers--;
}

static bool
has_ended(void *arg)
{
	const struct http_load *load = arg;

	return load->fibers == 0;
}

double
http_load_run(struct loop *loop, const struct http_load_kind *kind, size_t runs,
    double *latencies_ms)
{
	struct http_load load = { .kind = kind,
		.http = http_new(loop),
		.runs = runs,
		.latencies_ms = latencies_ms };
	uint64_t begin_us = loop_now_us();
	double seconds;

	for (; load.fibers < kind->in_flight; load.fibers++)
		if (fiber_start(loop, "asker", work, &load) == NULL)
			errx(EXIT_FAILURE, "no room for %zu fibers", kind->in_flight);
	loop_run_until(loop, has_ended, &load);
	seconds = (double)(loop_now_us() - begin_us) / 1e6;
	http_destroy(&load.http);
	return seconds;
}
