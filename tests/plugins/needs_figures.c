/* Refuses to be used for a model of which nobody knows how many tokens it takes. */
#include "middleware.h"

static const struct option options[] = {
	{ .name = "model", .type = OPTION_TEXT, .text = "Of whom; absent: the agent's." },
	{ 0 },
};

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *model = value_get_text(use->settings, "model");
	const struct value *profile = use_model_profile(arena, use, model);

	if (value_get_int(profile, "max_input_tokens", 0) > 0)
		return 0;
	*error_r = "/model: max_input_tokens is not known";
	return -1;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *settings = model_settings_of(request);
	const struct value *profile =
	    model_model_profile(request, value_get_text(settings, "model"));

	model_note(
	    request, "takes %d", (int)value_get_int(profile, "max_input_tokens", 0));
	return model_next(next, request);
}

static const struct middleware needs_figures = {
	.abi = MIDDLEWARE_ABI,
	.name = "needs_figures",
	.options = options,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &needs_figures, NULL };
