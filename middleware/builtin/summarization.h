/* summarization: what the files of that middleware share. */
#ifndef SUMMARIZATION_H
#define SUMMARIZATION_H

#include "middleware.h"

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

#endif
