/* backend_part: the parts of a backend, for backend_*.c alone: operations as values, and who does them.
 *
 * An operation is {op, path, ...}; its answer is a map with what it gives, or {error, missing?}; NULL
 * means that the caller was cancelled. So one goes to a tool worker as it stands (backend_run_tool), and
 * what a composite does is to change paths.
 *
 *	read     path                                      {file: {content, encoding, created_at, modified_at}}
 *	write    path, content, encoding? ("base64")       {}
 *	append   path, content                             {}
 *	edit     path, old_string, new_string, all         {count}
 *	delete   path                                      {}
 *	ls       path                                      {items: [{path, is_dir, size, modified_at}], cut}
 *	glob     path, pattern                             {items, cut}
 *	grep     path, text, glob?, most                   {items: [{path, line, text}], cut}
 *	execute  command, timeout_ms                       {text, status, cut}
 *
 * What came by a route of a composite has that, too: errors name the path that the caller gave.
 */
#ifndef BACKEND_PART_H
#define BACKEND_PART_H

#include "backend.h"

#define BACKEND_LOOP_US                                                                  \
	1000000u /* of a search on the loop itself: others wait for it meanwhile */

/* One of a setting's parts that is no composite. */
struct backend_part {
	const char *kind;             /* "state", "store", "filesystem", "local_shell" */
	const struct value *settings; /* a map, or NULL */
	const char *route;            /* "" or "/memories/" */
};

/* The part that path is in; *inside_r is the path there. */
struct backend_part backend_part_of(struct arena *arena, const struct value *setting,
    const char *path, const char **inside_r);

/* The part of that route, "" the default's. False when there is none. */
bool backend_part_at(
    const struct value *setting, const char *route, struct backend_part *part_r);

/* How long a command of local_shell may take that is given no time of its own. */
double backend_seconds_of(const struct backend_part *part);

/* Does op in part, whose paths are inside of it. */
const struct value *backend_do(
    struct backend *backend, const struct backend_part *part, const struct value *op);

/* path, of a part, as the caller of op knows it: "/memories/a" where op came by the route "/memories/". */
const char *backend_outside(
    struct arena *arena, const struct value *op, const char *path);

/* {error} and {error, missing: true}. */
const struct value *backend_refusal(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const struct value *backend_missing(struct arena *arena, const char *path);

/* Does op to a map of files {path: file}. *changed_r: {path: file or nil} or NULL. */
const struct value *backend_map_do(struct arena *arena, const struct value *files,
    const struct value *op, const struct value **changed_r);

/* Whether {name} may stand in a label of a namespace. */
bool backend_is_slot(const char *name);

/* Does op in long-term memory; store(arg, op) is the caller's way there. */
const struct value *backend_store_do(
    struct backend *backend, const struct backend_part *part, const struct value *op);

/* Does op beneath a folder, in a tool worker, on a thread of the pool. */
const struct value *backend_folder_do(
    struct backend *backend, const struct backend_part *part, const struct value *op);

/* Runs op's command in the folder of a part that is local_shell. */
const struct value *backend_shell_do(
    struct backend *backend, const struct backend_part *part, const struct value *op);

/* Replaces as backend_edit() says. Returns the new text, or NULL with *refusal_r. */
const struct value *backend_replace(struct arena *arena, const struct value *content,
    const struct value *op, size_t *count_r, const struct value **refusal_r);

/* A file of the state or store with this content; before: what it was, or NULL. */
const struct value *backend_file_value(
    struct arena *arena, const struct value *before, const struct value *content);

/* Whoever it is called by. */
struct backend_caller {
	const struct value *(*store)(void *arg, const struct value *op);
	/* Does op in a part that is a folder. */
	const struct value *(*folder)(struct backend *backend,
	    const struct backend_part *part, const struct value *op);
};

/* Lines of a text that have another one in them. */
struct backend_grep {
	struct arena *arena;
	const char *needle;
	size_t needle_size;
	size_t most;
	struct value_list items;
	size_t bytes;
	bool is_cut;
};
/* Adds the matches of a file. False: there is no room for more. */
bool backend_grep_text(
    struct backend_grep *grep, const char *path, const char *text, size_t size);

/* Whether grep's glob (NULL: all) means a file: name is its last component, inside its path from where
 * the search began. */
struct file_glob;
bool backend_glob_means(
    const struct file_glob *glob, const char *name, const char *inside);

/* Adds an entry of ls or glob; false: there is no room for more. */
struct backend_entries {
	struct arena *arena;
	struct value_list items;
	size_t bytes;
	bool is_cut;
};
bool backend_entry_add(struct backend_entries *entries, const char *path, bool is_dir,
    uint64_t size, const char *modified_at);
/* {items, cut}, sorted by path. */
const struct value *backend_entries_end(struct backend_entries *entries);

/* Orders two items by their path, and lines of one by their number: for qsort. */
int backend_compare_paths(const void *a, const void *b);

/* items in that order. */
const struct value *backend_sorted(struct arena *arena, const struct value *items);

#endif
