/* yaml_build: libyaml's events to values that know where they are written. Part of
 * yaml. */
#ifndef YAML_BUILD_H
#define YAML_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "place.h"
#include "value.h"

/* A value and where it is written. */
struct yaml_node {
	const struct value *value;
	struct place place;
	struct place key; /* of a value in a map: where its key is written */
	size_t size;   /* values in it, itself and keys too, aliases where they stand */
	size_t bytes;  /* of the texts in it, likewise */
	size_t depth;  /* of arrays and maps in each other; 0: a scalar */
	bool is_merge; /* a plain "<<" */
	const struct yaml_node *children; /* of an array's items, of a map's values */
};

struct yaml_documents {
	const struct yaml_node *nodes; /* in arena */
	size_t count;
};

/* Returns 0, or -1 with a reason in arena and its place. */
int yaml_build(struct arena *arena, const char *text, size_t size,
    struct yaml_documents *documents_r, struct place *place_r, const char **error_r);

#endif
