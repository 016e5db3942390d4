/* file_walk: files beneath a folder, and nothing else.
 *
 * The kernel is never given a path: every step down is an openat of one name with O_NOFOLLOW
 * from a folder that is open. So no symbolic link below the root is followed, whoever puts one
 * there at whatever moment, and ".." is no name. What is not a regular file is never opened for
 * reading.
 *
 * All of it blocks: for threads of the pool (runtime/work.h). */
#ifndef FILE_WALK_H
#define FILE_WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

#define FILE_WALK_DEPTH_MAX 64u        /* folders in folders, one descriptor each */
#define FILE_WALK_ENTRIES_MAX 1000000u /* names looked at in one walk */
#define FILE_WALK_FOLDER_MAX 200000u   /* names of one folder */
#define FILE_WALK_BYTES_MAX                                                              \
	(64u << 20) /* that the arena holds: names, and what visit keeps */

struct file_walk {
	struct arena *arena;
	const char *root;        /* a folder of the host */
	const char *path;        /* where to begin: below it, "" or "a/b", no ".." */
	size_t depth;            /* components of paths to visit, from there; 0: any */
	uint64_t end_us;         /* loop_now_us when it is to stop */
	const atomic_bool *stop; /* it is to stop at once */

	/* Called for each regular file, in the order of their paths: name is in the open folder;
	 * path is from the root, "a/b/c", inside is its part from where the walk began.
	 * False: enough. path is in the arena. */
	bool (*visit)(void *arg, int folder, const char *name, const char *path,
	    const char *inside);
	void *arg;

	/* What came of it. */
	size_t entries;
	size_t unreadable; /* folders */
	bool is_late, is_cut;
};

enum file_walk_end {
	FILE_WALK_DONE, /* or is_late, is_cut, or visit had enough */
	FILE_WALK_NO_ROOT,
	FILE_WALK_NO_PATH,
};

enum file_walk_end file_walk(struct file_walk *walk);

/* Only says how it would end: whether there is something at walk's path. */
enum file_walk_end file_walk_look(struct file_walk *walk);

/* True when the walk is to end. Asks the clock. */
bool file_walk_must_stop(struct file_walk *walk);

/* Visits the one file at path, from the root and below walk's; nothing when there is none. */
enum file_walk_end file_walk_one(struct file_walk *walk, const char *path);

/* Opens the regular file name of folder to be read, without waiting. Returns the descriptor and
 * its size and time of change (ns since 1970), or -1. */
int file_walk_open(int folder, const char *name, uint64_t *size_r, int64_t *changed_r);

/* When it was changed, ns since 1970; a time that these do not hold (1677 to 2262) is the last one that they do. */
struct stat;
int64_t file_walk_changed(const struct stat *stat);

/* Opens the folder beneath root that path's last component is in, which becomes *name_r, in arena; NULL when
 * path is the root. makes: folders that are not there come about. Returns -1 with errno. */
int file_walk_parent(struct arena *arena, const char *root, const char *path, bool makes,
    const char **name_r);

/* True when root is a folder that can be opened. */
bool file_walk_is_folder(const char *root);

#endif
