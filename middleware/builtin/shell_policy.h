/* shell_policy: what a shell may see and use: `host`, as the worker's user; `bubblewrap`, in
 * namespaces of its own, where there is its folder and no network (docs/security.md). */
#ifndef SHELL_POLICY_H
#define SHELL_POLICY_H

#include "process.h"
#include "value.h"

#define SHELL_SANDBOX_FOLDER                                                             \
	"/workspace" /* what its folder is called inside of bubblewrap */

struct shell_launch {
	const char *const *argv;
	const char *const *env;
	const char *directory;
	struct process_limits limits;
};

/* Fills launch_r, in arena, with how the shell of settings (shell_tool's) is started in folder. Its
 * environment is made of nothing: PATH, HOME, LANG, TERM and the setting `env`. */
void shell_policy_launch(struct arena *arena, const struct value *settings,
    const char *folder, struct shell_launch *launch_r);

/* True when settings ask for bubblewrap. */
bool shell_policy_is_sandbox(const struct value *settings);

#endif
