/* chat: LangChain's messages as values (semantics.md, section 10), and what every part of
 * the fleet asks of them.
 *
 * A message is a map: {type: human|ai|system|tool|remove, id, content: string or blocks,
 * ...}. ai adds tool_calls [{name, args, id, type:"tool_call"}], invalid_tool_calls
 * [{name, args (string), id, error}], usage_metadata; tool adds tool_call_id, name,
 * status, artifact. A removal is {type:"remove", id} with id "__remove_all__" for all. */
#ifndef CHAT_H
#define CHAT_H

#include "value.h"

#define REMOVE_ALL "__remove_all__"

const struct value *chat_human(struct arena *arena, const char *content);
const struct value *chat_system(struct arena *arena, const char *content);
const struct value *chat_ai(struct arena *arena, const char *content);
/* status is "success" or "error". */
const struct value *chat_tool(struct arena *arena, const char *content,
    const char *tool_call_id, const char *name, const char *status);

bool chat_is(const struct value *message, const char *type);

/* True when message has the form above as far as others rely on it: a type, and calls that have
 * names and arguments. chat_normalise makes such ones; what comes from elsewhere is
 * asked. */
bool chat_is_sound(const struct value *message);

/* Returns message's text, a string: the content string, or the text blocks joined; "" when none. */
const struct value *chat_said(struct arena *arena, const struct value *message);

/* The same for those who read up to a NUL: one within is a space here, so that nothing is hidden behind it. */
const char *chat_text(struct arena *arena, const struct value *message);

/* Returns the call of an AI message, valid or malformed, that has this id, or NULL. */
const struct value *chat_call(const struct value *message, const struct value *id);

/* Returns the index of the last AI message, or -1. */
long chat_last_ai(const struct value *messages);

/* Returns the calls of messages' last AI message that no tool message behind it answers,
 * in call order; an empty array when there is none. */
const struct value *chat_pending_calls(struct arena *arena, const struct value *messages);

/* Returns messages with every dangling call (valid or malformed) of every AI message
 * answered by one error tool message, placed right behind the AI message, in front of the
 * answers that its other calls have; the same pointer when nothing dangles (semantics.md
 * 13.5). The texts name tool and call id. */
const struct value *chat_answer_dangling(
    struct arena *arena, const struct value *messages);
/* The same where the messages before from have none. */
const struct value *chat_answer_dangling_from(
    struct arena *arena, const struct value *messages, size_t from);

/* Brings what a user or hook gave as `messages` into form: a string, a map, a list of
 * either; {role, content} and {remove: id|"all"} accepted; missing ids stay missing.
 * Returns an array, or NULL with a reason that names the place ("messages[2].type: ...").
 */
const struct value *chat_normalise(
    struct arena *arena, const struct value *given, const char **error_r);

/* add_messages (semantics.md 2.2): left is an array of full messages with ids. Messages
 * of right get an id where missing (unique, ids from fresh(arg)). Returns the new array,
 * or NULL with a reason (unknown id to remove). */
const struct value *chat_add_messages(struct arena *arena, const struct value *left,
    const struct value *right,
    const struct value *(*fresh)(void *arg, struct arena *arena), void *arg,
    const char **error_r);

#endif
