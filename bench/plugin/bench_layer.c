/* What the benchmarks need of a plugin: a layer that does nothing, as often as an agent wants
 * it, and a tool whose answer is as large as it is told. */
#include "middleware.h"

/* --- layers -------------------------------------------------------------------------- */

static const struct option layer_options[] = {
	{ .name = "number",
	    .type = OPTION_INTEGER,
	    .required = true,
	    .min = 1,
	    .max = 64,
	    .text = "Which one of the agent's it is." },
	{ .name = "wrap",
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "Stands around each model call." },
	{ .name = "node",
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "Is a step before each model call." },
	{ 0 },
};

static struct model_response *
pass_wrap(struct model_request *request, struct model_next *next)
{
	return model_next(next, request);
}

static const struct value *
pass_node(struct turn *turn)
{
	(void)turn;
	return NULL;
}

static int
configure_layer(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	(void)error_r;
	use->name = arena_printf(
	    arena, "layer%d", (int)value_get_int(use->settings, "number", 0));
	use->hooks[HOOK_WRAP_MODEL_CALL] = value_get_bool(use->settings, "wrap", false);
	use->hooks[HOOK_BEFORE_MODEL] = value_get_bool(use->settings, "node", false);
	return 0;
}

static const struct middleware bench_layer = {
	.abi = MIDDLEWARE_ABI,
	.name = "bench_layer",
	.summary = "does nothing",
	.options = layer_options,
	.configure = configure_layer,
	.wrap_model_call = pass_wrap,
	.before_model = pass_node,
};

/* --- a tool that says much ----------------------------------------------------------- */

static struct tool_result *
run_recite(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	size_t size = (size_t)value_get_int(tool_args(request), "bytes", 0), i;
	char *text = arena_alloc(arena, size + 1);

	for (i = 0; i < size; i++)
		text[i] = "and it said so much more than I asked "[i % 38];
	text[size] = '\0';
	return tool_answer(request, text, "success");
}

static const struct tool recite = {
	.name = "recite",
	.description = "Says so many bytes.",
	.parameters = "{\"type\": \"object\", \"properties\": {\"bytes\": {\"type\": "
		      "\"integer\", \"minimum\": 0, \"maximum\": 1000000}}, "
		      "\"required\": [\"bytes\"]}",
	.run = run_recite,
};
static const struct tool *const tools[] = { &recite, NULL };

static const struct middleware bench_recite = {
	.abi = MIDDLEWARE_ABI,
	.name = "bench_recite",
	.summary = "brings the tool recite",
	.tools = tools,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &bench_layer, &bench_recite,
	NULL };
