/* bedrock_tools: tools in the words of Bedrock's Converse API. */
#ifndef BEDROCK_TOOLS_H
#define BEDROCK_TOOLS_H

#include "provider.h"

/* Returns the tools of a request, or NULL: there are none, or none may be called (tool_choice `none`, which the API has not got).
 * What one is marked with stays under its cache_control. */
const struct value *bedrock_tools(const struct ask *ask);

/* Returns toolChoice, or NULL: nobody says. Where the model is to think it may not be forced: it is left to choose. */
const struct value *bedrock_tool_choice(const struct ask *ask, bool thinks);

#endif
