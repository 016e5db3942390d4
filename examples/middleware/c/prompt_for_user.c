/* prompt_for_user: a system prompt that depends on who asks. */
#include "middleware.h"

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const struct value *role = value_get(model_context(request), "role");
	const char *prompt = "You are a helpful assistant.";

	if (value_text_is(role, "expert"))
		prompt = arena_printf(arena, "%s Go into technical detail.", prompt);
	else if (value_text_is(role, "beginner"))
		prompt =
		    arena_printf(arena, "%s Explain simply, and avoid jargon.", prompt);
	return model_next(
	    next, model_override(request, "system_prompt", value_str(arena, prompt)));
}

static const struct middleware prompt_for_user = {
	.abi = MIDDLEWARE_ABI,
	.name = "prompt_for_user",
	.summary = "a system prompt that depends on who asks",
	.wrap_model_call = wrap_model_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &prompt_for_user, NULL };
