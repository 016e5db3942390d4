#include "request_span.h"

static const char *const operations[] = {
	[TASK_CHAT] = "chat",
	[TASK_MODERATION] = "moderation",
	[TASK_EMBEDDINGS] = "embeddings",
};

void
request_span_begin(const struct worker_call *call, struct span *span_r,
    const struct ask *ask, const char *model, unsigned number)
{
	worker_span_begin(call, span_r, SPAN_REQUEST, NULL, number);
	span_model(span_r, ask->arena, model);
	span_text(span_r, ATTRIBUTE_OPERATION, operations[ask->task]);
	span_number(span_r, ATTRIBUTE_ATTEMPT, ask->attempt);
}

static void
tell_tokens(struct span *span, enum span_attribute attribute, const struct value *usage,
    const char *name)
{
	if (value_is(value_get(usage, name), VALUE_INT))
		span_number(span, attribute, value_get_int(usage, name, 0));
}

void
request_span_end(const struct worker_call *call, struct span *span,
    const struct value *message, const struct fault *fault)
{
	const struct value *usage = value_get(message, "usage_metadata");

	span_text(span, ATTRIBUTE_RESPONSE_MODEL,
	    value_get_text(value_get(message, "response_metadata"), "model_name"));
	tell_tokens(span, ATTRIBUTE_INPUT_TOKENS, usage, "input_tokens");
	tell_tokens(span, ATTRIBUTE_OUTPUT_TOKENS, usage, "output_tokens");
	worker_span_end(call, span, fault != NULL ? fault->type : NULL);
}
