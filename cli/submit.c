#include "submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_file.h"
#include "chat.h"
#include "follow.h"
#include "json.h"
#include "service.h"
#include "show.h"
#include "wire.h"

#define ACCEPT_WAIT_MS 3000u
#define RUN_ID_BYTES_MAX                                                                 \
	96u /* as coordinator/submission.c has it; its answer would be
			      * stored under the id that is none */

#define SETTING(field) offsetof(struct submit_settings, field)
static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "thread", SETTING_TEXT, SETTING(thread), NULL, 0, 0, NULL,
	    "the conversation to go on with (default: a new one, named like the run)",
	    't' },
	{ "run-id", SETTING_TEXT, SETTING(run), NULL, 0, 0, NULL,
	    "the run's id; submitting the same id twice runs once (default: a fresh one)",
	    0 },
	{ "input", SETTING_TEXT, SETTING(input), NULL, 0, 0, NULL,
	    "the whole input as JSON: {\"messages\": [...], field: value}", 0 },
	{ "context", SETTING_TEXT, SETTING(context), NULL, 0, 0, NULL,
	    "the run's static context as JSON", 0 },
	{ "wait", SETTING_BOOL, SETTING(wait), NULL, 0, 0, NULL,
	    "wait for the end and print the answer", 'w' },
	{ "follow", SETTING_BOOL, SETTING(follow), NULL, 0, 0, NULL,
	    "show each step and token as it happens", 'f' },
	SETTINGS_END,
};

const char *
submit_run_id(struct arena *arena)
{
	char session[33];

	service_session(session);
	return arena_printf(arena, "run-%.16s", session);
}

/* --- after the end ------------------------------------------------------------------ */

static void
print_answer(struct session *session, const struct value *thread)
{
	struct arena *arena = session_arena(session);
	const struct value *messages = value_get(thread, "messages");
	const struct value *last = value_at(messages, value_size(messages) - 1);

	if (value_size(messages) > 0)
		printf("%s\n", chat_text(arena, last));
}

static void
print_end(struct session *session, const char *thread, const char *run,
    const struct value *last, bool answer)
{
	struct arena *arena = session_arena(session);
	const struct value *error = value_get(last, "error"), *state = NULL,
			   *record = NULL;

	store_thread(session_store(session), arena, thread, &state);
	store_run(session_store(session), arena, thread, run, &record);
	if (session_json(session)) {
		printf("%s\n",
		    json_text(arena,
			value_map(arena, "run", value_str(arena, run), "thread",
			    value_str(arena, thread), "status", value_get(last, "status"),
			    "error", error, "messages", value_get(state, "messages"),
			    "state", value_get(record, "output"), "interrupts",
			    value_get(record, "interrupts"), NULL)));
	} else if (value_is(error, VALUE_MAP)) {
		complain("run %s %s: %s: %s", run, value_get_text(last, "status"),
		    value_get_text(error, "type"), value_get_text(error, "message"));
	} else if (answer) {
		print_answer(session, state);
	}
	if (value_text_is(value_get(last, "status"), "interrupted"))
		complain(
		    "run %s is interrupted; `flotilla resume %s` goes on", run, thread);
}

/* --- submitting --------------------------------------------------------------------- */

static enum status
add_entry(struct session *session, const struct value *fields)
{
	struct arena *arena = session_arena(session);
	size_t count = value_size(fields), n = 0, i;
	struct redis_arg *args = arena_alloc(arena, (3 + 2 * count) * sizeof *args);
	const struct value *reply;
	enum redis_status status;

	args[n++] = (struct redis_arg){ "XADD", 4 };
	args[n++] = (struct redis_arg){ STORE_INBOX, strlen(STORE_INBOX) };
	args[n++] = (struct redis_arg){ "*", 1 };
	for (i = 0; i < count; i++) {
		const struct value_pair *pair = &fields->pairs[i];

		args[n++] = (struct redis_arg){ pair->key->text, pair->key->size };
		args[n++] = (struct redis_arg){ pair->value->text, pair->value->size };
	}
	status = redis_call(
	    store_redis(session_store(session)), arena, ACCEPT_WAIT_MS, args, n, &reply);
	if (status == REDIS_OK)
		return STATUS_OK;
	if (status == REDIS_CANCELLED) {
		complain("interrupted; `flotilla runs` tells whether it was submitted");
		return STATUS_FAILED;
	}
	complain("not submitted: %s",
	    status == REDIS_ERROR ? redis_reply_text(reply)
				  : redis_trouble(store_redis(session_store(session))));
	return STATUS_UNREACHABLE;
}

