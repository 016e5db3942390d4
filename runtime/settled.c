#include "settled.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "id_table.h"
#include "memory.h"

struct entry {
	struct id_key key;
	uint64_t until_ms, epoch;
	uint64_t asked_ms; /* for the first time by an earlier epoch; 0: not yet */
	TAILQ_ENTRY(entry) link;
	char id[];
};

struct settled {
	struct id_table *ids;
	TAILQ_HEAD(, entry) oldest; /* first */
	size_t max;
	uint64_t keep_ms;
};

struct settled *
settled_new(uint64_t seed, size_t max, uint64_t keep_ms)
{
	struct settled *settled = xcalloc(1, sizeof *settled);

	settled->ids = id_table_new(seed);
	TAILQ_INIT(&settled->oldest);
	settled->max = max;
	settled->keep_ms = keep_ms;
	return settled;
}

static void
forget(struct settled *settled, struct entry *entry)
{
	TAILQ_REMOVE(&settled->oldest, entry, link);
	id_table_remove(settled->ids, &entry->key);
	free(entry);
}

void
settled_destroy(struct settled **settled_p)
{
	struct settled *settled = *settled_p;

	if (settled == NULL)
		return;
	settled_expire(settled, UINT64_MAX);
	id_table_destroy(&settled->ids);
	free(settled);
	*settled_p = NULL;
}

void
settled_add(struct settled *settled, const char *id, uint64_t now_ms)
{
	settled_add_by(settled, id, 0, now_ms);
}

static void
add(struct settled *settled, const char *id, uint64_t epoch, uint64_t until_ms)
{
	struct entry *entry;
	size_t size = strlen(id) + 1;

	settled_remove(settled, id);
	if (id_table_size(settled->ids) >= settled->max)
		forget(settled, TAILQ_FIRST(&settled->oldest));
	entry = xcalloc(1, sizeof *entry + size);
	memcpy(entry->id, id, size);
	entry->until_ms = until_ms;
	entry->epoch = epoch;
	TAILQ_INSERT_TAIL(&settled->oldest, entry, link);
	id_table_put(settled->ids, &entry->key, entry->id, entry);
}

void
settled_add_by(struct settled *settled, const char *id, uint64_t epoch, uint64_t now_ms)
{
	add(settled, id, epoch, now_ms + settled->keep_ms);
}

void
settled_add_until(struct settled *settled, const char *id, uint64_t until_ms)
{
	add(settled, id, 0, until_ms);
}

bool
settled_refuses(struct settled *settled, const char *id, uint64_t epoch, uint64_t now_ms,
    uint64_t patience_ms)
{
	struct entry *entry = id_table_get(settled->ids, id);

	if (entry == NULL || entry->epoch <= epoch)
		return false;
	if (entry->asked_ms == 0)
		entry->asked_ms = now_ms;
	return now_ms < entry->asked_ms + patience_ms;
}

bool
settled_has(const struct settled *settled, const char *id)
{
	return id_table_get(settled->ids, id) != NULL;
}

void
settled_remove(struct settled *settled, const char *id)
{
	struct entry *entry = id_table_get(settled->ids, id);

	if (entry != NULL)
		forget(settled, entry);
}

void
settled_expire(struct settled *settled, uint64_t now_ms)
{
	struct entry *entry, *next;

	for (entry = TAILQ_FIRST(&settled->oldest);
	     entry != NULL && entry->until_ms <= now_ms; entry = next) {
		next = TAILQ_NEXT(entry, link);
		forget(settled, entry);
	}
}
