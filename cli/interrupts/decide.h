/* decide: answers calls of tools that wait for a human; for `approve`, `reject`, `edit` and
 * `respond`. */
#ifndef DECIDE_H
#define DECIDE_H

#include "actions.h"
#include "bounds.h"
#include "submit.h"

struct decide_settings {
	struct submit_settings submit; /* first: the common ones are its first */
	const char *rest;              /* what becomes of those not named, or NULL */
	const char *message;           /* of reject, respond */
	const char *args, *name;       /* of edit */
};

#define DECIDE_SETTING(field) offsetof(struct decide_settings, field)
#define DECIDE_SETTINGS                                                                  \
	{ "rest", SETTING_TEXT, DECIDE_SETTING(rest), NULL, 0, 0, NULL,                  \
		"what becomes of the other actions that wait there: approve or reject "  \
		"(default: they wait on; those of one message cannot)",                  \
		0 },                                                                     \
	    { "run-id", SETTING_TEXT, DECIDE_SETTING(submit.run), NULL, 0, 0, NULL,      \
		    "the id of the run that goes on (default: a fresh one)", 0 },        \
	    { "priority", SETTING_INTEGER, DECIDE_SETTING(submit.options.priority), "2", \
		    0, PRIORITY_MAX, NULL, "0 goes first", 0 },                          \
	    { "tenant", SETTING_TEXT, DECIDE_SETTING(submit.options.tenant), NULL, 0, 0, \
		    NULL, "whom it is for (default: that of the run which asks)", 0 },   \
	    { "metadata", SETTING_LIST, DECIDE_SETTING(submit.options.metadata), NULL,   \
		    0, 0, NULL,                                                          \
		    "NAME=TEXT, kept with its record: who decided, say; may be given "   \
		    "several times",                                                     \
		    0 },                                                                 \
	    { "wait", SETTING_BOOL, DECIDE_SETTING(submit.wait), NULL, 0, 0, NULL,       \
		    "wait for the end and print the answer", 'w' },                      \
	{                                                                                \
		"follow", SETTING_BOOL, DECIDE_SETTING(submit.follow), NULL, 0, 0, NULL, \
		    "show each step and token as it happens", 'f'                        \
	}

#define DECIDE_USAGE "RUN|THREAD [ACTION...]"

/* Makes the decision on the actions that rest names behind its first, the run or thread: by number or
 * by tool call id; without any on all. decision: {type, ...}; edit: its args is JSON in settings.
 * alone: it is for one action. Returns when the answer was taken, or refused: somebody else was
 * first. */
enum status decide(struct session *session, const struct decide_settings *settings,
    const char *const *rest, const struct value *decision, bool alone);

#endif
