#include "heard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "id_table.h"
#include "memory.h"

struct item {
	struct id_key key;
	struct heard_part part;
	TAILQ_ENTRY(item) link;
	char thread[];
};

struct heard {
	struct id_table *table;
	TAILQ_HEAD(item_list, item) recent; /* last used first */
	size_t max;
};

struct heard *
heard_new(size_t max, uint64_t seed)
{
	struct heard *heard = xcalloc(1, sizeof *heard);

	heard->table = id_table_new(seed);
	heard->max = max;
	TAILQ_INIT(&heard->recent);
	return heard;
}

static void
drop(struct heard *heard, struct item *item)
{
	id_table_remove(heard->table, &item->key);
	TAILQ_REMOVE(&heard->recent, item, link);
	free(item);
}

void
heard_destroy(struct heard **heard_p)
{
	struct heard *heard = *heard_p;
	struct item *item, *next;

	if (heard == NULL)
		return;
	id_table_destroy(&heard->table);
	for (item = TAILQ_FIRST(&heard->recent); item != NULL; item = next) {
		next = TAILQ_NEXT(item, link);
		free(item);
	}
	free(heard);
	*heard_p = NULL;
}

static void
touch(struct heard *heard, struct item *item)
{
	TAILQ_REMOVE(&heard->recent, item, link);
	TAILQ_INSERT_HEAD(&heard->recent, item, link);
}

bool
heard_get(struct heard *heard, const char *thread, struct heard_part *part_r)
{
	struct item *item = id_table_get(heard->table, thread);

	if (item == NULL)
		return false;
	touch(heard, item);
	*part_r = item->part;
	return true;
}

void
heard_put(struct heard *heard, const char *thread, const struct heard_part *part)
{
	struct item *item = id_table_get(heard->table, thread);
	size_t size = strlen(thread) + 1;

	if (item == NULL) {
		item = xcalloc(1, sizeof *item + size);
		memcpy(item->thread, thread, size);
		id_table_put(heard->table, &item->key, item->thread, item);
		TAILQ_INSERT_HEAD(&heard->recent, item, link);
	}
	touch(heard, item);
	item->part = *part;
	if (id_table_size(heard->table) > heard->max)
		drop(heard, TAILQ_LAST(&heard->recent, item_list));
}

void
heard_forget(struct heard *heard, const char *thread)
{
	struct item *item = id_table_get(heard->table, thread);

	if (item != NULL)
		drop(heard, item);
}

size_t
heard_count(const struct heard *heard)
{
	return id_table_size(heard->table);
}
