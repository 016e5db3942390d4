/* provider_bedrock: Amazon Bedrock by its Converse API, which has the same words for all of its models. */
#include <string.h>

#include "bedrock.h"
#include "bedrock_answer.h"
#include "bedrock_error.h"
#include "bedrock_request.h"
#include "bedrock_stream.h"
#include "provider.h"
#include "provider_exchange.h"

static const struct dialect bedrock = {
	.request = bedrock_request,
	.headers = bedrock_headers,
	.answer = bedrock_answer,
	.stream = &bedrock_stream,
	.stream_form = "application/vnd.amazon.eventstream",
	.refusal = bedrock_refusal,
	.error_header = BEDROCK_ERROR_HEADER,
	.begins_early = true,
};

/* What it was signed for is part of a signature. */
static struct fault *
no_region(struct arena *arena, const char *name)
{
	struct fault *fault = fault_new(arena, "ValueError",
	    "%s: requests are signed for a region, and nobody says which: set AWS_REGION "
	    "in the worker's environment",
	    name);

	fault->retryable = false;
	return fault;
}

/* An answer does not say whose it is. */
static const struct value *
said_by(struct arena *arena, const struct value *message, const char *model)
{
	return value_map_with(arena, message, "response_metadata",
	    value_map_with(arena, value_get(message, "response_metadata"), "model_name",
		value_str(arena, model)));
}

/* Some models stream nothing, and some do not beside tools. */
static bool
wants_no_stream(const struct fault *fault)
{
	return strcmp(fault->type, "BadRequestError") == 0 &&
	       (strcasestr(fault->message, "in streaming mode") != NULL ||
		   strcasestr(fault->message, "unsupported for streaming") != NULL);
}

static void
show(struct tokens *tokens, const struct value *content)
{
	if (value_is(content, VALUE_STR))
		tokens_add(tokens, content->text, content->size);
	for (size_t i = 0; value_is(content, VALUE_ARRAY) && i < content->size; i++) {
		const struct value *text = value_get(content->items[i], "text");

		tokens_break(tokens);
		if (value_is(text, VALUE_STR))
			tokens_add(tokens, text->text, text->size);
	}
}

static const struct value *
exchange(const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	struct endpoint asked = *endpoint;

	asked.url = bedrock_url(ask->arena, endpoint, ask->model, ask->tokens != NULL);
	return provider_exchange(&bedrock, &asked, ask, fault_r);
}

static const struct value *
bedrock_send(
    const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	struct ask plain = *ask;
	const struct value *message;

	if (endpoint->bedrock->key_id != NULL && endpoint->bedrock->region == NULL) {
		*fault_r = no_region(ask->arena, endpoint->name);
		return NULL;
	}
	message = exchange(endpoint, ask, fault_r);
	if (message == NULL && ask->tokens != NULL && wants_no_stream(*fault_r)) {
		plain.tokens = NULL;
		message = exchange(endpoint, &plain, fault_r);
		if (message != NULL)
			show(ask->tokens, value_get(message, "content"));
	}
	return message == NULL ? NULL : said_by(ask->arena, message, ask->model);
}

const struct provider provider_bedrock = {
	.name = "bedrock_converse",
	.send = bedrock_send,
};
