/* openai_url: where OpenAI's other APIs are: beside the chat completions. */
#ifndef OPENAI_URL_H
#define OPENAI_URL_H

#include "arena.h"

/* Returns chat_url with path ("/responses") in the place of "/chat/completions", in arena. */
const char *openai_url_beside(
    struct arena *arena, const char *chat_url, const char *path);

#endif
