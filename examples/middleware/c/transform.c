/* transform: hides long numbers from the model, and signs what it says. */
#include "middleware.h"

#include <ctype.h>
#include <string.h>

#define DIGITS_MIN 12
#define HIDDEN "[number]"

static const struct option options[] = {
	{ .name = "signature",
	    .type = OPTION_TEXT,
	    .otherwise = "\"\"",
	    .text = "Stands behind each answer." },
	{ 0 },
};

/* Returns text with each run of DIGITS_MIN digits or more hidden. */
static const char *
hide_numbers(struct arena *arena, const char *text)
{
	char *out = arena_alloc(arena, strlen(text) + 1), *to = out;
	size_t digits;

	while (*text != '\0') {
		for (digits = 0; isdigit((unsigned char)text[digits]); digits++)
			;
		if (digits >= DIGITS_MIN) {
			to = stpcpy(to, HIDDEN);
			text += digits;
			continue;
		}
		digits = digits == 0 ? 1 : digits;
		to = (char *)memcpy(to, text, digits) + digits;
		text += digits;
	}
	return out;
}

static const struct value *
hide_in(struct arena *arena, const struct value *messages)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);
		const char *text = value_get_text(message, "content");

		if (chat_is(message, "human") && text != NULL)
			message = value_map_with(arena, message, "content",
			    value_str(arena, hide_numbers(arena, text)));
		value_list_add(&list, message);
	}
	return value_list_end(&list);
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const char *signature = value_get_text(model_settings_of(request), "signature");
	struct model_response *response;
	const struct value *message;

	request =
	    model_override(request, "messages", hide_in(arena, model_messages(request)));
	response = model_next(next, request);
	if (response->fault != NULL)
		return response;
	message = value_at(response->messages, 0);
	message = value_map_with(arena, message, "content",
	    value_printf(arena, "%s%s", chat_text(arena, message), signature));
	response->messages = value_array(arena, &message, 1);
	return response;
}

static const struct middleware transform = {
	.abi = MIDDLEWARE_ABI,
	.name = "transform",
	.summary = "hides long numbers from the model, and signs what it says",
	.options = options,
	.wrap_model_call = wrap_model_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &transform, NULL };
