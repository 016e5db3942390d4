/* submit: an entry of the inbox, and what to do until its run has ended; for `submit` and
 * `resume`. */
#ifndef SUBMIT_H
#define SUBMIT_H

#include "command.h"
#include "submit_options.h"

struct submit_settings {
	struct common_settings common;
	const char *thread;
	const char *run;
	const char *parent;
	const char *input;
	const char *context;
	const char *multitask;
	const char *ttl, *ttl_action;
	const char **plugins;
	const char *models;
	int64_t checkpoint; /* 0: none */
	bool silent;        /* wait, and say nothing but what went wrong; no flag */
	bool wait;
	bool follow;
	struct submit_options options;
};

/* What commands that say what a run is to do, and how, have of flags: rows of a table of struct submit_settings, or of
 * what begins with one. */
#define SUBMIT_SETTING(field) offsetof(struct submit_settings, field)
#define RUN_SETTINGS                                                                     \
	{ "input", SETTING_TEXT, SUBMIT_SETTING(input), NULL, 0, 0, NULL,                \
		"the whole input as JSON: {\"messages\": [...], field: value}", 0 },     \
	    { "context", SETTING_TEXT, SUBMIT_SETTING(context), NULL, 0, 0, NULL,        \
		    "the run's static context as JSON", 0 },                             \
	    { "deadline", SETTING_TEXT, SUBMIT_SETTING(options.deadline), NULL, 0, 0,    \
		    NULL,                                                                \
		    "end it with an error when it takes longer, counted from its start", \
		    0 },                                                                 \
	    { "recursion-limit", SETTING_INTEGER,                                        \
		    SUBMIT_SETTING(options.recursion_limit), NULL, 1, INT64_MAX, NULL,   \
		    "the steps it may take (default: as many as its agent's)", 0 },      \
	    { "max-concurrency", SETTING_INTEGER,                                        \
		    SUBMIT_SETTING(options.max_concurrency), NULL, 1, INT64_MAX, NULL,   \
		    "calls of tools at once (default: as many as its agent's)", 0 },     \
	    { "priority", SETTING_INTEGER, SUBMIT_SETTING(options.priority), "2", 0,     \
		    PRIORITY_MAX, NULL, "0 goes first", 0 },                             \
	    { "tenant", SETTING_TEXT, SUBMIT_SETTING(options.tenant), NULL, 0, 0, NULL,  \
		    "whom it is for; workers are shared fairly between tenants", 0 },    \
	    { "webhook", SETTING_TEXT, SUBMIT_SETTING(options.webhook), NULL, 0, 0,      \
		    NULL, "a URL that is told of its end", 0 },                          \
	    { "metadata", SETTING_LIST, SUBMIT_SETTING(options.metadata), NULL, 0, 0,    \
		    NULL, "NAME=TEXT, kept with its record; may be given several times", \
		    0 },                                                                 \
	    { "interrupt-before", SETTING_LIST,                                          \
		    SUBMIT_SETTING(options.interrupt_before), NULL, 0, 0, NULL,          \
		    "a node to pause in front of, beside its agent's; *: all; may be "   \
		    "given several times",                                               \
		    0 },                                                                 \
	    { "interrupt-after", SETTING_LIST, SUBMIT_SETTING(options.interrupt_after),  \
		    NULL, 0, 0, NULL, "a node to pause behind, likewise", 0 },           \
	    { "multitask", SETTING_TEXT, SUBMIT_SETTING(multitask), NULL, 0, 0, NULL,    \
		    "what to do when the thread is not free: enqueue waits (the "        \
		    "default), "                                                         \
		    "interrupt ends what goes on and keeps what it did, rollback "       \
		    "undoes it as "                                                      \
		    "well, reject refuses",                                              \
		    0 },                                                                 \
	    { "ttl", SETTING_TEXT, SUBMIT_SETTING(ttl), NULL, 0, 0, NULL,                \
		    "how long the thread is kept after its last run: 90s, 8h, 7d; 0s: "  \
		    "for ever "                                                          \
		    "(default: as before)",                                              \
		    0 },                                                                 \
	{                                                                                \
		"ttl-action", SETTING_TEXT, SUBMIT_SETTING(ttl_action), NULL, 0, 0,      \
		    NULL,                                                                \
		    "what is done with it then: delete (the default) or keep_latest", 0  \
	}

/* Adds an entry with the fields (name, text or NULL, ..., NULL), waits or follows as
 * settings say, and prints. */
enum status submit_entry(struct session *session, const struct submit_settings *settings,
    const char *run, const char *thread, const struct value *fields);

/* Adds the entry alone, and says nothing but what went wrong. *entry_r: its id in the inbox. */
enum status submit_add(struct session *session, const struct submit_settings *settings,
    const char *run, const char *thread, const struct value *fields,
    const char **entry_r);

/* The text of a checkpoint's version, or NULL for 0. */
const struct value *submit_version(struct arena *arena, int64_t version);

/* The input as JSON text: --input, or the text of the arguments, or stdin; NULL after saying why there is none. */
const char *submit_input(struct session *session, const struct submit_settings *settings,
    const char *const *texts);
/* Whether text, given as flag name, is JSON or NULL; says so on stderr when not. The coordinator would refuse it, too,
 * but when it is not waited for nobody would hear of that. */
bool submit_check_json(struct arena *arena, const char *name, const char *text);
/* What the submission says of its thread, {name: text}; NULL after saying what is wrong with the flags. */
const struct value *submit_thread_fields(
    struct arena *arena, const struct submit_settings *settings);

/* A fresh run id. */
const char *submit_run_id(struct arena *arena);

/* Whether id, given as flag, may name a run or thread; says so on stderr when not. NULL may. */
bool submit_check_id(const char *flag, const char *id);

#endif
