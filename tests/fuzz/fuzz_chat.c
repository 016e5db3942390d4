/* Messages, as users, hooks, tools and `resume` answers bring them: brought into form, or refused with
 * the place. What is in form everybody can work with: it merges, repairs, and goes to a provider. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-model/openai_messages.h"
#include "chat.h"
#include "fault.h"
#include "json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct value *
fresh(void *arg, struct arena *arena)
{
	unsigned *count = arg;

	return value_str(arena, arena_printf(arena, "fresh-%u", ++*count));
}

static void
check_repair(struct arena *arena, const struct value *messages)
{
	const struct value *whole = chat_answer_dangling(arena, messages);
	const struct value *pending = chat_pending_calls(arena, whole);
	size_t i;

	/* A call without an id cannot be answered. */
	for (i = 0; i < value_size(pending); i++)
		if (value_get_text(value_at(pending, i), "id") != NULL)
			abort();
	if (chat_answer_dangling(arena, whole) != whole)
		abort();
}

static void
check_messages(struct arena *arena, const struct value *messages)
{
	const struct value *merged;
	const char *error = NULL;
	unsigned count = 0;
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		if (chat_text(arena, value_at(messages, i)) == NULL)
			abort();
		if (!chat_is(value_at(messages, i), "remove") &&
		    !chat_is_sound(value_at(messages, i)))
			abort();
	}
	merged = chat_add_messages(
	    arena, value_empty_array(), messages, fresh, &count, &error);
	if (merged == NULL) {
		if (error == NULL)
			abort();
		return;
	}
	check_repair(arena, merged);
	/* Said again, they replace themselves. */
	if (value_size(chat_add_messages(arena, merged, merged, fresh, &count, &error)) !=
	    value_size(merged))
		abort();
	error = NULL;
	if (openai_messages(&(struct ask){ .arena = arena,
				.provider = "openai",
				.model = "m",
				.system_prompt = "Be kind.",
				.messages = merged },
		&error) == NULL &&
	    error == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const struct value *given, *messages;
	const char *error = NULL;

	given = json_parse(arena, (const char *)data, size, &error);
	if (given != NULL) {
		error = NULL;
		messages = chat_normalise(arena, given, &error);
		if (messages != NULL)
			check_messages(arena, messages);
		else if (error == NULL || *error == '\0')
			abort();
		/* A worker's word of failure, whatever it is. */
		if (fault_to_value(arena, fault_from_value(arena, given)) == NULL)
			abort();
	}
	arena_destroy(&arena);
	return 0;
}
