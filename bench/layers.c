/* layers: what layers of middleware that do nothing cost, in C and in Lua, in a chain of one
 * process: wraps of a model call, node hooks of a step. bench/README.md says what is not in it.
 *
 *	bench-layers CALLS ROUNDS LAYERS...      prints "c-wrap LAYERS us" lines
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "chain.h"
#include "line.h"
#include "registry.h"
#include "usage.h"

#define MESSAGES 20u
#define LAYERS_MAX 64u

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

static const struct middleware c_layer = {
	.abi = MIDDLEWARE_ABI,
	.name = "layer",
	.wrap_model_call = pass_wrap,
	.before_model = pass_node,
};

static const char lua_layer[] =
    "function wrap_model_call(request, handler) return handler(request) end\n"
    "function before_model(state, runtime) end\n";

static const struct middleware_use *
use_of(struct arena *arena, bool in_lua)
{
	static const struct middleware_use c_use = { .type = &c_layer,
		.name = "layer",
		.hooks = { [HOOK_WRAP_MODEL_CALL] = true, [HOOK_BEFORE_MODEL] = true } };
	const struct middleware_use *use = &c_use;
	const char *path, *error;

	if (in_lua)
		use = registry_use(arena, "lua",
		    value_map(arena, "code", value_str(arena, lua_layer), NULL), &path,
		    &error);
	if (use == NULL)
		errx(1, "%s", error);
	return use;
}

static struct model_response *
answer(void *arg, struct model_request *request, unsigned attempt, const char *tag)
{
	(void)arg;
	(void)attempt;
	(void)tag;
	return model_answer(request, value_str(model_arena(request), "ok"));
}

static const struct value *
messages_of(struct arena *arena)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < MESSAGES; i++)
		value_list_add(&list, chat_human(arena, "What is the weather in Oslo?"));
	return value_list_end(&list);
}

static void
call_once(const struct chain *chain, const struct value *messages, bool is_node)
{
	const struct model_backend backend = { .send = answer };
	struct arena *arena = arena_new();
	struct turn turn = {
		.arena = arena, .messages = messages, .state = value_empty_map()
	};
	size_t i;

	if (!is_node)
		chain_model_call(arena, chain,
		    value_map(arena, "model", value_str(arena, "m:x"), NULL),
		    value_map(arena, "messages", messages, NULL), &backend);
	for (i = 0; is_node && i < chain->count; i++) {
		turn.use = chain->uses[i];
		chain_node_hook(&turn, HOOK_BEFORE_MODEL);
	}
	arena_destroy(&arena);
}

/* The middle one of rounds, in microseconds a call. */
static double
measure(bool in_lua, bool is_node, size_t layers, size_t calls, size_t rounds)
{
	const struct middleware_use *uses[LAYERS_MAX];
	struct chain chain = { .uses = uses, .count = layers };
	double *times = calloc(rounds, sizeof *times), middle;
	struct arena *arena = arena_new();
	const struct value *messages = messages_of(arena);
	size_t i, round;

	for (i = 0; i < layers; i++)
		uses[i] = use_of(arena, in_lua);
	for (i = 0; i < calls / 10; i++)
		call_once(&chain, messages, is_node);
	for (round = 0; round < rounds && times != NULL; round++) {
		/* CPU time, ours alone: other programs may run. */
		double began_us = usage_cpu_us(getpid());

		for (i = 0; i < calls; i++)
			call_once(&chain, messages, is_node);
		times[round] = (usage_cpu_us(getpid()) - began_us) / (double)calls;
	}
	if (times == NULL)
		err(1, NULL);
	qsort(times, rounds, sizeof *times, line_by_size);
	middle = times[rounds / 2];
	free(times);
	arena_destroy(&arena);
	return middle;
}

int
main(int argc, char **argv)
{
	size_t calls = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	int kind, i;

	if (argc < 4 || calls == 0 || rounds == 0)
		errx(2, "usage: bench-layers CALLS ROUNDS LAYERS...");
	for (kind = 0; kind < 4; kind++) {
		for (i = 3; i < argc; i++) {
			size_t layers = strtoul(argv[i], NULL, 10);

			if (layers > LAYERS_MAX)
				errx(2, "at most %u layers", LAYERS_MAX);
			printf("%s-%s %zu %.3f\n", kind % 2 == 1 ? "lua" : "c",
			    kind / 2 == 1 ? "node" : "wrap", layers,
			    measure(kind % 2 == 1, kind / 2 == 1, layers, calls, rounds));
		}
	}
	return 0;
}
