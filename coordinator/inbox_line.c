#include "inbox_line.h"

#include <stdlib.h>
#include <string.h>

#include "redis.h"
#include "store.h"

bool
inbox_line_asks(const struct inbox_place *places, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (places[i].names_thread)
			return true;
	return false;
}

/* As strcmp. */
static int
compare_ids(const char *one, const char *other)
{
	char *rest, *other_rest;
	unsigned long long ms = strtoull(one, &rest, 10);
	unsigned long long other_ms = strtoull(other, &other_rest, 10);

	if (ms == other_ms && *rest == '-' && *other_rest == '-') {
		ms = strtoull(rest + 1, NULL, 10);
		other_ms = strtoull(other_rest + 1, NULL, 10);
	}
	return (ms > other_ms) - (ms < other_ms);
}

static void
chain(struct inbox_place *places, size_t i)
{
	size_t before = i;

	while (before-- > 0) {
		if (strcmp(places[before].thread, places[i].thread) == 0) {
			places[before].next = i;
			places[i].is_behind = true;
			return;
		}
	}
}

/* Another one's, of that thread, stands before those from first on. */
static void
hold_behind(struct inbox_place *places, size_t first, size_t count, const char *thread)
{
	size_t i;

	for (i = first; i < count; i++)
		if (places[i].names_thread && strcmp(places[i].thread, thread) == 0)
			places[i].is_held = true;
}

/* Nobody has looked at what is between id and these. */
static void
hold_beyond(struct inbox_place *places, size_t count, const char *id)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (places[i].names_thread && compare_ids(places[i].id, id) > 0)
			places[i].is_held = true;
}

void
inbox_line_up(struct inbox_place *places, size_t count, const struct value *ahead)
{
	size_t size = ahead != NULL ? value_size(ahead) / 2 * 2 : 0, at = 0, i;

	for (i = 0; i < count; i++) {
		places[i].is_held = places[i].is_behind = false;
		places[i].next = 0;
		if (places[i].names_thread)
			chain(places, i);
	}
	for (i = 0; i < size; i += 2) {
		const char *id = redis_reply_text(value_at(ahead, i));

		while (at < count && compare_ids(places[at].id, id) < 0)
			at++;
		if (at == count || compare_ids(places[at].id, id) != 0)
			hold_behind(
			    places, at, count, redis_reply_text(value_at(ahead, i + 1)));
	}
	if (size >= 2 * (size_t)STORE_INBOX_AHEAD_MAX)
		hold_beyond(places, count, redis_reply_text(value_at(ahead, size - 2)));
}
