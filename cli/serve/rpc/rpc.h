/* rpc: one message of JSON-RPC 2.0 a request, as the Model Context Protocol (mcp.c) and Agent2Agent (a2a.c) have it. Batches
 * are not known: neither protocol has them any more. */
#ifndef SERVE_RPC_H
#define SERVE_RPC_H

#include "api.h"

/* JSON-RPC 2.0, section 5.1. */
enum {
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
};

struct rpc_method {
	const char *name;
	void (*run)(struct call *call, const struct value *params);
};

/* Does what the body asks for, by one of methods; what goes wrong from here on is told as an error of it. none: what is said,
 * behind "there is no '<method>': ", of another method. */
void rpc_route(
    struct call *call, const struct rpc_method *methods, size_t count, const char *none);

/* Tells why the body could not be read: as of struct call's tell_error. */
void rpc_tell_unread(struct call *call, unsigned status, const char *text);

/* A response to the body, in arena. */
const struct value *rpc_result(
    const struct call *call, struct arena *arena, const struct value *result);
/* The same in the call's arena. */
const struct value *rpc_error(struct call *call, int code, const char *message);

/* Answers with one. */
void rpc_succeed(struct call *call, const struct value *result);
void rpc_fail(struct call *call, int code, const char *message);

#endif
