/* summarization: what the files of that middleware share, and deepagents_summarization with them. */
#ifndef SUMMARIZATION_H
#define SUMMARIZATION_H

#include "middleware.h"
#include "token_count.h"

#define SUMMARY_SOURCE "summarization" /* additional_kwargs.lc_source of a summary */

/* True for the message that a summary became. */
bool summarization_is_summary(const struct value *message);

/* Returns how many of messages, from the first on, become a summary so that keep ({messages: n} or
 * {tokens: n}) is left: 0 for none. A call and its answers are never parted, whatever lies between
 * them: rather more is kept. An answer to a call that is not there is not kept. arena is for itself;
 * costs what there are messages and calls. */
size_t summarization_cut(struct arena *arena, const struct value *messages,
    const struct value *keep, double chars);

/* Returns messages as text for the model that sums up, at most about limit tokens of them (-1: all):
 * the last ones, the first of them cut, and in front of them an earlier summary, which stands for
 * what came before. In arena. */
const char *summarization_text(
    struct arena *arena, const struct value *messages, int64_t limit, double chars);

/* --- settings and asking (summarization_ask.c) ------------------------------------------ */

/* Returns settings with the size or trigger of that name as read (context_size, context_trigger) gives
 * it, or NULL with a reason that has its place in front. */
const struct value *summarization_size(struct arena *arena, const struct value *settings,
    const char *name,
    const struct value *(*read)(struct arena *arena, const struct value *given,
	int64_t window, const char **place_r, const char **error_r),
    int64_t window, const char **error_r);

/* What is wrong with a prompt of the user's own, or NULL. */
const char *summarization_prompt_flaw(struct arena *arena, const char *text);

/* True when trigger (context_size.h) is met by request: by what is counted of it, or by what its last
 * answer's provider reported. */
bool summarization_is_due(
    const struct value *trigger, const struct token_request *request);

/* A call of a model for a summary, in a node hook or a wrap. */
struct summary_call {
	struct arena *arena;
	const struct value *settings;       /* of the use: model?, summary_prompt?,
					 trim_tokens_to_summarize? */
	const char *model;                  /* that one's, or the agent's */
	const struct value *model_settings; /* of the agent's, or NULL */
	/* Sends wish, as turn_call_model and model_call take it. Returns the answer's messages, or NULL
	 * with *fault_r; NULL there, too: cancelled. */
	const struct value *(*send)(
	    void *arg, const struct value *wish, const struct fault **fault_r);
	void *arg;
};

/* Returns a summary of messages, or NULL with *reason_r: there is none, and nothing must be removed for
 * it. Without a reason the run was cancelled. A wish that is too long itself is sent again with less
 * of the messages, the last half. */
const char *summarization_ask(
    const struct summary_call *call, const struct value *messages, const char **reason_r);

/* The same in a node hook; a note says the reason. */
const char *summarization_of_turn(struct turn *turn, const struct value *messages);

#endif
