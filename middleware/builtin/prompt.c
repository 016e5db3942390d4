#include "prompt.h"

const char *
prompt_with(struct arena *arena, const char *prompt, const char *text)
{
	if (text == NULL || text[0] == '\0')
		return prompt;
	if (prompt == NULL || prompt[0] == '\0')
		return text;
	return arena_printf(arena, "%s\n\n%s", prompt, text);
}

struct model_request *
prompt_append(struct model_request *request, const char *text)
{
	struct arena *arena = model_arena(request);

	if (text == NULL || text[0] == '\0')
		return request;
	return model_override(request, "system_prompt",
	    value_str(arena, prompt_with(arena, model_system_prompt(request), text)));
}
