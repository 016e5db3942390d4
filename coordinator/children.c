#include "children.h"

#include <string.h>

#include "fiber.h"
#include "log.h"

#define CHECK_MS 50u

/* *left_r: those that have not ended yet. */
static enum store_status
cancel_all(struct coordinator *coordinator, struct arena *arena, const char *thread,
    const char *run, size_t *left_r)
{
	const struct value *children = NULL;
	const char *answer, *ended;
	enum store_status status =
	    store_children(coordinator->store, arena, thread, run, &children);
	size_t i;

	*left_r = 0;
	for (i = 0; status == STORE_OK && i < value_size(children); i++) {
		const char *child = children->pairs[i].key->text;

		status = store_cancel(coordinator->store, arena,
		    value_text(children->pairs[i].value), child, &answer, &ended);
		if (status == STORE_OK && strcmp(answer, "CANCELLING") == 0)
			(*left_r)++;
	}
	return status;
}

enum store_status
children_cancel(struct coordinator *coordinator, struct arena *arena, const char *thread,
    const char *run)
{
	size_t left;

	return cancel_all(coordinator, arena, thread, run, &left);
}

void
children_end(struct coordinator *coordinator, const char *thread, const char *run)
{
	uint64_t until_ms = loop_now_ms(coordinator->loop) + CANCEL_WAIT_MS;
	enum store_status status;
	size_t left;

	do {
		struct arena *arena = arena_new();

		status = cancel_all(coordinator, arena, thread, run, &left);
		arena_destroy(&arena);
	} while (status == STORE_OK && left > 0 &&
		 loop_now_ms(coordinator->loop) < until_ms && fiber_sleep(CHECK_MS) == 0);
	if (status == STORE_OK && left > 0)
		log_warnx("run=%s ends before %zu of its children", run, left);
}

void
children_sweep(struct coordinator *coordinator, struct arena *arena, unsigned shard)
{
	struct store *store = coordinator->store;
	const struct value *runs = NULL, *rest;
	const char *thread;
	enum store_status status = store_orphans(store, arena, shard, NULL, &runs);
	size_t i;

	for (i = 0; status == STORE_OK && i < value_size(runs); i++) {
		const char *run = value_text(value_at(runs, i));

		status = store_run_thread(store, arena, run, &thread);
		if (status == STORE_OK)
			status = children_cancel(coordinator, arena, thread, run);
		if (status == STORE_OK || status == STORE_NONE)
			status = store_orphans(store, arena, shard, run, &rest);
	}
}

enum store_status
children_adopt(struct coordinator *coordinator, struct arena *arena, const char *parent,
    const char *child, const char *child_thread)
{
	struct store *store = coordinator->store;
	const char *thread, *answer, *ended;
	bool is_late = false;
	enum store_status status = store_run_thread(store, arena, parent, &thread);

	if (status == STORE_OK)
		status = store_adopt(
		    store, arena, thread, parent, child, child_thread, &is_late);
	if (status == STORE_OK && is_late)
		status = store_cancel(store, arena, child_thread, child, &answer, &ended);
	return status;
}
