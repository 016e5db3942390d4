#include "submit.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_file.h"
#include "asks.h"
#include "bounds.h"
#include "chat.h"
#include "follow.h"
#include "graph.h"
#include "json.h"
#include "nearest.h"
#include "service.h"
#include "show.h"
#include "store_past.h"
#include "tame.h"
#include "utf8.h"
#include "wire.h"

#define ACCEPT_WAIT_MS 3000u

#define SETTING(field) offsetof(struct submit_settings, field)
static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "thread", SETTING_TEXT, SETTING(thread), NULL, 0, 0, NULL,
	    "the conversation to go on with (default: a new one, named like the run)",
	    't' },
	{ "run-id", SETTING_TEXT, SETTING(run), NULL, 0, 0, NULL,
	    "the run's id; submitting the same id twice runs once (default: a fresh one)",
	    0 },
	{ "parent", SETTING_TEXT, SETTING(parent), NULL, 0, 0, NULL,
	    "the run it belongs to, and is cancelled with", 0 },
	RUN_SETTINGS,
	{ "after", SETTING_TEXT, SETTING(options.after), NULL, 0, 0, NULL,
	    "start it so much later: 500ms, 90s, 10m, 8h, 7d", 0 },
	{ "at", SETTING_TEXT, SETTING(options.at), NULL, 0, 0, NULL,
	    "start it at a time: 2030-01-31T09:30:00Z, or ms since 1970", 0 },
	{ "traceparent", SETTING_TEXT, SETTING(options.traceparent), NULL, 0, 0, NULL,
	    "the W3C trace context that its spans stand beneath, of a fleet that is "
	    "traced",
	    0 },
	{ "checkpoint", SETTING_INTEGER, SETTING(checkpoint), NULL, 1, INT64_MAX, NULL,
	    "begin at this version of the thread, as `flotilla history` shows it "
	    "(default: the newest)",
	    0 },
	{ "plugin", SETTING_LIST, SETTING(plugins), NULL, 0, 0, NULL,
	    "a shared object with middleware, for an AGENT that is a file; may be given "
	    "several times",
	    0 },
	{ "models", SETTING_TEXT, SETTING(models), NULL, 0, 0, NULL,
	    "a YAML file with what models can do, hold and cost, for an AGENT that is a "
	    "file",
	    0 },
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

/* A structured response is the answer, where there is one. */
static void
print_answer(
    struct session *session, const struct value *thread, const struct value *output)
{
	struct arena *arena = session_arena(session);
	const struct value *structured = value_get(output, "structured_response");
	const struct value *messages = value_get(thread, "messages");
	const struct value *last = value_at(messages, value_size(messages) - 1);

	if (structured != NULL)
		printf("%s\n", tame_json(arena, structured));
	/* Of a run that paused, what the model said besides its calls, if anything. */
	else if (value_size(messages) > 0 &&
		 (!value_text_is(
		      value_get(value_get(thread, "head"), "status"), "interrupted") ||
		     (chat_is(last, "ai") && *chat_text(arena, last) != '\0')))
		printf("%s\n", show_text(arena, chat_text(arena, last)));
}

/* Its thread stands where it was left; not when another run has been there, or it changed nothing. */
static void
say_stop(const char *run, const struct value *head)
{
	if (graph_has_failed(head) && value_text_is(value_get(head, "run"), run))
		complain("run %s stopped in %s; `flotilla retry %s` goes on", run,
		    value_get_text(head, "next"), run);
}

/* Returns STATUS_OK, or why what it has to say cannot be read, which has been said. */
static enum status
print_end(struct session *session, const char *thread, const char *run,
    const struct value *last, const struct submit_settings *settings)
{
	struct arena *arena = session_arena(session);
	const struct value *error = value_get(last, "error"), *state = NULL,
			   *record = NULL;
	enum store_status read =
	    store_thread_left(session_store(session), arena, thread, run, &state);

	if (read == STORE_OK || read == STORE_NONE)
		read = store_run(session_store(session), arena, thread, run, &record);
	if (read == STORE_FAILED || read == STORE_CANCELLED) {
		complain("run '%s' has ended (%s); what it says cannot be read", run,
		    value_get_text(last, "status"));
		return (enum status)session_store_failed(session, read);
	}
	if (session_json(session) && !settings->silent) {
		printf("%s\n",
		    tame_json(arena,
			value_map(arena, "run", value_str(arena, run), "thread",
			    value_str(arena, thread), "status", value_get(last, "status"),
			    "error", error, "messages", value_get(state, "messages"),
			    "state", value_get(record, "output"), "interrupts",
			    value_get(record, "interrupts"), NULL)));
	} else if (value_is(error, VALUE_MAP)) {
		complain("run %s %s: %s: %s", run, value_get_text(last, "status"),
		    value_get_text(error, "type"), value_get_text(error, "message"));
	} else if (!settings->follow && !settings->silent) {
		print_answer(session, state, value_get(record, "output"));
	}
	if (value_text_is(value_get(last, "status"), "interrupted"))
		asks_say_end(arena, run, thread, value_get(record, "interrupts"));
	else if (value_is(error, VALUE_MAP))
		say_stop(run, value_get(state, "head"));
	return STATUS_OK;
}

