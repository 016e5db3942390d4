/* discard: dead letters, which `runs --dead` lists, that nobody will retry. */
#include <stdio.h>

#include "command.h"
#include "find.h"
#include "tame.h"

static enum status
discard(struct session *session, const char *run)
{
	const char *thread;
	enum status status = find_thread_of(session, run, &thread);
	enum store_status stored;

	if (status != STATUS_OK)
		return status;
	stored =
	    store_discard(session_store(session), session_arena(session), thread, run);
	if (stored == STORE_OK)
		return STATUS_OK;
	if (stored != STORE_NONE)
		return (enum status)session_store_failed(session, stored);
	complain("run '%s' is no dead letter; `flotilla runs --dead` lists them", run);
	return STATUS_FAILED;
}

static enum status
run_discard(struct session *session, const void *settings, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	struct value_list done = { .arena = arena };
	enum status status = find_argument(rest[0], "RUN"), one;

	(void)settings;
	if (status != STATUS_OK)
		return status;
	for (; status != STATUS_UNREACHABLE && *rest != NULL; rest++) {
		one = discard(session, *rest);
		if (one == STATUS_OK)
			value_list_add(&done, value_str(arena, *rest));
		if (one == STATUS_OK && !session_json(session))
			printf("%s discarded\n", *rest);
		status = status == STATUS_OK || one == STATUS_UNREACHABLE ? one : status;
	}
	if (session_json(session))
		printf("%s\n", tame_json(arena, value_list_end(&done)));
	return status;
}

const struct command command_discard = {
	.name = "discard",
	.usage = "RUN...",
	.summary = "takes runs out of the dead letters",
	.text =
	    "Takes RUN out of the dead letters: nobody will retry it. Its record, its "
	    "events and its thread stay.",
	.table = command_common_table,
	.settings_size = sizeof(struct common_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_discard,
};
