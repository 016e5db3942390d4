/* message: messages on their way and their bodies, from pools: a schedule has thousands. */
#include <stdlib.h>

#include "world.h"

struct payload *
payload_new(struct world *world, unsigned value)
{
	struct payload *payload = world->free_payloads;

	if (payload != NULL)
		world->free_payloads = payload->next_free;
	else
		payload = malloc(sizeof *payload);
	if (payload == NULL)
		abort();
	*payload = (struct payload){ .references = 1, .value = value };
	world->payloads++;
	return payload;
}

struct payload *
payload_ref(struct payload *payload)
{
	if (payload != NULL)
		payload->references++;
	return payload;
}

void
payload_unref(struct world *world, struct payload *payload)
{
	if (payload == NULL || --payload->references > 0)
		return;
	payload->next_free = world->free_payloads;
	world->free_payloads = payload;
	world->payloads--;
}

static const char *
keep_text(struct message *message, const char *text)
{
	size_t size;
	char *at = message->text + message->text_used;

	if (text == NULL)
		return NULL;
	size = strlen(text) + 1;
	if (message->text_used + size > sizeof message->text)
		return "cut"; /* a reason; ids are short here */
	memcpy(at, text, size);
	message->text_used += size;
	return at;
}

static void
keep_lists(struct message *message, const struct header *header)
{
	size_t i;

	for (i = 0; i < header->service_count; i++) {
		message->services[i] = header->services[i];
		message->services[i].name = keep_text(message, header->services[i].name);
	}
	message->header.services = message->services;
	for (i = 0; i < header->call_count; i++) {
		message->calls[i] = header->calls[i];
		message->calls[i].call_id = keep_text(message, header->calls[i].call_id);
	}
	message->header.calls = message->calls;
}

struct message *
message_new(struct world *world, const struct header *header, struct payload *payload)
{
	struct message *message = world->free_messages;

	if (message != NULL)
		world->free_messages = message->next;
	else
		message = malloc(sizeof *message);
	if (message == NULL)
		abort();
	message->next = NULL;
	message->header = *header;
	message->payload = payload_ref(payload);
	message->text_used = 0;
	message->header.call_id = keep_text(message, header->call_id);
	message->header.run = keep_text(message, header->run);
	message->header.service = keep_text(message, header->service);
	message->header.tenant = keep_text(message, header->tenant);
	message->header.session = keep_text(message, header->session);
	message->header.name = keep_text(message, header->name);
	message->header.idempotency_key = keep_text(message, header->idempotency_key);
	message->header.traceparent = NULL;
	message->header.topic = NULL;
	message->header.reason = keep_text(message, header->reason);
	if (header->service_count > 0 || header->call_count > 0)
		keep_lists(message, header);
	return message;
}

void
message_free(struct world *world, struct message *message)
{
	payload_unref(world, message->payload);
	message->next = world->free_messages;
	world->free_messages = message;
}
