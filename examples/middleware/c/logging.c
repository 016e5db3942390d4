/* logging: tells a run's watchers what goes to the model and what comes back. */
#include "middleware.h"

static const struct value *
before_model(struct turn *turn)
{
	turn_note(
	    turn, "asking the model: %zu messages", value_size(turn_messages(turn)));
	return NULL;
}

static const struct value *
after_model(struct turn *turn)
{
	const struct value *messages = turn_messages(turn), *message;
	long last = chat_last_ai(messages);

	if (last == -1)
		return NULL;
	message = value_at(messages, (size_t)last);
	turn_note(turn, "the model says \"%s\" and calls %zu tools",
	    chat_text(turn_arena(turn), message),
	    value_size(value_get(message, "tool_calls")));
	return NULL;
}

static const struct middleware logging = {
	.abi = MIDDLEWARE_ABI,
	.name = "logging",
	.summary = "tells a run's watchers what the model hears and says",
	.before_model = before_model,
	.after_model = after_model,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &logging, NULL };
