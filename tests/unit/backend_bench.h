/* backend_bench: a backend as a node hook opens it, without a run: for tests of backend_*.c. Long-term memory is a map
 * in memory. */
#ifndef BACKEND_BENCH_H
#define BACKEND_BENCH_H

#include "backend.h"
#include "chain.h"

struct backend_bench {
	struct arena *arena;
	struct turn turn;
	struct middleware_use use;
	struct backend backend;
	/* {"label label": {path: value}}; NULL: it fails. */
	const struct value *memory;
};
extern struct backend_bench desk;

void desk_open(void); /* with the backend `state` and no files */
void desk_close(void);

/* Opens the backend of setting, with these files in the state; both literals. */
void desk_use(const char *setting, const char *files);

/* The text of a file; "missing", or the error. */
const char *desk_read(const char *path);
/* Writes a text, which must go well. */
void desk_write(const char *path, const char *text);
enum backend_end desk_edit(
    const char *path, const char *old, const char *new, bool all, size_t *count_r);

/* "path path/ path" of what is found, or the error. */
const char *desk_ls(const char *path);
const char *desk_glob(const char *pattern, const char *path);
/* "path:line:text path:line:text", " ..." behind when there is more; or the error. */
const char *desk_grep(const char *text, const char *path, const char *names, size_t most);

#endif
