/* provider_anthropic: Anthropic's Messages API, and the servers that speak the same. */
#include "anthropic_answer.h"
#include "anthropic_pause.h"
#include "anthropic_request.h"
#include "anthropic_stream.h"
#include "provider.h"
#include "provider_exchange.h"
#include "provider_fault.h"

#define VERSION "2023-06-01"

/* `betas` of the settings, comma-joined; NULL: none. */
static const char *
betas_of(const struct ask *ask)
{
	const struct value *betas = value_get(ask->settings, "betas");
	const char *joined = NULL;

	if (value_is(betas, VALUE_STR))
		joined = betas->text;
	for (size_t i = 0; value_is(betas, VALUE_ARRAY) && i < betas->size; i++) {
		const char *beta = value_text(betas->items[i]);

		if (beta != NULL && value_is(betas->items[i], VALUE_STR))
			joined = joined == NULL
				     ? beta
				     : arena_printf(ask->arena, "%s,%s", joined, beta);
	}
	return joined;
}

/* A line is a line: what a setting says must not begin another. */
static bool
is_one_line(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static size_t
headers(const struct endpoint *endpoint, const struct ask *ask, const struct packet *body,
    const char *headers_r[])
{
	const char *betas = betas_of(ask);
	size_t count = 0;

	(void)body;
	headers_r[count++] = "anthropic-version: " VERSION;
	if (endpoint->key != NULL)
		headers_r[count++] =
		    arena_printf(ask->arena, "x-api-key: %s", endpoint->key);
	if (betas != NULL && *betas != '\0' && is_one_line(betas))
		headers_r[count++] =
		    arena_printf(ask->arena, "anthropic-beta: %s", betas);
	return count;
}

static const struct dialect anthropic = {
	.request = anthropic_request,
	.headers = headers,
	.answer = anthropic_answer,
	.stream = &anthropic_stream,
};

static const struct value *
anthropic_send(
    const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	const struct value *message =
	    provider_exchange(&anthropic, endpoint, ask, fault_r);
	struct ask rest = *ask;

	for (unsigned i = 0; i < PAUSES_MAX && anthropic_is_paused(message); i++) {
		const struct value *more;
		const char *error;

		rest.messages = value_array_add(ask->arena, ask->messages, message);
		more = provider_exchange(&anthropic, endpoint, &rest, fault_r);
		if (more == NULL)
			return NULL;
		message = anthropic_joined(ask->arena, message, more, &error);
		if (message == NULL)
			*fault_r =
			    provider_fault_unreadable(ask->arena, endpoint->name, error);
	}
	return message;
}

const struct provider provider_anthropic = { .name = "anthropic",
	.send = anthropic_send };
