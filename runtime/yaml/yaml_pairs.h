/* yaml_pairs: a YAML map under construction: no key twice, "<<" merged. Part of yaml. */
#ifndef YAML_PAIRS_H
#define YAML_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"
#include "yaml_build.h"

struct key_index;

/* Pairs and the node of each value, both in the arena. */
struct yaml_pairs {
	struct value_pair *pairs;
	struct yaml_node *children;
	size_t count;
	struct key_index *index; /* NULL: there are few */
};

/* Returns none, with room for room. */
struct yaml_pairs yaml_pairs_new(struct arena *arena, size_t room);

/* Returns false, and changes nothing, when key is there. */
bool yaml_pairs_add(
    struct yaml_pairs *pairs, const struct value *key, const struct yaml_node *value);

/* Returns how many maps merged, the value of a "<<", stands for; -1 when it is neither
 * map nor list of maps. */
long yaml_merged_maps(const struct yaml_node *merged);

/* Returns the index-th of them. */
const struct yaml_node *yaml_merged_map(const struct yaml_node *merged, long index);

/* Adds their pairs whose keys are not there yet: the first map with a key wins. */
void yaml_pairs_merge(struct yaml_pairs *pairs, const struct yaml_node *merged);

#endif
