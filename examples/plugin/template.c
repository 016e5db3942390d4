/* A middleware to begin with: copy it, rename what is called greet, build and load it.
 *
 *   cc -std=c11 -fPIC -shared $(pkg-config --cflags flotilla) -o greet.so template.c
 *   flotilla up --plugin ./greet.so --agents agents/      middleware: [greet: {name: Ada}] */
#include "middleware.h"

static const struct option options[] = {
	{ .name = "name",
	    .type = OPTION_TEXT,
	    .required = true,
	    .text = "Who is greeted." },
	{ 0 },
};

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const char *name = value_get_text(model_settings_of(request), "name");
	const struct value *prompt = value_printf(arena, "Greet %s by name.", name);

	return model_next(next, model_override(request, "system_prompt", prompt));
}

static const struct middleware greet = {
	.abi = MIDDLEWARE_ABI,
	.name = "greet",
	.summary = "has the model greet somebody",
	.options = options,
	.wrap_model_call = wrap_model_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &greet, NULL };
