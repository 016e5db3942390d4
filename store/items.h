/* items: long-term memory: what agents know beyond a thread, as values under namespaces.
 *
 * An item is {namespace, key, value (a map), created_at, updated_at, expires_at?, index?}, times in ms of
 * Redis' clock; index (item_index.h) as its put has it. Items are in the shard of their namespace's first label; a search over all
 * shards asks each. Reached by hooks in the coordinator, by everybody else as the service
 * `store` (proto/bodies.h), by `flotilla store`. Waits, so it runs on a fiber. */
#ifndef ITEMS_H
#define ITEMS_H

#include "store.h"

/* Does what op asks: {op, namespace, ...}, with op
 *
 *	put          key, value, ttl_ms?, index?  {item}
 *	get          key, refresh_ttl?            {item}, or {} when there is none
 *	delete       key                          {deleted: 0 or 1}
 *	search       filter?, limit?, offset?,    {items: [item]}, in the order of namespace and key
 *	             refresh_ttl?
 *	search       query, filter?, ...          {items: [item and score]}, those first that mean what is
 *	                                          most like the query (item_rank.c)
 *	namespaces   suffix?, max_depth?,         {namespaces: [[label]]}
 *	             limit?, offset?
 *
 * namespace is a prefix for the last three, which may be absent or empty; "*" in it, and in suffix, is any label for
 * namespaces; limit is 10 by default,
 * ITEMS_LIMIT_MAX at most; refresh_ttl: what is found lasts again for its ttl_ms, to a hundredth of that. Returns the answer in arena: what stands above, or {fault}, of type
 * ValueError for a wrong op, ConnectionError (retryable) while Redis cannot be asked. NULL when the fiber
 * was cancelled. Doing a put or delete twice is doing it once. */
const struct value *items_do(
    struct store *store, struct arena *arena, const struct value *op);

/* As items_do, for who waits for left_ms: a search whose items have not all got their vectors by then answers before,
 * {fault} of type TimeoutError (retryable). Those go on being made where the process embeds (store/embed.h). */
const struct value *items_do_within(
    struct store *store, struct arena *arena, const struct value *op, uint64_t left_ms);

/* Forgets items of the shard whose time is over, all of them unless there are very many. */
void items_sweep(struct store *store, unsigned shard);

#endif
