#include "yaml_pairs.h"

#include "key_index.h"

struct yaml_pairs
yaml_pairs_new(struct arena *arena, size_t room)
{
	struct yaml_pairs pairs = { 0 };

	pairs.pairs = arena_alloc(arena, room * sizeof *pairs.pairs);
	pairs.children = arena_alloc(arena, room * sizeof *pairs.children);
	if (room > KEY_INDEX_FROM)
		pairs.index = key_index_new(arena, room);
	return pairs;
}

bool
yaml_pairs_add(
    struct yaml_pairs *pairs, const struct value *key, const struct yaml_node *value)
{
	size_t i;

	if (pairs->index != NULL &&
	    key_index_put(pairs->index, pairs->pairs, key, pairs->count) >= 0)
		return false;
	for (i = 0; pairs->index == NULL && i < pairs->count; i++)
		if (value_equal(pairs->pairs[i].key, key))
			return false;
	pairs->pairs[pairs->count] = (struct value_pair){ key, value->value };
	pairs->children[pairs->count++] = *value;
	return true;
}

long
yaml_merged_maps(const struct yaml_node *merged)
{
	size_t i;

	if (merged->value->type == VALUE_MAP)
		return 1;
	if (merged->value->type != VALUE_ARRAY)
		return -1;
	for (i = 0; i < merged->value->size; i++)
		if (merged->value->items[i]->type != VALUE_MAP)
			return -1;
	return (long)merged->value->size;
}

const struct yaml_node *
yaml_merged_map(const struct yaml_node *merged, long index)
{
	return merged->value->type == VALUE_MAP ? merged : &merged->children[index];
}

void
yaml_pairs_merge(struct yaml_pairs *pairs, const struct yaml_node *merged)
{
	long maps = yaml_merged_maps(merged), map;
	const struct yaml_node *source;
	size_t i;

	for (map = 0; map < maps; map++) {
		source = yaml_merged_map(merged, map);
		for (i = 0; i < source->value->size; i++)
			yaml_pairs_add(
			    pairs, source->value->pairs[i].key, &source->children[i]);
	}
}
