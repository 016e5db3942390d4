/* resume: goes on with a thread that is interrupted, with what it asked for. */
#include <string.h>

#include "asks.h"
#include "bounds.h"
#include "find.h"
#include "graph.h"
#include "submit.h"

struct resume_settings {
	struct submit_settings submit; /* first: the common ones are its first */
	const char **answers;
	const char *file;
};

#define SETTING(field) offsetof(struct resume_settings, field)
static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "answer", SETTING_LIST, SETTING(answers), NULL, 0, 0, NULL,
	    "ID=ANSWER: the answer, JSON or a text, to one of several interrupts; may be "
	    "given several times, those left out wait on",
	    'a' },
	{ "file", SETTING_TEXT, SETTING(file), NULL, 0, 0, NULL,
	    "a file with the answer as JSON, or with a map of ids to answers; - reads "
	    "stdin",
	    0 },
	{ "run-id", SETTING_TEXT, SETTING(submit.run), NULL, 0, 0, NULL,
	    "the id of the run that goes on (default: a fresh one)", 0 },
	{ "context", SETTING_TEXT, SETTING(submit.context), NULL, 0, 0, NULL,
	    "the run's static context as JSON, over that of the run that waits", 0 },
	{ "deadline", SETTING_TEXT, SETTING(submit.options.deadline), NULL, 0, 0, NULL,
	    "end it with an error when it takes longer, counted from its start", 0 },
	{ "recursion-limit", SETTING_INTEGER, SETTING(submit.options.recursion_limit),
	    NULL, 1, INT64_MAX, NULL,
	    "the steps it may take (default: as many as its agent's)", 0 },
	{ "max-concurrency", SETTING_INTEGER, SETTING(submit.options.max_concurrency),
	    NULL, 1, INT64_MAX, NULL,
	    "calls of tools at once (default: as many as its agent's)", 0 },
	{ "priority", SETTING_INTEGER, SETTING(submit.options.priority), "2", 0,
	    PRIORITY_MAX, NULL, "0 goes first", 0 },
	{ "tenant", SETTING_TEXT, SETTING(submit.options.tenant), NULL, 0, 0, NULL,
	    "whom it is for; workers are shared fairly between tenants", 0 },
	{ "metadata", SETTING_LIST, SETTING(submit.options.metadata), NULL, 0, 0, NULL,
	    "NAME=TEXT, kept with its record; may be given several times", 0 },
	{ "wait", SETTING_BOOL, SETTING(submit.wait), NULL, 0, 0, NULL,
	    "wait for the end and print the answer", 'w' },
	{ "follow", SETTING_BOOL, SETTING(submit.follow), NULL, 0, 0, NULL,
	    "show each step and token as it happens", 'f' },
	SETTINGS_END,
};

static enum status
send_answer(struct session *session, const struct submit_settings *settings,
    const char *thread, const struct value *head, const char *answer,
    const struct value *options)
{
	struct arena *arena = session_arena(session);
	const char *run = settings->run != NULL ? settings->run : submit_run_id(arena);
	const struct value *fields = value_map(arena, "agent", value_get(head, "agent"),
	    "run", value_str(arena, run), "thread", value_str(arena, thread), "resume",
	    value_str(arena, answer), "context",
	    settings->context != NULL ? value_str(arena, settings->context) : NULL,
	    "stream", settings->follow ? value_str(arena, "1") : NULL, NULL);

	return submit_entry(
	    session, settings, run, thread, value_map_merge(arena, fields, options));
}

static enum status
run_resume(struct session *session, const void *arg, const char *const *rest)
{
	const struct resume_settings *settings = arg;
	struct arena *arena = session_arena(session);
	const struct asks_given given = { rest[0] != NULL ? rest[1] : NULL,
		(const char *const *)settings->answers, settings->file };
	const struct value *state, *head, *options;
	const char *thread, *answer;
	enum status status;

	if (rest[0] == NULL) {
		complain("which RUN or THREAD?");
		return STATUS_USAGE;
	}
	options = submit_options_fields(arena, &settings->submit.options);
	if (options == NULL || !submit_check_id("--run-id", settings->submit.run) ||
	    !submit_check_json(arena, "context", settings->submit.context))
		return STATUS_USAGE;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = find_pause_of(session, rest[0], &thread, &state);
	if (status != STATUS_OK)
		return status;
	head = value_get(state, "head");
	if (!value_text_is(value_get(head, "status"), "interrupted") &&
	    !graph_has_failed(head)) {
		complain("thread '%s' waits for nothing, and no run has failed where it "
			 "stands",
		    thread);
		return STATUS_FAILED;
	}
	answer = asks_answer(arena, asks_of(arena, head), &given);
	if (answer == NULL)
		return STATUS_USAGE;
	return send_answer(session, &settings->submit, thread, head, answer, options);
}

const struct command command_resume = {
	.name = "resume",
	.usage = "RUN|THREAD [ANSWER]",
	.summary = "goes on with a thread that is interrupted, or whose run failed",
	.text =
	    "Goes on with a thread where it is interrupted; ANSWER (JSON, or a text) "
	    "answers what it asked: `flotilla state THREAD` shows that. Several "
	    "interrupts are answered by their ids, all or some: with --answer, or by a "
	    "JSON map. A call whose fate is unknown asks for repeat, fail or "
	    "'{\"respond\": \"text\"}'. Without an answer it also goes on where a run "
	    "has "
	    "failed or was cancelled: what had ended there is not done again.",
	.table = table,
	.settings_size = sizeof(struct resume_settings),
	.arguments_max = 2,
	.run = run_resume,
};
