/* fallback: asks another model when the first one fails. */
#include "middleware.h"

static const struct option options[] = {
	{ .name = "model",
	    .type = OPTION_TEXT,
	    .required = true,
	    .text = "The model that is asked instead." },
	{ 0 },
};

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *model = value_get(model_settings_of(request), "model");
	struct model_response *response = model_next(next, request);

	if (response->fault == NULL || response->fault->control)
		return response;
	model_note(request, "%s failed (%s): asking %s", model_name(request),
	    response->fault->type, value_text(model));
	return model_next(next, model_override(request, "model", model));
}

static const struct middleware fallback = {
	.abi = MIDDLEWARE_ABI,
	.name = "fallback",
	.summary = "asks another model when the first one fails",
	.options = options,
	.wrap_model_call = wrap_model_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &fallback, NULL };
