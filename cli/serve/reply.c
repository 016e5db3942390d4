/* reply: how calls are answered, and what they ask in numbers. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "fiber.h"
#include "json.h"

struct store *
api_store(const struct api *api)
{
	return session_store(api->session);
}

static void
reply_packet(struct call *call, unsigned status, struct packet *packet)
{
	exchange_answer(
	    call->exchange, status, "application/json", packet->data, packet->size);
	packet_release(packet);
}

void
reply(struct call *call, unsigned status, const struct value *value)
{
	struct packet packet = { 0 };

	json_write(&packet, value);
	reply_packet(call, status, &packet);
}

void
reply_nothing(struct call *call)
{
	exchange_answer(call->exchange, 204, NULL, NULL, 0);
}

uint64_t
beat_next(uint64_t ms)
{
	return loop_now_ms(fiber_loop()) + ms;
}

uint64_t
beat_rest(uint64_t at)
{
	uint64_t now = loop_now_ms(fiber_loop());

	return now < at ? at - now : 0;
}

void
reply_events(struct call *call)
{
	exchange_add_header(call->exchange, "X-Accel-Buffering", "no");
	exchange_stream(call->exchange, 200, "text/event-stream");
}

/* --- a list that is written while it is made --------------------------------------------------- */

bool
reply_list_add(struct reply_list *list, const struct value *item, size_t most)
{
	size_t size = list->text.size;

	packet_append(&list->text, size == 0 ? "[" : ",", 1);
	json_write(&list->text, item);
	if (list->count > 0 && list->text.size > most) {
		list->text.size = size;
		return false;
	}
	list->count++;
	return true;
}

void
reply_list_end(struct reply_list *list, struct call *call)
{
	packet_append(
	    &list->text, list->text.size == 0 ? "[]" : "]", list->text.size == 0 ? 2 : 1);
	reply_packet(call, 200, &list->text);
}

void
reply_list_drop(struct reply_list *list)
{
	packet_release(&list->text);
}

/* --- what went wrong --------------------------------------------------------------------------- */

void
reply_error(struct call *call, unsigned status, const char *format, ...)
{
	va_list args;
	const char *text;

	va_start(args, format);
	text = arena_vprintf(call->arena, format, args);
	va_end(args);
	if (call->tell_error != NULL)
		call->tell_error(call, status, text);
	else
		reply(call, status,
		    value_map(call->arena, "detail", value_str(call->arena, text), NULL));
}

void
reply_failed(struct call *call, enum store_status status, const char *what)
{
	const char *error = store_error(api_store(call->api));

	if (status == STORE_NONE)
		reply_error(call, 404, "no %s", what);
	else if (status == STORE_DAMAGED)
		reply_error(call, 500, "%s", error);
	else if (status == STORE_CANCELLED)
		reply_error(call, 503, "the server ends");
	else if (status == STORE_REJECTED)
		reply_error(call, 503, "%s", reply_trouble(call, status));
	else
		reply_error(call, 503, "Redis: %s%s", error, session_remedy(error));
}

const char *
reply_trouble(struct call *call, enum store_status status)
{
	if (status == STORE_CANCELLED)
		return "the server ends";
	return status == STORE_REJECTED ? "too much is going on"
					: store_error(api_store(call->api));
}

/* --- the request --- */

int64_t
call_number(
    struct call *call, const char *name, int64_t otherwise, int64_t min, int64_t max)
{
	const struct value *given = value_get(call->body, name);
	const char *text = exchange_query(call->exchange, name);
	char *end = NULL;
	int64_t number = otherwise;

	if (text != NULL)
		number = strtoll(text, &end, 10);
	else if (value_is(given, VALUE_INT))
		number = given->integer;
	if ((text == NULL || (*text != '\0' && *end == '\0')) && number >= min &&
	    number <= max && (value_is_nil(given) || value_is(given, VALUE_INT)))
		return number;
	reply_error(call, 422, "%s must be a whole number from %" PRId64 " to %" PRId64,
	    name, min, max);
	return -1;
}

const char *
call_list(struct call *call, const char *name)
{
	const char *text = exchange_query(call->exchange, name), *error;
	const struct value *list = NULL;
	char *joined, *end;
	size_t i;

	if (text != NULL && *text == '[')
		list = json_parse(call->arena, text, strlen(text), &error);
	if (list == NULL)
		return text;
	end = joined = arena_alloc(call->arena, strlen(text) + 1);
	for (i = 0; i < value_size(list); i++) {
		const char *item = value_text(value_at(list, i));

		if (item == NULL)
			return text; /* which no name is */
		if (i > 0)
			*end++ = ',';
		end = stpcpy(end, item);
	}
	*end = '\0';
	return joined;
}

bool
call_flag(struct call *call, const char *name)
{
	const char *text = exchange_query(call->exchange, name);

	return text != NULL && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
}
