/* item_key: where an item of long-term memory is: a namespace, which is a list of labels, and a
 * key in it.
 *
 * An item is one member of its shard's set `items`: each label ended by ITEM_LABEL_END, then
 * ITEM_KEY_BEGIN and the key. By the order of bytes, which ZRANGEBYLEX follows, a namespace
 * comes before those below it. Labels and keys have no control characters, so nothing else can
 * be mistaken for these two. Pure. */
#ifndef ITEM_KEY_H
#define ITEM_KEY_H

#include "value.h"

#define ITEM_LABEL_END '\37'
#define ITEM_KEY_BEGIN '\36'

/* Returns the labels of namespace as the beginning of members, in arena; "" for none. NULL with a
 * reason for what is no list of at most ITEM_LABELS_MAX labels, of at least one unless
 * may_be_empty. */
const char *item_space(struct arena *arena, const struct value *namespace,
    bool may_be_empty, const char **error_r);

/* Returns the member of key in space, or NULL with a reason. */
const char *item_member(struct arena *arena, const char *space, const struct value *key,
    const char **error_r);

/* The other way: the labels, and the key (NULL when there is none). NULL for what is no member. */
const struct value *item_labels(
    struct arena *arena, const char *member, const char **key_r);

/* The shard of a space of at least one label. */
unsigned item_shard(const char *space);

#endif
