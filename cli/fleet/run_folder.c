#include "run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE "/tmp"
#define PREFIX "flotilla-"
#define NAME_BYTES (sizeof PREFIX - 1 + 6)
#define LOCK "up.lock"
#define NEW_LOCK "up.lock.new"

/* Takes the lock on the file of that name in the folder. Returns it, or -1. */
static int
lock(int folder, const char *name, int flags)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(folder, name, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd == -1 || fcntl(fd, F_OFD_SETLK, &whole) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Sockets and the lock: there are no folders in it. Takes the descriptor. */
static void
empty(int folder)
{
	DIR *dir = fdopendir(folder);
	struct dirent *entry;

	if (dir == NULL) {
		close(folder);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}

static bool
is_ours(int folder)
{
	struct stat st;

	return fstat(folder, &st) == 0 && st.st_uid == geteuid() &&
	       (st.st_mode & 0077) == 0;
}

/* One whose lock nobody holds. A folder without lock is somebody else's, or is being made
 * right now. */
static void
remove_stale(int place, const char *name)
{
	int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int held = -1;

	if (folder == -1)
		return;
	if (is_ours(folder))
		held = lock(folder, LOCK, 0);
	if (held == -1) {
		close(folder);
		return;
	}
	empty(folder);
	unlinkat(place, name, AT_REMOVEDIR);
	close(held);
}

static void
remove_all_stale(void)
{
	DIR *dir = opendir(PLACE);
	struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0 &&
		    strlen(entry->d_name) == NAME_BYTES)
			remove_stale(dirfd(dir), entry->d_name);
	closedir(dir);
}

/* The lock file gets its name when it is locked: nobody finds it free. */
static int
take_lock(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int held, error;

	if (folder == -1)
		return -1;
	held = lock(folder, NEW_LOCK, O_CREAT);
	if (held != -1 && renameat(folder, NEW_LOCK, folder, LOCK) == -1) {
		error = errno;
		close(held);
		errno = error;
		held = -1;
	}
	error = errno;
	close(folder);
	errno = error;
	return held;
}

int
run_folder_new(struct run_folder *folder)
{
	int error;

	remove_all_stale();
	folder->lock = -1;
	snprintf(folder->path, sizeof folder->path, PLACE "/" PREFIX "XXXXXX");
	if (mkdtemp(folder->path) == NULL)
		return -1;
	folder->lock = take_lock(folder->path);
	if (folder->lock != -1)
		return 0;
	error = errno;
	rmdir(folder->path);
	errno = error;
	return -1;
}

void
run_folder_remove(struct run_folder *folder)
{
	int opened = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (opened != -1)
		empty(opened);
	rmdir(folder->path);
	close(folder->lock);
	folder->lock = -1;
}
