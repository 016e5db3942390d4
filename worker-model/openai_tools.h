/* openai_tools: what OpenAI's two APIs are asked alike, in words that differ a little: functions, the choice
 * among them, the schema of an answer. */
#ifndef OPENAI_TOOLS_H
#define OPENAI_TOOLS_H

#include "provider.h"

/* Returns {name, description, parameters, strict} of a tool (proto/bodies.h), in arena. */
const struct value *openai_function(struct arena *arena, const struct value *tool);

/* Returns the tool_choice of a request, in ask->arena: "required" (LangChain's "any"), "auto", "none", a
 * function as named says it, or the provider's own form. What is given as {name} is a function, too. NULL:
 * nobody says. */
const struct value *openai_tool_choice(const struct ask *ask,
    const struct value *(*named)(struct arena *arena, const struct value *name));

/* Returns {name, description, schema, strict} of an agent's response_format, in arena; NULL when its
 * strategy is not the provider's to do. */
const struct value *openai_schema(struct arena *arena, const struct value *format);

/* True for models that think: they refuse some of what others take, and the other way round. */
bool openai_thinks(const char *model);

/* True for models that do not, and refuse the thoughts of others. Of models of other makers neither is known. */
bool openai_thinks_not(const char *model);

#endif
