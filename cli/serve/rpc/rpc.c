#include "rpc.h"

#include <string.h>

#include "utf8.h"

#define SHOWN_BYTES 64u /* of what was asked for */
#define PARSE_ERROR (-32700)

static const struct value *
response(const struct call *call, struct arena *arena, const char *name,
    const struct value *value)
{
	const struct value *id = value_get(call->body, "id");

	if (!value_is(id, VALUE_STR) && !value_is_number(id))
		id = NULL; /* it is none */
	return value_map(arena, "jsonrpc", value_str(arena, "2.0"), "id",
	    id != NULL ? id : value_nil(), name, value, NULL);
}

const struct value *
rpc_result(const struct call *call, struct arena *arena, const struct value *result)
{
	return response(call, arena, "result", result);
}

const struct value *
rpc_error(struct call *call, int code, const char *message)
{
	return response(call, call->arena, "error",
	    value_map(call->arena, "code", value_int(call->arena, code), "message",
		value_str(call->arena, message), NULL));
}

void
rpc_succeed(struct call *call, const struct value *result)
{
	reply(call, 200, rpc_result(call, call->arena, result));
}

void
rpc_fail(struct call *call, int code, const char *message)
{
	reply(call, 200, rpc_error(call, code, message));
}

/* What goes wrong in what a request stands for is told in its answer: 4xx is whoever asked. */
static void
tell_error(struct call *call, unsigned status, const char *text)
{
	rpc_fail(call, status < 500 ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR, text);
}

static bool
is_message(const struct value *body)
{
	const struct value *id = value_get(body, "id");

	return value_is(body, VALUE_MAP) &&
	       (value_is_nil(id) || value_is(id, VALUE_STR) || value_is_number(id)) &&
	       value_text_is(value_get(body, "jsonrpc"), "2.0") &&
	       (value_get_text(body, "method") != NULL || value_has(body, "result") ||
		   value_has(body, "error"));
}

void
rpc_tell_unread(struct call *call, unsigned status, const char *text)
{
	rpc_fail(call, status < 500 ? PARSE_ERROR : RPC_INTERNAL_ERROR, text);
}

/* Notifications ask for no answer, and answers are to nothing that we have asked. */
static bool
wants_answer(const struct value *body)
{
	return value_has(body, "id") && value_get_text(body, "method") != NULL;
}

void
rpc_route(
    struct call *call, const struct rpc_method *methods, size_t count, const char *none)
{
	const char *method = value_get_text(call->body, "method");
	size_t i;

	call->tell_error = tell_error;
	if (!is_message(call->body)) {
		rpc_fail(
		    call, RPC_INVALID_REQUEST, "one message of JSON-RPC 2.0 is wanted");
		return;
	}
	if (!wants_answer(call->body)) {
		exchange_answer(call->exchange, 202, NULL, NULL, 0);
		return;
	}
	for (i = 0; i < count; i++)
		if (strcmp(methods[i].name, method) == 0) {
			methods[i].run(call, value_get(call->body, "params"));
			return;
		}
	rpc_fail(call, RPC_METHOD_NOT_FOUND,
	    arena_printf(call->arena, "there is no '%s': %s",
		utf8_shown(call->arena, method, SHOWN_BYTES), none));
}