/* --- submitting --------------------------------------------------------------------- */

static enum status
add_entry(struct session *session, const struct value *fields, const char **entry_r)
{
	struct store *store = session_store(session);
	const struct value *reply = NULL;
	enum redis_status status = store_add_entry(
	    store, session_arena(session), fields, ACCEPT_WAIT_MS, &reply);

	*entry_r = NULL;
	if (status == REDIS_OK) {
		*entry_r = redis_reply_text(reply);
		return STATUS_OK;
	}
	if (status == REDIS_CANCELLED) {
		complain("interrupted; `flotilla runs` tells whether it was submitted");
		return STATUS_FAILED;
	}
	if (status == REDIS_ERROR)
		complain("not submitted: %s%s", redis_reply_text(reply),
		    session_remedy(redis_reply_text(reply)));
	else
		complain("not submitted, as far as can be told: %s; the same once more "
			 "with --run-id %s runs once",
		    redis_trouble(store_redis(store)), value_get_text(fields, "run"));
	return STATUS_UNREACHABLE;
}

bool
submit_check_id(const char *flag, const char *id)
{
	if (id == NULL || wire_is_run_id(id))
		return true;
	complain("%s '%s': " RUN_ID_RULE, flag, id, RUN_ID_BYTES_MAX);
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
submit_add(struct session *session, const struct submit_settings *settings,
    const char *run, const char *thread, const struct value *fields, const char **entry_r)
{
	enum status status = STATUS_OK;

	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	if (settings->run != NULL)
		status = check_thread(session, run, thread);
	return status == STATUS_OK ? add_entry(session, fields, entry_r) : status;
}

enum status
submit_entry(struct session *session, const struct submit_settings *settings,
    const char *run, const char *thread, const struct value *fields)
{
	struct follow_options options = { .quiet = !settings->follow,
		.json = settings->common.json,
		.tokens = settings->follow };
	bool stays = settings->wait || settings->follow || settings->silent;
	struct follow *follow = NULL;
	const struct value *last;
	const char *entry;
	enum status status, printed = STATUS_OK;

	if (stays) {
		follow = follow_new(session, thread, run, &options);
		if (follow == NULL)
			return STATUS_UNREACHABLE;
	}
	status = submit_add(session, settings, run, thread, fields, &entry);
	if (status != STATUS_OK) {
		follow_destroy(&follow);
		return status;
	}
	if (!stays) {
		struct arena *arena = session_arena(session);

		if (session_json(session))
			printf(
			    "%s\n", tame_json(arena,
					value_map(arena, "run", value_str(arena, run),
					    "thread", value_str(arena, thread), NULL)));
		else
			printf("%s\n", run);
		return STATUS_OK;
	}
	follow_expect(follow, entry);
	status = (enum status)follow_end(&follow, &last);
	if (value_size(last) > 0)
		printed = print_end(session, thread, run, last, settings);
	return printed != STATUS_OK ? printed : status;
}

/* The user's message: what is written is what the model gets. */
static bool
check_text(const struct packet *text)
{
	size_t span = utf8_span(text->data, text->size);

	if (text->size == 0)
		complain("nothing to submit: the text is empty");
	else if (text->size > INPUT_BYTES_MAX)
		complain("the text is larger than %u bytes", INPUT_BYTES_MAX);
	else if (span < text->size)
		complain("the text is not UTF-8 (its byte %zu is not); `iconv -t utf-8` "
			 "makes it so",
		    span + 1);
	else
		return true;
	return false;
}

const char *
submit_input(struct session *session, const struct submit_settings *settings,
    const char *const *texts)
{
	struct arena *arena = session_arena(session);
	struct packet packet = { 0 };
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	struct sigaction ours;
	char buffer[65536];
	const char *text;
	size_t size;

	if (settings->input != NULL && *texts != NULL) {
		complain(
		    "--input is the whole input: leave out '%s', or put it in", *texts);
		return NULL;
	}
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
		/* The loop, which else hears of Ctrl-C, stands still meanwhile. */
		sigaction(SIGINT, &usual, &ours);
		while ((size = fread(buffer, 1, sizeof buffer, stdin)) > 0 &&
		       packet.size <= INPUT_BYTES_MAX)
			packet_append(&packet, buffer, size);
		sigaction(SIGINT, &ours, NULL);
		while (packet.size > 0 && packet.data[packet.size - 1] == '\n')
			packet.size--;
	}
	if (!check_text(&packet)) {
		packet_release(&packet);
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

static bool
check_multitask(const char *multitask)
{
	static const char *const strategies[] = { "enqueue", "interrupt", "rollback",
		"reject" };
	const size_t count = sizeof strategies / sizeof *strategies;
	const char *near;
	size_t i;

	for (i = 0; i < count; i++)
		if (multitask == NULL || strcmp(strategies[i], multitask) == 0)
			return true;
	near = nearest_name(multitask, strategies, count);
	complain("--multitask '%s': enqueue, interrupt, rollback or reject%s%s%s",
	    multitask, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?" : "");
	return false;
}

/* Says what is wrong of the flags that no table can check; else gives the thread's time. */
static bool
check_thread_flags(
    struct arena *arena, const struct submit_settings *settings, const char **ttl_r)
{
	const char *action = settings->ttl_action;

	*ttl_r = NULL;
	if (!check_multitask(settings->multitask))
		return false;
	if (action != NULL && strcmp(action, "delete") != 0 &&
	    strcmp(action, "keep_latest") != 0)
		complain("--ttl-action '%s': delete or keep_latest", action);
	else if (action != NULL && settings->ttl == NULL)
		complain("--ttl-action goes with --ttl");
	else if (settings->ttl == NULL)
		return true;
	else
		*ttl_r = submit_duration(
		    arena, "--ttl", settings->ttl, 0, (int64_t)TTL_MS_MAX);
	return *ttl_r != NULL;
}

const struct value *
submit_thread_fields(struct arena *arena, const struct submit_settings *settings)
{
	const char *ttl;

	if (!check_thread_flags(arena, settings, &ttl))
		return NULL;
	return value_map(arena, "multitask",
	    settings->multitask != NULL ? value_str(arena, settings->multitask) : NULL,
	    "checkpoint", submit_version(arena, settings->checkpoint), "ttl_ms",
	    ttl != NULL ? value_str(arena, ttl) : NULL, "ttl_action",
	    settings->ttl_action != NULL ? value_str(arena, settings->ttl_action) : NULL,
	    NULL);
}

const struct value *
submit_version(struct arena *arena, int64_t version)
{
	return version > 0 ? value_printf(arena, "%" PRId64, version) : NULL;
}

/* *agent_p: the file, then the name of the agent in it. */
static int
apply_file(
    struct session *session, const struct submit_settings *settings, const char **agent_p)
{
	int status = session_load_plugins((const char *const *)settings->plugins);

	if (status == STATUS_OK)
		status = session_load_models(session, settings->models);
	return status == STATUS_OK
		   ? agent_file_apply(session, *agent_p, NULL, true, agent_p)
		   : status;
}

bool
submit_check_json(struct arena *arena, const char *name, const char *text)
{
	const char *error;

	if (text == NULL || json_parse(arena, text, strlen(text), &error) != NULL)
		return true;
	complain("--%s is not valid JSON: %s", name, error);
	return false;
}

static enum status
run_submit(struct session *session, const void *given, const char *const *rest)
{
	const struct submit_settings *settings = given;
	struct arena *arena = session_arena(session);
	const char *agent = rest[0], *input, *run, *thread, *version;
	const struct value *options, *fields, *about_thread;
	int status;

	if (agent == NULL || *agent == '\0') {
		complain("which AGENT? `flotilla agents list` shows them");
		return STATUS_USAGE;
	}
	if (!submit_check_id("--thread", settings->thread) ||
	    !submit_check_id("--run-id", settings->run) ||
	    !submit_check_id("--parent", settings->parent) ||
	    !submit_check_json(arena, "input", settings->input) ||
	    !submit_check_json(arena, "context", settings->context))
		return STATUS_USAGE;
	about_thread = submit_thread_fields(arena, settings);
	if (about_thread == NULL)
		return STATUS_USAGE;
	options = submit_options_fields(arena, &settings->options);
	if (options == NULL)
		return STATUS_USAGE;
	input = submit_input(session, settings, rest + 1);
	if (input == NULL)
		return STATUS_USAGE;
	status = agent_is_file(agent) ? apply_file(session, settings, &agent)
				      : agent_version(session, agent, &version);
	if (status != STATUS_OK)
		return (enum status)status;
	run = settings->run != NULL ? settings->run : submit_run_id(arena);
	thread = settings->thread != NULL ? settings->thread : run;
	fields = value_map(arena, "agent", value_str(arena, agent), "run",
	    value_str(arena, run), "thread", value_str(arena, thread), "parent",
	    settings->parent != NULL ? value_str(arena, settings->parent) : NULL, "input",
	    value_str(arena, input), "context",
	    settings->context != NULL ? value_str(arena, settings->context) : NULL,
	    "stream", settings->follow ? value_str(arena, "1") : NULL, NULL);
	return submit_entry(session, settings, run, thread,
	    value_map_merge(
		arena, value_map_merge(arena, fields, options), about_thread));
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
