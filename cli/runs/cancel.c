/* cancel: ends runs, and waits until they have ended. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "find.h"
#include "follow.h"
#include "tame.h"

struct cancel_settings {
	struct common_settings common;
	const char *thread;
};

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "thread", SETTING_TEXT, offsetof(struct cancel_settings, thread), NULL, 0, 0,
	    NULL, "the run of this thread, and those that wait for it", 't' },
	SETTINGS_END,
};

/* Asks for the end of run. *waits_r: it is worth waiting for. */
static enum status
ask(struct session *session, const char *thread, const char *run, bool *waits_r)
{
	const char *answer, *ended;
	enum store_status stored = store_cancel(
	    session_store(session), session_arena(session), thread, run, &answer, &ended);

	*waits_r = false;
	if (stored != STORE_OK)
		return (enum status)session_store_failed(session, stored);
	if (strcmp(answer, "ENDED") == 0) {
		complain("run '%s' has ended already (%s)", run, ended);
		return STATUS_FAILED;
	}
	*waits_r = true;
	return STATUS_OK;
}

static enum status
wait_end(struct session *session, const char *thread, const char *run)
{
	struct follow_options quiet = { .quiet = true };
	struct arena *arena = session_arena(session);
	const struct value *last = value_empty_map(), *unconfirmed;
	enum status status = (enum status)follow_run(session, thread, run, &quiet, &last);

	if (status != STATUS_CANCELLED) {
		if (value_size(last) == 0)
			return status;
		complain("run '%s' ended before it could be cancelled", run);
		return STATUS_FAILED;
	}
	unconfirmed = value_get(last, "unconfirmed");
	if (session_json(session))
		printf("%s\n",
		    tame_json(arena, value_map(arena, "run", value_str(arena, run),
					 "status", value_str(arena, "cancelled"),
					 "unconfirmed", unconfirmed, NULL)));
	else
		printf("%s cancelled\n", run);
	if (value_size(unconfirmed) > 0)
		complain("no worker has said that %zu of its calls have stopped",
		    value_size(unconfirmed));
	return STATUS_OK;
}

/* All are asked before the first is waited for. The status is that of the first failure. */
static enum status
cancel_all(struct session *session, const struct value *runs)
{
	size_t count = value_size(runs), i;
	bool *waits = arena_alloc(session_arena(session), (count + 1) * sizeof *waits);
	enum status status = STATUS_OK, one;

	for (i = 0; i < count; i++) {
		const struct value *run = value_at(runs, i);

		one = ask(session, value_get_text(run, "thread"),
		    value_get_text(run, "run"), &waits[i]);
		status = status == STATUS_OK ? one : status;
	}
	for (i = 0; i < count && !session_interrupted(session); i++) {
		const struct value *run = value_at(runs, i);

		one = !waits[i] ? STATUS_OK
				: wait_end(session, value_get_text(run, "thread"),
				      value_get_text(run, "run"));
		status = status == STATUS_OK ? one : status;
	}
	return status;
}

static void
add_run(struct value_list *runs, const char *thread, const char *run)
{
	value_list_add(
	    runs, value_map(runs->arena, "thread", value_str(runs->arena, thread), "run",
		      value_str(runs->arena, run), NULL));
}

/* Those that wait come first: none of them begins when the one before it has ended. */
static enum status
add_thread(struct session *session, const char *thread, struct value_list *runs)
{
	const struct value *state = NULL, *queue;
	enum status status = STATUS_UNREACHABLE;
	size_t i;

	if (session_store(session) != NULL)
		status = find_outcome(session,
		    store_thread(
			session_store(session), session_arena(session), thread, &state),
		    thread);
	if (status != STATUS_OK)
		return status;
	queue = value_get(state, "queue");
	for (i = value_size(queue); i-- > 0;)
		add_run(runs, thread, value_text(value_at(queue, i)));
	if (value_get_text(state, "run") != NULL && *value_get_text(state, "run") != '\0')
		add_run(runs, thread, value_get_text(state, "run"));
	if (runs->count == 0)
		complain("no run of thread '%s' goes on or waits", thread);
	return runs->count == 0 ? STATUS_FAILED : STATUS_OK;
}

static enum status
run_cancel_command(struct session *session, const void *given, const char *const *rest)
{
	const struct cancel_settings *settings = given;
	struct value_list runs = { .arena = session_arena(session) };
	enum status status = STATUS_OK;
	const char *thread;

	if (settings->thread == NULL && find_argument(rest[0], "RUN") != STATUS_OK)
		return STATUS_USAGE;
	for (; status == STATUS_OK && *rest != NULL; rest++) {
		status = find_thread_of(session, *rest, &thread);
		if (status == STATUS_OK)
			add_run(&runs, thread, *rest);
	}
	if (status == STATUS_OK && settings->thread != NULL)
		status = add_thread(session, settings->thread, &runs);
	return status == STATUS_OK ? cancel_all(session, value_list_end(&runs)) : status;
}

const struct command command_cancel = {
	.name = "cancel",
	.usage = "RUN...",
	.summary = "cancels runs and waits until they have ended",
	.text = "Cancels runs, and with each of them its child runs; returns when the "
		"workers have said that nothing of them is left.",
	.table = table,
	.settings_size = sizeof(struct cancel_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_cancel_command,
};