static bool
check_id(const char *flag, const char *id)
{
	if (id == NULL ||
	    (wire_is_id(id, RUN_ID_BYTES_MAX) && strpbrk(id, "{}*?[]\\") == NULL))
		return true;
	complain("%s '%s': an id is 1 to %u printable ASCII characters without spaces "
		 "and without any of {}*?[]\\",
	    flag, id, RUN_ID_BYTES_MAX);
	return false;
}

/* A run belongs to one thread for ever: under another it would be dropped, and its end
 * waited for in vain. */
static enum status
check_thread(struct session *session, const char *run, const char *thread)
{
	const char *other;
	enum store_status status =
	    store_run_thread(session_store(session), session_arena(session), run, &other);

	if (status == STORE_NONE || (status == STORE_OK && strcmp(other, thread) == 0))
		return STATUS_OK;
	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	complain("run '%s' belongs to thread '%s' already; give the new one another id, "
		 "or none",
	    run, other);
	return STATUS_REFUSED;
}

enum status
submit_entry(struct session *session, const struct submit_settings *settings,
    const char *run, const char *thread, const struct value *fields)
{
	struct follow_options options = { .quiet = !settings->follow,
		.json = settings->common.json,
		.tokens = settings->follow };
	const struct value *last;
	enum status status;

	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = settings->run != NULL ? check_thread(session, run, thread) : STATUS_OK;
	if (status == STATUS_OK)
		status = add_entry(session, fields);
	if (status != STATUS_OK)
		return status;
	if (!settings->wait && !settings->follow) {
		struct arena *arena = session_arena(session);

		if (session_json(session))
			printf(
			    "%s\n", json_text(arena,
					value_map(arena, "run", value_str(arena, run),
					    "thread", value_str(arena, thread), NULL)));
		else
			printf("%s\n", run);
		return STATUS_OK;
	}
	status = (enum status)follow_run(session, thread, run, &options, &last);
	if (value_size(last) > 0)
		print_end(session, thread, run, last, !settings->follow);
	return status;
}

