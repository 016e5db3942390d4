/* backend_disk: files beneath a folder, as a thread of the pool works on them. For backend_*.c alone.
 *
 * No path leads out of the folder: every step down is an openat of one name with O_NOFOLLOW (file_walk.h), files are
 * opened, written and deleted by their name in a folder that is open. What is no regular file is neither read nor
 * written. A file appears in one piece, by a rename; whoever changes files of a folder holds a lock (flock) on it. */
#ifndef BACKEND_DISK_H
#define BACKEND_DISK_H

#include <stdatomic.h>
#include <sys/types.h>

#include "backend_part.h"

/* One operation. */
struct disk_job {
	struct arena *arena; /* nobody else's while it runs */
	const char *root;    /* of the machine */
	const char
	    *shown; /* what paths have in front in answers: "", or the root itself */
	const char *path;           /* below the root: "" or "a/b" */
	const char *name;           /* the path in this part */
	const char *said;           /* and as the caller says it */
	const struct value *op;     /* backend_part.h */
	uint64_t file_bytes_max;    /* larger files are not searched */
	uint64_t limit_us;          /* from when it begins: others may be in front */
	uint64_t end_us;            /* disk_run has it from there */
	const struct value *answer; /* in arena */
};

/* backend_disk_walk.c: what looks at many files. */
const struct value *disk_ls(struct disk_job *job);
const struct value *disk_glob(struct disk_job *job, const atomic_bool *stop);
const struct value *disk_grep(struct disk_job *job, const atomic_bool *stop);
const struct value *disk_delete(struct disk_job *job, const atomic_bool *stop);

/* Reads the open file, of size bytes as it said, to where there is room for one more. Returns how many there were, or -1
 * with errno. */
ssize_t disk_read_all(int file, uint64_t size, char *bytes);

/* A refusal for errno. */
const struct value *disk_refusal(struct disk_job *job, int error);

/* ns since 1970 as files have times. */
const char *disk_time(struct arena *arena, int64_t ns);

#endif
