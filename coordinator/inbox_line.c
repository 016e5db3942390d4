#include "inbox_line.h"

#include <stdlib.h>
#include <string.h>

#include "redis.h"

static bool
asks(const struct inbox_place *place)
{
	return place->names_thread || place->parent != NULL;
}

bool
inbox_line_asks(const struct inbox_place *places, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (asks(&places[i]))
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

/* Behind the last one of its thread before it; held, where its parent is before it. */
static void
chain(struct inbox_place *places, size_t i)
{
	struct inbox_place *place = &places[i];
	size_t before;

	for (before = i; before-- > 0;) {
		if (strcmp(places[before].thread, place->thread) == 0) {
			places[before].next = i;
			place->is_behind = true;
			break;
		}
	}
	for (before = i; place->parent != NULL && before-- > 0;)
		if (strcmp(places[before].run, place->parent) == 0)
			place->is_held = true;
}

struct other {
	const char *id, *thread, *run;
};

static bool
waits_for(const struct inbox_place *place, const struct other *other)
{
	return ((place->names_thread && strcmp(place->thread, other->thread) == 0) ||
		   (place->parent != NULL && strcmp(place->parent, other->run) == 0)) &&
	       compare_ids(place->id, other->id) > 0;
}

static struct other
other_of(const struct value *ahead, size_t at)
{
	return (struct other){ redis_reply_text(value_at(ahead, at)),
		redis_reply_text(value_at(ahead, at + 1)),
		redis_reply_text(value_at(ahead, at + 2)) };
}

/* ahead is in order: what is said last is the last to go. */
static void
hold(struct inbox_place *place, const char *awaits)
{
	place->is_held = true;
	place->awaits = awaits;
}

/* last: nobody has looked at what stands behind it; "": all has been looked at. */
static void
hold_beyond(struct inbox_place *places, size_t count, const char *last)
{
	size_t i;

	if (last[0] == '\0')
		return;
	for (i = 0; i < count; i++)
		if (asks(&places[i]) && compare_ids(places[i].id, last) > 0)
			hold(&places[i], last);
}

void
inbox_line_up(struct inbox_place *places, size_t count, const struct value *ahead)
{
	size_t size = ahead == NULL ? 0 : value_size(ahead), i, at;

	for (i = 0; i < count; i++) {
		places[i].is_held = places[i].is_behind = false;
		places[i].next = 0;
		places[i].awaits = NULL;
		chain(places, i);
	}
	for (at = 1; at + 2 < size; at += 3) {
		const struct other other = other_of(ahead, at);

		for (i = 0; i < count; i++)
			if (waits_for(&places[i], &other))
				hold(&places[i], other.id);
	}
	if (size > 0)
		hold_beyond(places, count, redis_reply_text(value_at(ahead, 0)));
}

void
inbox_line_hold(struct inbox_place *places, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (asks(&places[i]))
			places[i].is_held = true;
}
