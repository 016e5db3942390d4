/* claude_files: what claude_text_editor and claude_memory have in common: one tool with commands on text files, where a
 * backend has them (backend.h). */
#ifndef CLAUDE_FILES_H
#define CLAUDE_FILES_H

#include "backend.h"

#define CLAUDE_FILES_VIEW_BYTES 131072u /* of a file that is shown at once */

/* The JSON Schema of such a tool's arguments. */
extern const char claude_files_parameters[];

#define CLAUDE_FILES_PREFIXES_TEXT                                                       \
	"The tool reads and writes only what is beneath one of these folders."

/* For configure(): the backend, and that allowed_path_prefixes are paths. */
int claude_files_configure(struct arena *arena, struct middleware_use *use,
    const char *field, const char **error_r);

/* The tool's body, of files in that field of the state. */
struct tool_result *claude_files_run(struct tool_request *request, const char *field);

#endif
