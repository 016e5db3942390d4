/* file_search: one search of filesystem_file_search, as a thread of the pool does it: files by
 * their names, or lines by a regular expression, beneath a root (file_walk.h). */
#ifndef FILE_SEARCH_H
#define FILE_SEARCH_H

#include "file_glob.h"
#include "file_walk.h"
#include "pattern.h"
#include "value.h"

#define FILE_SEARCH_MS 30000u            /* of one search, ripgrep's part included */
#define FILE_SEARCH_ANSWER_BYTES 262144u /* for the model; the rest is left out */
#define FILE_SEARCH_LINE_BYTES 1000u     /* of a line that is shown */
#define FILE_SEARCH_FOUND_MAX 100000u    /* files held to be sorted by their age */

enum file_search_mode {
	FILE_SEARCH_NAMES, /* glob_search: newest first */
	FILE_SEARCH_FILES, /* grep_search: those with a line that matches */
	FILE_SEARCH_CONTENT,
	FILE_SEARCH_COUNT,
};

/* The JSON Schemas of the arguments of glob_search and grep_search, and the mode that the latter's say. */
extern const char file_search_glob_parameters[], file_search_grep_parameters[];
enum file_search_mode file_search_mode_of(const struct value *args);

struct file_search {
	struct arena *arena; /* nobody else's while it runs */
	const char *root;
	const char *path; /* "" or "a/b" */
	enum file_search_mode mode;
	const struct file_glob *glob;  /* names to look at; NULL: all */
	const struct pattern *pattern; /* of lines */
	uint64_t file_bytes_max;       /* larger files are not read */
	uint64_t limit_us;             /* from when it begins: others may be in front */
	/* Files that may match, from the root and sorted; NULL: all are looked at. */
	const char *const *candidates;

	enum file_walk_end end;
	const char *
	    answer; /* NUL-terminated, in arena: the lines, and what is to be said of them */
	bool is_late; /* in: somebody was late before it began */
};

/* Both for work_run: arg is a struct file_search. */

/* Only sets end: whether there is a folder or a file at path. */
void file_search_look(void *arg, const atomic_bool *stop);

void file_search_run(void *arg, const atomic_bool *stop);

#endif