/* The input as JSON text: --input, or the text of the arguments, or stdin. */
static const char *
read_input(struct session *session, const struct submit_settings *settings,
    const char *const *texts)
{
	struct arena *arena = session_arena(session);
	struct packet packet = { 0 };
	char buffer[65536];
	const char *text;
	size_t size;

	if (settings->input != NULL)
		return settings->input;
	if (*texts != NULL && strcmp(*texts, "-") != 0) {
		for (; *texts != NULL; texts++) {
			if (packet.size > 0)
				packet_append(&packet, " ", 1);
			packet_append(&packet, *texts, strlen(*texts));
		}
	} else if (*texts == NULL && isatty(STDIN_FILENO)) {
		complain("nothing to submit: give a TEXT, --input JSON, or something on "
			 "stdin");
		return NULL;
	} else {
		while ((size = fread(buffer, 1, sizeof buffer, stdin)) > 0 &&
		       packet.size <= INPUT_BYTES_MAX)
			packet_append(&packet, buffer, size);
		while (packet.size > 0 && packet.data[packet.size - 1] == '\n')
			packet.size--;
	}
	if (packet.size == 0) {
		complain("nothing to submit: the text is empty");
		return NULL;
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	/* An input that is JSON already (an object with messages) goes as it is. */
	if (*text == '{') {
		const char *error;
		const struct value *value = json_parse(arena, text, strlen(text), &error);

		if (value_has(value, "messages"))
			return text;
	}
	return json_text(arena,
	    value_map(arena, "messages",
		value_array_add(arena, value_empty_array(), chat_human(arena, text)),
		NULL));
}

static enum status
run_submit(struct session *session, const void *given, const char *const *rest)
{
	const struct submit_settings *settings = given;
	struct arena *arena = session_arena(session);
	const char *agent = rest[0], *input, *run, *thread, *version;
	int status;

	if (agent == NULL) {
		complain("which AGENT? `flotilla agents list` shows them");
		return STATUS_USAGE;
	}
	if (!check_id("--thread", settings->thread) ||
	    !check_id("--run-id", settings->run))
		return STATUS_USAGE;
	input = read_input(session, settings, rest + 1);
	if (input == NULL)
		return STATUS_USAGE;
	status = agent_is_file(agent) ? agent_file_apply(session, agent, true, &agent)
				      : agent_version(session, agent, &version);
	if (status != STATUS_OK)
		return (enum status)status;
	run = settings->run != NULL ? settings->run : submit_run_id(arena);
	thread = settings->thread != NULL ? settings->thread : run;
	return submit_entry(session, settings, run, thread,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread", value_str(arena, thread), "input",
		value_str(arena, input), "context",
		settings->context != NULL ? value_str(arena, settings->context) : NULL,
		"stream", settings->follow ? value_str(arena, "1") : NULL, NULL));
}

const struct command command_submit = {
	.name = "submit",
	.usage = "AGENT [TEXT...]",
	.summary = "submits a run to the queue",
	.text = "Submits a run of AGENT (a name, or a file that is applied first) with "
		"TEXT as the "
		"user's message; without TEXT, or with -, the message or a JSON input is "
		"read "
		"from stdin. Prints the run's id, or with --wait its answer.",
	.table = table,
	.settings_size = sizeof(struct submit_settings),
	.arguments_max = ARGUMENTS_ANY,
	.run = run_submit,
};

/* --- resume ------------------------------------------------------------------------- */

static enum status
run_resume(struct session *session, const void *given, const char *const *rest)
{
	const struct submit_settings *settings = given;
	struct arena *arena = session_arena(session);
	const struct value *state, *head;
	const char *answer = "null", *run, *error;
	enum store_status found;

	if (rest[0] == NULL) {
		complain("which THREAD?");
		return STATUS_USAGE;
	}
	if (!check_id("--run-id", settings->run))
		return STATUS_USAGE;
	if (rest[1] != NULL) {
		answer = rest[1];
		if (json_parse(arena, answer, strlen(answer), &error) == NULL)
			answer = json_text(arena, value_str(arena, answer));
	}
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	found = store_thread(session_store(session), arena, rest[0], &state);
	if (found == STORE_NONE) {
		complain("thread '%s' is not known", rest[0]);
		return STATUS_NOT_FOUND;
	}
	if (found != STORE_OK)
		return (enum status)session_store_failed(session, found);
	head = value_get(state, "head");
	if (!value_text_is(value_get(head, "status"), "interrupted")) {
		complain("thread '%s' waits for nothing", rest[0]);
		return STATUS_FAILED;
	}
	run = settings->run != NULL ? settings->run : submit_run_id(arena);
	return submit_entry(session, settings, run, rest[0],
	    value_map(arena, "agent", value_get(head, "agent"), "run",
		value_str(arena, run), "thread", value_str(arena, rest[0]), "resume",
		value_str(arena, answer), "stream",
		settings->follow ? value_str(arena, "1") : NULL, NULL));
}

const struct command command_resume = {
	.name = "resume",
	.usage = "THREAD [ANSWER]",
	.summary = "goes on with a thread that is interrupted",
	.text = "Goes on with THREAD where it is interrupted; ANSWER (JSON, or a text) "
		"answers "
		"what it asked.",
	.table = table,
	.settings_size = sizeof(struct submit_settings),
	.arguments_max = 2,
	.run = run_resume,
};
