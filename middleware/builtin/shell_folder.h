/* shell_folder: the temporary folders of shells, $TMPDIR/flotilla-shell-*. The process that makes one
 * holds a lock on it (flock) while it lives, however it ends: what is not locked is left over from
 * one that died, and goes with the next sweep. */
#ifndef SHELL_FOLDER_H
#define SHELL_FOLDER_H

#include <stdatomic.h>

#include "arena.h"

struct shell_folder {
	const char *path; /* in the arena it was made with; NULL: there is none */
	int lock;
};

/* Makes one, of nobody else. Returns NULL, or why it cannot be, in reasons. */
const char *shell_folder_make(
    struct shell_folder *folder, struct arena *arena, struct arena *reasons);

/* These two take long, and are for work_run.
 *
 * Removes a struct shell_folder with all that is in it, whatever its modes, however deep; nobody may
 * be in it any more. Nothing when there is none. */
void shell_folder_remove(void *folder, const atomic_bool *stop);

/* Removes those that processes of this user left over; the argument is not used. */
void shell_folders_sweep(void *none, const atomic_bool *stop);

#endif
