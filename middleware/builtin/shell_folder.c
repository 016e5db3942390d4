#include "shell_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "flotilla-shell-"
#define TRIES 8u
#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const char *
above(void)
{
	const char *given = getenv("TMPDIR");

	return given != NULL && given[0] == '/' ? given : "/tmp";
}

/* --- locks -------------------------------------------------------------------------- */

/* Returns the lock on path, which stands there and is ours; -1: somebody has it, or removes it. */
static int
lock(const char *path)
{
	int folder = open(path, OPEN_FOLDER);
	struct stat stat;

	if (folder == -1)
		return -1;
	if (flock(folder, LOCK_EX | LOCK_NB) == 0 && fstat(folder, &stat) == 0 &&
	    stat.st_uid == geteuid() && stat.st_nlink > 0)
		return folder;
	close(folder);
	return -1;
}

const char *
shell_folder_make(struct shell_folder *folder, struct arena *arena, struct arena *reasons)
{
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		char *path = arena_printf(arena, "%s/" PREFIX "XXXXXX", above());

		if (mkdtemp(path) == NULL)
			break;
		folder->lock = lock(path);
		if (folder->lock == -1)
			continue; /* a sweep was here first */
		folder->path = path;
		return NULL;
	}
	return arena_printf(reasons, "no temporary folder: %s", strerror(errno));
}

/* --- removal ------------------------------------------------------------------------ */

/* Removes what is in `from`, which it closes. Folders that are not empty are moved to top: so none
 * is too deep, whatever a path may be long. Returns how many were removed or moved. */
static size_t
remove_entries(int from, int top, const struct stat *place, unsigned *number)
{
	DIR *folder = fdopendir(from);
	const struct dirent *entry;
	size_t done = 0;
	char name[16];

	if (folder == NULL) {
		close(from);
		return 0;
	}
	while ((entry = readdir(folder)) != NULL) {
		const char *old = entry->d_name;
		struct stat stat;
		int below;

		if (strcmp(old, ".") == 0 || strcmp(old, "..") == 0 ||
		    fstatat(from, old, &stat, AT_SYMLINK_NOFOLLOW) == -1 ||
		    stat.st_dev != place->st_dev)
			continue;
		if (!S_ISDIR(stat.st_mode)) {
			done += unlinkat(from, old, 0) == 0;
			continue;
		}
		/* It may have been made unreadable. */
		if (fchmodat(from, old, 0700, 0) == -1 && errno == ENOENT)
			continue;
		snprintf(name, sizeof name, ".%u", (*number)++);
		if (unlinkat(from, old, AT_REMOVEDIR) == 0 ||
		    (top != -1 && renameat(from, old, top, name) == 0))
			done++;
		else if (top == -1 &&
			 (below = openat(from, old,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) != -1)
			done += remove_entries(below, from, place, number);
	}
	closedir(folder);
	return done;
}

static void
remove_folder(const char *path)
{
	struct stat place;
	unsigned number = 0;
	size_t done;
	int top;

	chmod(path, 0700);
	do {
		top = open(path, OPEN_FOLDER);
		if (top == -1)
			return;
		done = fstat(top, &place) == -1
			   ? 0
			   : remove_entries(top, -1, &place, &number);
	} while (done > 0);
	rmdir(path);
}

void
shell_folder_remove(void *folder, const atomic_bool *stop)
{
	struct shell_folder *own = folder;

	(void)stop; /* what is begun is done: nobody else would */
	if (own->path == NULL)
		return;
	remove_folder(own->path);
	close(own->lock);
	own->path = NULL;
}

/* --- what is left over -------------------------------------------------------------- */

/* Nobody else can put another in the place of a folder that is ours. */
static bool
is_ours(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode) &&
	       stat.st_uid == geteuid();
}

static void
remove_if_left(const char *path)
{
	int held;

	if (!is_ours(path))
		return;
	held = lock(path);
	if (held == -1 && errno == EACCES && chmod(path, 0700) == 0)
		held = lock(path); /* its shell made it unreadable */
	if (held == -1)
		return;
	remove_folder(path);
	close(held);
}

void
shell_folders_sweep(void *none, const atomic_bool *stop)
{
	DIR *folder = opendir(above());
	const struct dirent *entry;
	char path[4096];

	(void)none;
	while (folder != NULL && !atomic_load(stop) && (entry = readdir(folder)) != NULL)
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    (size_t)snprintf(path, sizeof path, "%s/%s", above(), entry->d_name) <
			sizeof path)
			remove_if_left(path);
	if (folder != NULL)
		closedir(folder);
}
