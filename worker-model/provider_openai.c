/* provider_openai: OpenAI's chat completions, and the many servers that speak the same.
 */
#include "openai_answer.h"
#include "openai_moderation.h"
#include "openai_request.h"
#include "openai_stream.h"
#include "provider.h"
#include "provider_exchange.h"

static size_t
headers(const struct endpoint *endpoint, const struct ask *ask, const char *headers_r[])
{
	if (endpoint->key == NULL)
		return 0;
	headers_r[0] =
	    arena_printf(ask->arena, "Authorization: Bearer %s", endpoint->key);
	return 1;
}

static void *
open_stream(struct arena *arena, const char *endpoint,
    void (*on_text)(void *arg, const char *text, size_t size), void *arg)
{
	struct openai_stream *stream = arena_alloc(arena, sizeof *stream);

	openai_stream_init(stream, arena, endpoint);
	stream->on_text = on_text;
	stream->arg = arg;
	return stream;
}

static int
feed(void *stream, const char *data, size_t size)
{
	return openai_stream_feed(stream, data, size);
}

static struct fault *
fault(const void *stream)
{
	return ((const struct openai_stream *)stream)->fault;
}

static bool
is_done(const void *stream)
{
	return ((const struct openai_stream *)stream)->done;
}

static const struct value *
end(void *stream, struct fault **fault_r)
{
	return openai_stream_end(stream, fault_r);
}

static void
close_stream(void *stream)
{
	openai_stream_release(stream);
}

static const struct dialect openai = {
	.request = openai_request,
	.headers = headers,
	.answer = openai_answer,
	.open = open_stream,
	.feed = feed,
	.fault = fault,
	.is_done = is_done,
	.end = end,
	.close = close_stream,
};

/* Never streamed: it is a call that a middleware makes by itself. */
static const struct dialect moderation = {
	.request = openai_moderation_request,
	.headers = headers,
	.answer = openai_moderation_answer,
};

static const struct value *
openai_send(
    const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	struct endpoint beside = *endpoint;

	if (!ask->moderates)
		return provider_exchange(&openai, endpoint, ask, fault_r);
	beside.url = openai_moderation_url(ask->arena, endpoint->url);
	return provider_exchange(&moderation, &beside, ask, fault_r);
}

const struct provider provider_openai = {
	.name = "openai",
	.moderates = true,
	.send = openai_send,
};
