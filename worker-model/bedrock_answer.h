/* bedrock_answer: what Bedrock's Converse API answers, read with care. */
#ifndef BEDROCK_ANSWER_H
#define BEDROCK_ANSWER_H

#include "value.h"

/* Returns the AI message of an answer's body (parsed JSON), or NULL with a reason; both in arena. Its content is the text, when
 * there is only that before the calls; else the list of blocks, as LangChain has them:
 *
 *	{type: text, text, citations?}  {type: tool_use, id, name, input}
 *	{type: reasoning_content, reasoning_content: {text, signature} or {redacted_content}}
 *	{type: server_tool_use, id, name, input}  {type: server_tool_result, tool_use_id, is_error?, content}
 *
 * and what else there may be as {type: <its name>, <its name>: {...}}. */
const struct value *bedrock_answer(
    struct arena *arena, const struct value *body, const char **error_r);

#endif
