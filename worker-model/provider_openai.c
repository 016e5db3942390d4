/* provider_openai: OpenAI's chat completions, and the many servers that speak the same; its Responses API, and those
 * that speak that. */
#include "openai_answer.h"
#include "openai_embeddings.h"
#include "openai_moderation.h"
#include "openai_request.h"
#include "openai_stream.h"
#include "openai_url.h"
#include "provider.h"
#include "provider_exchange.h"
#include "responses_answer.h"
#include "responses_choice.h"
#include "responses_request.h"
#include "responses_stream.h"

static size_t
headers(const struct endpoint *endpoint, const struct ask *ask, const char *headers_r[])
{
	if (endpoint->key == NULL)
		return 0;
	headers_r[0] =
	    arena_printf(ask->arena, "Authorization: Bearer %s", endpoint->key);
	return 1;
}

static const struct dialect openai = {
	.request = openai_request,
	.headers = headers,
	.answer = openai_answer,
	.stream = &openai_stream,
};

static const struct dialect responses = {
	.request = responses_request,
	.headers = headers,
	.answer = responses_answer,
	.stream = &responses_stream,
	.begins_early = true,
};

/* Never streamed: it is a call that a middleware makes by itself. */
static const struct dialect moderation = {
	.request = openai_moderation_request,
	.headers = headers,
	.answer = openai_moderation_answer,
};

static const struct dialect embedding = {
	.request = openai_embeddings_request,
	.headers = headers,
	.answer = openai_embeddings_answer,
};

static const struct value *
openai_send(
    const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	struct endpoint beside = *endpoint;

	if (ask->task == TASK_MODERATION) {
		beside.url = openai_url_beside(ask->arena, endpoint->url, "/moderations");
		return provider_exchange(&moderation, &beside, ask, fault_r);
	}
	if (ask->task == TASK_EMBEDDINGS) {
		beside.url = openai_url_beside(ask->arena, endpoint->url, "/embeddings");
		return provider_exchange(&embedding, &beside, ask, fault_r);
	}
	if (!responses_chosen(endpoint, ask))
		return provider_exchange(&openai, endpoint, ask, fault_r);
	beside.url = openai_url_beside(ask->arena, endpoint->url, "/responses");
	return provider_exchange(&responses, &beside, ask, fault_r);
}

const struct provider provider_openai = {
	.name = "openai",
	.moderates = true,
	.embeds = true,
	.send = openai_send,
};
