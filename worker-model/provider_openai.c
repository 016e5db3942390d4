/* provider_openai: OpenAI's chat completions, and the many servers that speak the same; its Responses API, and those
 * that speak that. Azure speaks both, at URLs of its own. */
#include <string.h>

#include "azure.h"
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
headers(const struct endpoint *endpoint, const struct ask *ask, const struct packet *body,
    const char *headers_r[])
{
	(void)body;
	if (endpoint->key == NULL)
		return 0;
	headers_r[0] =
	    endpoint->key_header == NULL
		? arena_printf(ask->arena, "Authorization: Bearer %s", endpoint->key)
		: arena_printf(ask->arena, "%s: %s", endpoint->key_header, endpoint->key);
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

static const struct dialect embedding_numbers = {
	.request = openai_embeddings_request_numbers,
	.headers = headers,
	.answer = openai_embeddings_answer,
};

/* Whether what was asked may be as wrong as that. */
static bool
is_refusal(const struct fault *fault)
{
	return strcmp(fault->type, "BadRequestError") == 0 ||
	       strcmp(fault->type, "UnprocessableEntityError") == 0;
}

/* Some servers refuse what they do not know: those are asked for numbers from then on. */
static const struct value *
embed(const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	bool *takes_no_base64 = endpoint->takes_no_base64;
	const struct value *message;

	if (takes_no_base64 != NULL && *takes_no_base64)
		return provider_exchange(&embedding_numbers, endpoint, ask, fault_r);
	message = provider_exchange(&embedding, endpoint, ask, fault_r);
	if (message != NULL || !is_refusal(*fault_r))
		return message;
	message = provider_exchange(&embedding_numbers, endpoint, ask, fault_r);
	if (message != NULL && takes_no_base64 != NULL)
		*takes_no_base64 = true;
	return message;
}

static const char *
url_of(const struct endpoint *endpoint, const struct ask *ask, const char *path)
{
	return endpoint->provider == &provider_azure
		   ? azure_url(ask->arena, endpoint, ask->model, path)
		   : openai_url_beside(ask->arena, endpoint->url, path);
}

/* Azure's stream begins with what was found in the request, before the model thinks. */
static const struct value *
complete(const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	struct dialect dialect = openai;

	dialect.begins_early = endpoint->provider == &provider_azure;
	return provider_exchange(&dialect, endpoint, ask, fault_r);
}

static const struct value *
openai_send(
    const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	struct endpoint beside = *endpoint;

	if (ask->task == TASK_MODERATION) {
		beside.url = url_of(endpoint, ask, "/moderations");
		return provider_exchange(&moderation, &beside, ask, fault_r);
	}
	if (ask->task == TASK_EMBEDDINGS) {
		beside.url = url_of(endpoint, ask, "/embeddings");
		return embed(&beside, ask, fault_r);
	}
	if (!responses_chosen(endpoint, ask)) {
		beside.url = url_of(endpoint, ask, "/chat/completions");
		return complete(&beside, ask, fault_r);
	}
	beside.url = url_of(endpoint, ask, "/responses");
	return provider_exchange(&responses, &beside, ask, fault_r);
}

const struct provider provider_openai = {
	.name = "openai",
	.moderates = true,
	.embeds = true,
	.send = openai_send,
};

static const struct value *
azure_send(const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	struct ask asked = *ask;

	asked.rules = provider_azure.name;
	asked.settings = azure_settings(ask->arena, endpoint, ask->settings);
	return openai_send(endpoint, &asked, fault_r);
}

/* It judges what is said to its models by itself. */
const struct provider provider_azure = {
	.name = "azure_openai",
	.embeds = true,
	.send = azure_send,
};
