#include "children.h"

#include <string.h>

#include "fiber.h"
#include "log.h"

#define CHECK_MS 50u
#define ORPHANS_MAX 100u /* parents, at a time */

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

static bool
may_wait(const struct coordinator *coordinator, uint64_t begun_ms, uint64_t since_ms)
{
	return loop_now_ms(coordinator->loop) <
	       (coordinator->draining ? begun_ms : since_ms) + CANCEL_WAIT_MS;
}

void
children_end(struct coordinator *coordinator, const char *thread, const char *run,
    uint64_t begun_ms)
{
	uint64_t since_ms = loop_now_ms(coordinator->loop);
	enum store_status status;
	size_t left;

	do {
		struct arena *arena = arena_new();

		status = cancel_all(coordinator, arena, thread, run, &left);
		arena_destroy(&arena);
	} while (status == STORE_OK && left > 0 &&
		 may_wait(coordinator, begun_ms, since_ms) && fiber_sleep(CHECK_MS) == 0);
	if (status == STORE_OK && left > 0)
		log_warnx("run=%s ends before %zu of its children", run, left);
}

/* Cancels the children of run, if there are any to be found. */
static enum store_status
cancel_orphans(struct coordinator *coordinator, const char *run)
{
	struct arena *arena = arena_new();
	const char *thread;
	enum store_status status =
	    store_run_thread(coordinator->store, arena, run, &thread);

	if (status == STORE_OK)
		status = children_cancel(coordinator, arena, thread, run);
	arena_destroy(&arena);
	return status == STORE_NONE ? STORE_OK : status;
}

void
children_sweep(struct coordinator *coordinator, unsigned shard)
{
	struct store *store = coordinator->store;
	enum store_status status = STORE_OK;
	size_t found = ORPHANS_MAX, i;

	while (status == STORE_OK && found == ORPHANS_MAX && !fiber_cancelled()) {
		struct arena *arena = arena_new();
		struct value_list done = { .arena = arena };
		const struct value *runs = value_empty_array(), *rest;

		status = store_orphans(store, arena, shard, ORPHANS_MAX, NULL, &runs);
		found = value_size(runs);
		for (i = 0; status == STORE_OK && i < found; i++) {
			status =
			    cancel_orphans(coordinator, value_text(value_at(runs, i)));
			if (status == STORE_OK)
				value_list_add(&done, value_at(runs, i));
		}
		if (done.count > 0)
			store_orphans(
			    store, arena, shard, 0, value_list_end(&done), &rest);
		arena_destroy(&arena);
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
	/* It was there when the child was queued, and has been deleted since. */
	if (status == STORE_NONE) {
		is_late = true;
		status = STORE_OK;
	}
	if (status == STORE_OK && is_late)
		status = store_cancel(store, arena, child_thread, child, &answer, &ended);
	return status;
}
