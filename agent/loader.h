/* loader: a spec on its way from its source: what the files that check its parts share.
 *
 * A part's function returns 0, or -1 after loader_fail. given is NULL when the key is
 * absent or null. Paths are JSON pointers into the source. */
#ifndef LOADER_H
#define LOADER_H

#include "spec.h"

struct loader {
	struct arena *arena;
	struct spec *spec;
	const char *name; /* when the source has none */
	const struct value
	    *source; /* without deep_agent: what it stands for is spelled out */
	const struct value *
	    places; /* texts: of each of `middleware`, or of its settings where deep_agent says so; NULL:
		       there is no deep_agent */
	const struct value *
	    parts; /* where what deep_agent makes agents of stands (spec_deep_place.c); or NULL */
	unsigned
	    depth; /* 0; of an agent that is part of another one more than that one's */
	size_t *
	    part_bytes; /* of all agents within the outermost one, complete; shared by their loaders */
	const char *path, *error;
};

/* Notes where and why; returns -1. The first reason stays. */
int loader_fail(struct loader *loader, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "; did you mean \"name\"?" with the name in the NULL-ended names that is nearest to
 * given, or "". */
const char *loader_hint(struct arena *arena, const char *given, const char *const *names);

/* Fails when map has a key that is not among names: "what has no ..." */
int loader_known_keys(struct loader *loader, const char *path, const struct value *map,
    const char *const *names, const char *what);

/* Fails when text is not a name: 1 to max bytes without control characters. */
int loader_check_name(struct loader *loader, const char *path, const char *what,
    const struct value *text, size_t max);

/* The pointer of array item index. */
const char *loader_item(struct arena *arena, const char *path, size_t index);

/* Loads source, an agent that is part of loader's, as spec_load. */
struct spec *loader_part(struct loader *loader, const struct value *source,
    const char *name, const char **path_r, const char **error_r);

/* Parts (spec_middleware.c, spec_tools.c, spec_state.c, spec_format.c, spec_run.c, spec_script.c). */
int load_middleware(struct loader *loader, const char *path, const struct value *given);
int load_tools(struct loader *loader, const char *path, const struct value *given);
int load_state(struct loader *loader, const char *path, const struct value *given);
int load_response_format(
    struct loader *loader, const char *path, const struct value *given);
int load_cache(struct loader *loader, const char *path, const struct value *given);
int load_debug(struct loader *loader, const char *path, const struct value *given);
int load_script(struct loader *loader, const char *path, const struct value *given);

/* Returns source with what its deep_agent stands for in its middleware, and without that key, in the loader's arena; fills
 * the loader's places. NULL after loader_fail (spec_deep.c). */
const struct value *load_deep_agent(struct loader *loader, const struct value *source);
/* Why a new agent of this source, which loads, is refused, with *path_r the place; or NULL: one of its tools would silently
 * take the place of deep_agent's (semantics.md 6.18). */
const char *deep_agent_objection(
    struct arena *arena, const struct value *source, const char **path_r);

/* Where path, in a source that load_deep_agent has spelled out, stands in what was given; path itself when that is there
 * (spec_deep_place.c). */
const char *deep_agent_place(const struct loader *loader, const char *path);

/* Returns source, which is of the file at path, with the code in place of the files that its
 * middleware name; NULL with the place within it and the reason, in arena (spec_code.c). */
const struct value *load_code(struct arena *arena, const struct value *source,
    const char *path, const char **at_r, const char **error_r);

#endif
