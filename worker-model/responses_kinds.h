/* responses_kinds: what an answer of OpenAI's Responses API may have besides text, as blocks of a message's content,
 * in the form of LangChain's `responses/v1`: items are blocks as they came, but for messages, whose parts are.
 *
 *	{type: text, text, annotations, id?, phase?}   a part of a message, whose id it has
 *	{type: refusal, refusal, id?}                  likewise
 *	{type: function_call, call_id, name, arguments, id, ...}, custom_tool_call {input}, computer_call {action}
 *	                                               calls, which are in tool_calls, too
 *	{type: reasoning, id, summary, encrypted_content?}, web_search_call, mcp_call ...   other items */
#ifndef RESPONSES_KINDS_H
#define RESPONSES_KINDS_H

#include "provider.h"

/* How an item that the agent has to answer becomes a call, and what answers it. */
struct responses_call {
	const char *type;   /* of the item */
	const char *output; /* the type of what answers it */
};

/* Returns that of an item, or NULL: the item is no call. */
const struct responses_call *responses_call_of(const struct value *item);

/* Returns the name, and the args as answer_call takes them (answer.h), of an item that is a call, in arena. */
const char *responses_call_name(const struct value *item);
const struct value *responses_call_args(struct arena *arena, const struct value *item);

/* Returns item, a call, as call has it now, in ask's arena. */
const struct value *responses_call_now(
    const struct ask *ask, const struct value *item, const struct value *call);

/* True for blocks that only this API makes, and wants back as they were; calls are none of them. */
bool responses_goes_back(const struct value *block);

/* LangChain has another name for an annotation's `index`. Both return annotations, a list, in arena: as a block
 * has them, and as the API takes them, which is only those that are its own. */
const struct value *responses_annotations_of(
    struct arena *arena, const struct value *annotations);
const struct value *responses_annotations_sent(
    struct arena *arena, const struct value *annotations);

#endif
