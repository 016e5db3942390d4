/* model_request: one model call on its way through the wraps. For chain_model.c and the
 * accessors. */
#ifndef MODEL_REQUEST_H
#define MODEL_REQUEST_H

#include "chain.h"

/* One CALL in a model worker. */
struct model_run {
	struct arena *arena;
	const struct chain *chain;
	const struct value *profile;
	const struct value *request; /* the CALL's */
	const struct model_backend *backend;
	unsigned sends, own_sends; /* to the backend: of the chain, of model_call */

	/* Cancellation or interrupt: once seen, every layer returns it whatever its hook
	 * answers. */
	const struct fault *control;
	struct interrupts interrupts;
	/* A hook misused an accessor, or refused in modify_model_request: taken by the
	 * runner when that hook has returned. */
	const struct fault *broken;
	/* The last messages the runner has brought into form: not to be looked at again
	 * by every layer they pass. */
	const struct value *settled;
	struct value_list notes; /* [{middleware, text}] */
	struct value_list
	    used; /* entries of model_usage.h, when the profile asks for them */
};

struct model_request {
	struct model_run *run;
	const struct middleware_use *use; /* whose hook sees it; NULL at the backend */
	const char *model;
	const char *system_prompt; /* or NULL */
	const struct value *messages;
	const struct value *tools;
	const struct value *tool_choice;     /* or NULL */
	const struct value *response_format; /* or NULL */
	const struct value *model_settings;  /* a map */
};

/* The request of a CALL before any hook. */
struct model_request *model_request_new(struct model_run *run);

/* A copy for use's hook. */
struct model_request *model_request_for(
    const struct model_request *request, const struct middleware_use *use);

/* A request of a hook's own, from what it wishes ({model?, messages, ...}); its run's
 * `broken` is set when a field has the wrong type. */
struct model_request *model_request_wished(
    const struct model_request *request, const struct value *wish);

/* A response that is this fault. */
struct model_response *model_response_failed(
    struct arena *arena, const struct fault *fault);

#endif
