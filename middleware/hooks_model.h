/* hooks_model: what modify_model_request and wrap_model_call may ask and do. They run in a model worker. Part of the
 * contract: include middleware.h. */
#ifndef HOOKS_MODEL_H
#define HOOKS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "fault.h"
#include "value.h"

struct model_request; /* immutable */
struct model_next;

/* What a model call gives. fault set: it failed, and messages is NULL. */
struct model_response {
	const struct value *messages;            /* [AI message, tool messages ...] */
	const struct value *structured_response; /* or NULL */
	const struct value
	    *update; /* state update of the layer that returns it, or NULL */
	const struct fault *fault;
};

struct arena *model_arena(const struct model_request *request);
const struct value *model_settings_of(
    const struct model_request *request);                    /* the use's */
const char *model_name(const struct model_request *request); /* "openai:gpt-4o" */
const char *model_system_prompt(const struct model_request *request); /* or NULL */
const struct value *model_messages(const struct model_request *request);
const struct value *model_tools(const struct model_request *request);       /* [tool] */
const struct value *model_tool_choice(const struct model_request *request); /* or NULL */
const struct value *model_response_format(const struct model_request *request);
const struct value *model_model_settings(
    const struct model_request *request); /* {temperature} */
const struct value *model_state(const struct model_request *request, const char *field);
const struct value *model_context(const struct model_request *request);
const char *model_run(const struct model_request *request);
const char *model_thread(const struct model_request *request);
const char *model_agent(const struct model_request *request);
const char *model_tenant(const struct model_request *request); /* as turn_tenant */
/* What is left of the call's time, in milliseconds, waiting included; then it is cancelled, and
 * nobody gets an answer. UINT64_MAX: it has no end. */
uint64_t model_left_ms(const struct model_request *request);
const char *model_middleware(const struct model_request *request);
/* What the request's provider speaks, whatever its name: "openai", "anthropic", "bedrock_converse", "scripted"; NULL:
 * not known here. */
const char *model_dialect(const struct model_request *request);
/* As use_model_profile; model NULL: the request's. */
const struct value *model_model_profile(
    const struct model_request *request, const char *model);

/* A request like request with one field replaced: "model", "system_prompt", "messages",
 * "tools", "tool_choice", "response_format", "model_settings"; NULL value: none. */
struct model_request *model_override(
    struct model_request *request, const char *field, const struct value *value);

/* The rest of the chain: never, once, often. Waits. Its response's update is NULL:
 * updates of inner layers are collected by the runner, those of the last call count. */
struct model_response *model_next(struct model_next *next, struct model_request *request);

/* Responses in the request's arena. message: an AI message, or its text. */
struct model_response *model_answer(
    struct model_request *request, const struct value *message);
struct model_response *model_fail(
    struct model_request *request, const struct fault *fault);

/* Returns response with the update of command ({update}) as this layer's. A command that says
 * more (goto: only tools may) fails the call. */
struct model_response *model_command(struct model_request *request,
    struct model_response *response, const struct value *command);

/* Fails the call from modify_model_request: return its NULL from the hook. */
struct model_request *model_refuse(
    struct model_request *request, const struct fault *fault);

/* Tells the run's watchers something in a line ("attempt 1 failed: ..."); it goes into the
 * event of the step. */
void model_note(struct model_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Tells whoever follows the run something now, while this works: any value. It is live and stored nowhere, so that it is
 * lost where nobody listens, and within bounds (docs/tools.md#streaming): it may be left out. No middleware sees it.
 * Nothing waits for it. model_streams: somebody listens, which spares making a value in vain. */
void model_stream(const struct model_request *request, const struct value *value);
bool model_streams(const struct model_request *request);

/* As turn_interrupt, from modify_model_request and wrap_model_call: on NULL return NULL at once.
 * No layer can catch it, and the whole call runs again with the answers. All hooks of one
 * call share them, in the order in which they ask. */
const struct value *model_interrupt(
    struct model_request *request, const struct value *value);

/* As turn_store; asked of a coordinator, through the broker. */
const struct value *model_store(struct model_request *request, const struct value *op);

/* Calls a model from a wrap, outside the chain and the token stream: {model?,
 * system_prompt?, messages, ...} as turn_call_model's. */
struct model_response *model_call(
    struct model_request *request, const struct value *wish);

#endif
