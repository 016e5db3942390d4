/* rubric_grade: a grader's question and its verdict (semantics.md 6.26). Used by rubric alone. */
#ifndef RUBRIC_H
#define RUBRIC_H

#include "middleware.h"

#define RUBRIC_SOURCE "rubric_grader" /* marks the messages that ask for a revision */
#define RUBRIC_MESSAGES_MAX 30u       /* of a transcript */
#define RUBRIC_CHARS_MAX 4000u        /* of each of its messages */
#define RUBRIC_TRIES_MAX 3u           /* for a verdict that can be read */

/* Returns the end of a conversation as the grader reads it, in arena: a line of JSON for each message,
 * {role, text}, so that no text passes itself off as another message. The first one of the user is
 * always there. */
const char *rubric_transcript(struct arena *arena, const struct value *messages);

/* Asks the grader about the turn's messages. Returns {result, explanation, criteria: [{name, passed,
 * gap?}]} in the turn's arena; result is satisfied, needs_revision or failed, or grader_error: the
 * grader could not be asked, or none of its answers was a verdict. NULL: the run was cancelled;
 * return NULL from the hook. number: how many times it was graded with this one. */
const struct value *rubric_grade(struct turn *turn, const char *rubric, int64_t number);

#endif
