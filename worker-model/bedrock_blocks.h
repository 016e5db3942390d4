/* bedrock_blocks: turns of Anthropic's words (anthropic_messages.h), which have the same order and the same rules, in those of
 * Bedrock's Converse API: each block a map of one key. */
#ifndef BEDROCK_BLOCKS_H
#define BEDROCK_BLOCKS_H

#include "value.h"

/* What is under way through a request. Zero it but for the arena. */
struct bedrock_words {
	struct arena *arena;
	struct value_list names; /* of documents: none may be there twice */
	const char *error;       /* in arena: what cannot be said; or NULL */
};

/* Returns blocks as the API takes them; a cache_control becomes a cachePoint behind its block. Blocks that are in the API's
 * own words go as they are. */
const struct value *bedrock_blocks(
    struct bedrock_words *words, const struct value *blocks);

/* Returns turns with calls and their results as text: the API refuses them in a request without tools. */
const struct value *bedrock_told(struct arena *arena, const struct value *turns);

/* Adds item, and behind it what its cache_control asks for: {cachePoint}. item may be a tool. */
void bedrock_add_marked(
    struct value_list *list, const struct value *item, const struct value *cache_control);

#endif
