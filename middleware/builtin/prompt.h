/* prompt: what middleware add to the agent's own system prompt. */
#ifndef PROMPT_H
#define PROMPT_H

#include "middleware.h"

/* Returns prompt with text as one more paragraph, in arena; either may be empty or NULL. */
const char *prompt_with(struct arena *arena, const char *prompt, const char *text);

/* The request with text behind its system prompt; itself when text is empty or NULL. */
struct model_request *prompt_append(struct model_request *request, const char *text);

#endif
