/* allow_list: which keys may do what: the YAML file that the broker reads (--allow) and
 * `flotilla keys` edits. docs/security.md is its manual.
 *
 *	keys:
 *	- key: "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
 *	  name: tools-1
 *	  roles: [worker]
 *	  services: ["tool:*", tools]
 */
#ifndef ALLOW_LIST_H
#define ALLOW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "key_file.h"

/* One key. All of it lies in the list's arena. */
struct allow_entry {
	char key[KEY_TEXT_BYTES];
	const char *name; /* for people; no two are equal */
	unsigned roles;   /* 1 << enum wire_role, of those it may have */
	const char *const
	    *services;            /* NULL-ended patterns: what it may serve as a worker */
	const char *const *calls; /* what it may call */
	const char *tenant;       /* whom its calls count to, or NULL: any */
	uint32_t sessions_max;    /* at once */
	uint32_t line;            /* where it begins */
};

struct allow_list {
	const struct allow_entry *entries; /* in the file's order */
	size_t count;
	uint32_t lines; /* of the file */
};

/* Reads the size bytes of text; name is the file's, for messages. Returns the list in
 * arena, or NULL with "file:line:column: reason" in it. An empty file is an empty list. */
const struct allow_list *allow_list_parse(struct arena *arena, const char *name,
    const char *text, size_t size, const char **error_r);

/* The same for the file at path, which only its owner and root may have the right to write:
 * who can write it can let anybody in. */
const struct allow_list *allow_list_load(
    struct arena *arena, const char *path, const char **error_r);

/* True when one of the patterns is service, or ends in '*' and begins like it. */
bool allow_matches(const char *const *patterns, const char *service);

/* Returns the bit of a role's word ("worker"), 0 for what is none. */
unsigned allow_role_bit(const char *word);

#endif
