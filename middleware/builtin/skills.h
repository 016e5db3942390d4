/* skills_load: what SKILL.md files say of themselves (semantics.md 6.23; agentskills.io/specification). Used
 * by skills alone.
 *
 * A skill is a folder with a SKILL.md, which begins with YAML between two lines of three hyphens:
 * `name` and `description`, and as one likes `license`, `compatibility`, `allowed-tools`, `metadata`. */
#ifndef SKILLS_H
#define SKILLS_H

#include "backend.h"

#define SKILL_FILE "SKILL.md"
#define SKILL_HEAD_BYTES_MAX 16384u /* of the YAML */
#define SKILL_NAME_CHARS_MAX 64u
#define SKILL_DESCRIPTION_CHARS_MAX 1024u  /* longer ones are cut */
#define SKILL_COMPATIBILITY_CHARS_MAX 500u /* likewise */
#define SKILL_FOLDERS_MAX 1000u            /* looked into, of all sources */
#define SKILL_BYTES_MAX 65536u             /* of what one says, with its aliases */
#define SKILLS_BYTES_MAX (1u << 20)        /* of what all say: then no more are read */
#define SKILLS_READ_BYTES_MAX (64u << 20)  /* of all files, likewise */
#define SKILL_ERRORS_MAX 20u
#define SKILL_ERROR_CHARS_MAX 1000u

/* Reads the beginning of the size bytes at text, the file at path in a folder of that name. Returns {name,
 * description, path, license, compatibility, metadata, allowed_tools}, absent ones null, in arena; NULL
 * with *error_r when it is no skill. *warning_r: what the specification does not allow and is taken all
 * the same, or NULL. */
const struct value *skill_parse(struct arena *arena, const char *path, const char *folder,
    const char *text, size_t size, const char **warning_r, const char **error_r);

struct skills {
	const struct value
	    *found; /* [skill]; of several with one name the last, at the first's place */
	const struct value *errors; /* [text], what could not be read */
};

/* Looks into each folder in each of sources, [path]; warnings are noted. Returns 0, or -1: the run was
 * cancelled. */
int skills_load(struct turn *turn, struct backend *backend, const struct value *sources,
    struct skills *skills_r);

#endif
