/* hitl_bench: human_in_the_loop alone, on messages and calls that stand for an agent's with the tools pay,
 * mail and look. */
#ifndef HITL_BENCH_H
#define HITL_BENCH_H

#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"

#define HITL "human_in_the_loop"

#define PAY_PARAMETERS                                                                   \
	"{'type': 'object', 'properties': {'to': {'type': 'string'}, 'amount': "         \
	"{'$ref': "                                                                      \
	"'#/$defs/money'}}, 'required': ['amount'], '$defs': {'money': {'type': "        \
	"'integer'}}}"

/* A message with a call of each, ids l, p and e. */
#define THREE                                                                            \
	"{'type': 'ai', 'id': 'm', 'content': 'Hm.', 'tool_calls': ["                    \
	"{'name': 'look', 'args': {}, 'id': 'l', 'type': 'tool_call'}, "                 \
	"{'name': 'pay', 'args': {'to': 'Ada', 'amount': 30}, 'id': 'p'}, "              \
	"{'name': 'mail', 'args': {}, 'id': 'e'}]}"

/* The use with these settings, which must be right; as a value or as a literal. */
const struct middleware_use *hitl_use_with(
    struct arena *arena, const struct value *settings);
const struct middleware_use *hitl_use(struct arena *arena, const char *settings);

struct turned {
	const struct value *update; /* NULL: none */
	const struct value *asked, *about;
	const struct fault *fault;
};

/* Runs after_model behind a message (a literal); answer NULL: nobody has answered yet. */
struct turned hitl_turn(struct arena *arena, const struct middleware_use *use,
    const char *message, const char *state, const char *answer);

#endif
