/* cached_response: a question that was asked before in the thread gets the same answer,
 * and no model is asked. */
#include "middleware.h"

#define ANSWERS "cached_answers"

static const struct field fields[] = {
	{ .name = ANSWERS,
	    .type = "object",
	    .otherwise = "{}",
	    .reducer = REDUCE_MERGE,
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ 0 },
};

static const char *const reads[] = { ANSWERS, NULL };

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const struct value *messages = model_messages(request), *last, *answer;
	struct model_response *response;
	const char *question;

	last = value_at(messages, value_size(messages) - 1);
	if (!chat_is(last, "human"))
		return model_next(next, request);
	question = chat_text(arena, last);
	answer = value_get(model_state(request, ANSWERS), question);
	if (answer != NULL)
		return model_answer(request, answer);
	response = model_next(next, request);
	if (response->fault != NULL)
		return response;
	answer = value_at(response->messages, 0);
	if (value_size(value_get(answer, "tool_calls")) == 0)
		response->update = value_map(arena, ANSWERS,
		    value_map(arena, question, value_str(arena, chat_text(arena, answer)),
			NULL),
		    NULL);
	return response;
}

static const struct middleware cached_response = {
	.abi = MIDDLEWARE_ABI,
	.name = "cached_response",
	.summary = "answers what was asked before without a model",
	.fields = fields,
	.reads = reads,
	.wrap_model_call = wrap_model_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &cached_response, NULL };
