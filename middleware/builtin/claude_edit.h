/* claude_edit: one call of a tool of claude_text_editor or claude_memory: its path, and its answer. For claude_files.c alone. */
#ifndef CLAUDE_EDIT_H
#define CLAUDE_EDIT_H

#include "backend.h"

struct claude_edit {
	struct tool_request *request;
	struct arena *arena;
	const struct value *args;
	const char *field;
	struct backend backend;
	const char *said;           /* the path as the model wrote it */
	const char *path;           /* and as the backend has it */
	struct tool_result *result; /* of a call that is not gone on with */
};

/* Answers, with what the call has changed in the state: a text; that `what` was done to the path; why it cannot be; why an
 * operation ended so. */
struct tool_result *claude_edit_answer(
    struct claude_edit *edit, const char *text, const char *status);
struct tool_result *claude_edit_done(struct claude_edit *edit, const char *what);
struct tool_result *claude_edit_refuse(struct claude_edit *edit, const char *text);
struct tool_result *claude_edit_not_done(struct claude_edit *edit, enum backend_end end);

/* Takes the path in the argument of that name. False: edit->result is the answer. */
bool claude_edit_take_path(struct claude_edit *edit, const char *name);

/* Whether the path is a folder that is there without a file in it, and that nobody may take away. */
bool claude_edit_is_root(const struct claude_edit *edit);

#endif
