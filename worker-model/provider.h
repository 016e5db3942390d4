/* provider: what answers a model call. One file a provider, one row in provider_table.c.
 *
 * A provider is the kind, the dialect that is spoken; an endpoint is one of them as this worker is
 * set up: "openai", "anthropic", and under names of their own any other servers that speak the
 * same. */
#ifndef PROVIDER_H
#define PROVIDER_H

#include <stdint.h>

#include "fault.h"
#include "http.h"
#include "tokens.h"
#include "value.h"
#include "written.h"

/* When an endpoint that speaks as OpenAI does is asked by its Responses API, and not by the chat completions. */
enum responses_use {
	RESPONSES_IF_ASKED, /* when a request's settings say so: not every such server has it */
	RESPONSES_AS_FITS, /* when they do, or the request needs it: OpenAI itself */
	RESPONSES_ALWAYS,  /* unless they say otherwise */
};

struct endpoint {
	const char *name; /* "openai" of "openai:gpt-4o" */
	const struct provider *provider;
	const char *
	    url; /* where requests go; of Azure's the resource (azure.h), of Bedrock's what stands before the model (bedrock.h); or NULL */
	enum responses_use responses;
	const char *key; /* or NULL: none is sent. Never in a message, never in a log */
	const char *
	    key_header; /* whose value it is, in an API's place of `Authorization: Bearer`; or NULL */
	const char *api_version; /* Azure's, as its URLs have it; or NULL */
	const struct bedrock
	    *bedrock; /* what Bedrock's have besides (bedrock.h); or NULL */
	bool *
	    takes_no_base64; /* learned: it has refused to say vectors so; or NULL: it is not kept */
	struct http *http;
	uint64_t connect_timeout_ms;
	uint64_t first_byte_timeout_ms; /* of a streamed answer */
	uint64_t idle_timeout_ms;       /* of a streamed answer */
	uint64_t answer_timeout_ms;     /* in all, unless the request says otherwise */
};

/* What is asked for: "task" of a call's profile (proto/bodies.h). */
enum ask_task {
	TASK_CHAT,
	TASK_MODERATION, /* the last message is judged */
	TASK_EMBEDDINGS, /* each message becomes a vector (proto/vector.h) */
};

/* One attempt of one model call, after all wraps. Lent for the send. */
struct ask {
	struct arena *arena;
	const char *provider; /* "openai": what its answers say of themselves */
	const char *
	    rules; /* NULL: provider; else whose rules count (call_words.h), where that is a name of a user's choice */
	const char *model;                   /* "gpt-4o" */
	const char *system_prompt;           /* or NULL */
	const struct value *messages;        /* [message], proto/chat.h */
	struct written *written;             /* what is kept of these as JSON; or NULL */
	const struct value *tools;           /* [tool], proto/bodies.h */
	const struct value *tool_choice;     /* or NULL */
	const struct value *response_format; /* or NULL */
	const struct value *settings;        /* {temperature, ...}, or NULL */
	const struct value *script;          /* the agent's, or NULL */
	int64_t max_output_tokens; /* of the model, as far as is known; 0: it is not */
	enum ask_task task;
	unsigned attempt;      /* of this call to this model, from 1 */
	struct tokens *tokens; /* who shows the text as it comes; NULL: nobody */
};

struct provider {
	const char *name;
	bool moderates, embeds; /* takes an ask of that task, too */
	/* Asks endpoint, on a fiber. Returns the AI message in ask->arena, or NULL and
	 * why in *fault_r. Never retries: that is a middleware's. */
	const struct value *(*send)(const struct endpoint *endpoint,
	    const struct ask *ask, struct fault **fault_r);
};

extern const struct provider provider_anthropic;
extern const struct provider provider_azure;
extern const struct provider provider_bedrock;
extern const struct provider provider_openai;
extern const struct provider provider_scripted;

#endif
