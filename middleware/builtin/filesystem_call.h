/* filesystem_call: one call of a tool of filesystem: its path, whether it may run, its answer. For
 * filesystem_*.c alone. */
#ifndef FILESYSTEM_CALL_H
#define FILESYSTEM_CALL_H

#include "filesystem.h"

struct call {
	struct tool_request *request;
	struct arena *arena;
	const struct value *args, *settings;
	struct filesystem_rules *rules;
	struct backend backend;
	const char *path;
	struct tool_result *result; /* of a call that is not gone on with */
};

/* Fills call for request, without a path. */
void call_open(struct call *call, struct tool_request *request);

/* The same with the path of the argument `path`, beneath which it is read; or of `file_path`, which it reads or
 * writes. False: call->result is the answer (NULL: it waits for a human). */
bool call_begin_search(struct call *call, struct tool_request *request);
bool call_begin(struct call *call, struct tool_request *request, bool writes);

/* The path alone; and whether the call may do that to it, has_more: and to all beneath it. */
bool call_take_path(
    struct call *call, struct tool_request *request, const char *argument);
bool call_is_permitted(struct call *call, bool writes, bool has_more);

/* Answers, with what the call has changed in the state: content; a text; "Error: " and why; text when the operation
 * ended well, else its error. */
struct tool_result *call_answer_with(
    struct call *call, const struct value *content, const char *status);
struct tool_result *call_answer(struct call *call, const char *text);
struct tool_result *call_refuse(struct call *call, const char *error);
struct tool_result *call_answer_end(
    struct call *call, enum backend_end end, const char *text);

/* filesystem_find.c */
extern const struct tool filesystem_ls, filesystem_glob, filesystem_grep;

#endif
