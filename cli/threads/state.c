/* state: a thread's messages and fields, or a file of its. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asks.h"
#include "command.h"
#include "find.h"
#include "graph.h"
#include "round.h"
#include "show.h"
#include "show_field.h"
#include "store_past.h"
#include "tame.h"

struct state_settings {
	struct common_settings common;
	int64_t at;
	const char *file;
};

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "at", SETTING_INTEGER, offsetof(struct state_settings, at), NULL, 1, INT64_MAX,
	    NULL, "as it was at this version, which `flotilla history` shows", 0 },
	{ "file", SETTING_TEXT, offsetof(struct state_settings, file), NULL, 0, 0, NULL,
	    "only the content of this one of its files, as /report.md", 0 },
	SETTINGS_END,
};

/* A file of the field `files`: its text as it stands, bytes as base64. */
static enum status
print_file(struct session *session, const struct value *thread, const char *path)
{
	struct arena *arena = session_arena(session);
	const struct value *files = value_get(value_get(thread, "fields"), "files");
	const struct value *file = value_get(files, path), *content;
	size_t i;

	content = value_get(file, "content");
	if (content == NULL) {
		complain("thread '%s' has no file '%s'%s",
		    value_get_text(thread, "thread"), path,
		    value_size(files) > 0 ? "; its files are" : "; it has none");
		for (i = 0; i < value_size(files); i++)
			complain(
			    "  %s", show_line(arena, files->pairs[i].key->text, 200));
		return STATUS_NOT_FOUND;
	}
	if (session_json(session)) {
		printf("%s\n", tame_json(arena, file));
		return STATUS_OK;
	}
	if (value_is(content, VALUE_STR) && isatty(STDOUT_FILENO))
		printf("%s\n", show_text(arena, content->text));
	else if (value_is(content, VALUE_STR))
		fwrite(content->text, 1, content->size, stdout);
	else
		for (i = 0; i < value_size(content); i++)
			printf("%s\n", show_text(arena, value_at(content, i)->text));
	return STATUS_OK;
}

/* A run has left the thread of that head before it was done. */
static void
print_stop(const struct value *head)
{
	size_t done, count = round_calls(head, &done);

	printf("stopped: %s in %s", value_get_text(head, "status"),
	    value_get_text(head, "next"));
	if (count > 1)
		printf(", %zu of %zu calls done", done, count);
	printf("; `flotilla retry %s` goes on\n", value_get_text(head, "run"));
}

static void
print_thread(struct arena *arena, const struct value *thread)
{
	const struct value *head = value_get(thread, "head");
	const struct value *messages =
	    value_has(thread, "checkpoint")
		? value_get(thread, "messages")
		: round_messages(arena, head, value_get(thread, "messages"));
	const struct value *fields =
	    value_has(thread, "checkpoint")
		? value_get(thread, "fields")
		: round_fields(arena, head, value_get(thread, "fields"));
	const struct value *asks = asks_of(arena, head);
	const char *active = value_get_text(thread, "run");
	const char *status = value_get_text(head, "status");
	size_t i;

	printf("thread %s: %s, %s, version %" PRId64 "\n",
	    value_get_text(thread, "thread"),
	    value_has(thread, "checkpoint")     ? "as it was"
	    : active != NULL && *active != '\0' ? "running"
	    : status != NULL                    ? status
						: "new",
	    show_count(arena, value_size(messages), "message"),
	    value_get_int(thread, "version", 0));
	if (value_get_text(head, "paused") != NULL && !value_has(thread, "checkpoint"))
		printf("paused: %s %s; `flotilla %s %s` goes on\n",
		    value_get_text(head, "paused"), value_get_text(head, "next"),
		    asks_want_decision(asks) ? "approve" : "resume",
		    value_get_text(thread, "thread"));
	if (graph_has_failed(head) && !value_has(thread, "checkpoint") &&
	    (active == NULL || *active == '\0'))
		print_stop(head);
	show_asks(arena, asks, "  ");
	for (i = 0; i < value_size(messages); i++)
		show_message(arena, value_at(messages, i), "  ");
	for (i = 0; i < value_size(fields); i++)
		show_field(
		    arena, value_text(fields->pairs[i].key), fields->pairs[i].value);
}

static enum status
run_state(struct session *session, const void *given, const char *const *rest)
{
	struct arena *arena = session_arena(session);
	const struct state_settings *settings = given;
	const struct value *thread;
	enum store_status status;

	if (find_argument(rest[0], "THREAD") != STATUS_OK)
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = settings->at > 0
		     ? store_thread_at(session_store(session), arena, rest[0],
			   (uint64_t)settings->at, &thread)
		     : store_thread(session_store(session), arena, rest[0], &thread);
	if (status == STORE_NONE && settings->at > 0)
		return find_no_checkpoint(rest[0], settings->at);
	if (status != STORE_OK)
		return find_outcome(session, status, rest[0]);
	if (settings->file != NULL)
		return print_file(session, thread, settings->file);
	if (session_json(session))
		printf("%s\n", tame_json(arena, thread));
	else
		print_thread(arena, thread);
	return STATUS_OK;
}

const struct command command_state = {
	.name = "state",
	.usage = "THREAD",
	.summary = "shows a thread's messages and fields, also of the past",
	.table = table,
	.settings_size = sizeof(struct state_settings),
	.arguments_max = 1,
	.run = run_state,
};
