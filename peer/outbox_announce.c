/* outbox_announce: which broker is told of which calls, and when. */
#include <stdlib.h>

#include "memory.h"
#include "outbox_table.h"
#include "planted.h"

/* A list under way to one link, room for all that is here. */
struct listing {
	struct announced *list;
	size_t count;
};

static struct listing
begin(struct outbox *outbox, size_t room)
{
	struct listing listing = { .count = 0 };

	listing.list =
	    xcalloc(1, sizeof *listing.list + (room + 1) * sizeof listing.list->calls[0]);
	SLIST_INSERT_HEAD(&outbox->announced, listing.list, next);
	return listing;
}

static size_t
all(const struct outbox *outbox)
{
	return outbox->running_count + outbox->finished_count;
}

static void
add(struct listing *listing, struct entry *entry, uint32_t link)
{
	listing->list->calls[listing->count++] = (struct wire_call){ .call_id = entry->id,
		.state = entry->finished ? CALL_FINISHED : CALL_RUNNING };
	entry->known |= LINK_BIT(link);
}

/* The ANNOUNCEs, as many as it takes. */
static void
announce(struct outbox *outbox, const struct listing *listing, uint32_t link)
{
	struct header header = { .type = MSG_ANNOUNCE };
	size_t at;

	for (at = 0; at < listing->count; at += header.call_count) {
		header.calls = listing->list->calls + at;
		header.call_count = listing->count - at < ANNOUNCED_CALLS_MAX
					? listing->count - at
					: ANNOUNCED_CALLS_MAX;
		outbox_send(outbox, LINK_BIT(link), &header, NULL);
	}
}

static void
send_results(struct outbox *outbox, const struct listing *listing, uint32_t link)
{
	struct entry *entry;
	size_t at;

	for (at = 0; at < listing->count; at++) {
		entry = id_table_get(outbox->entries, listing->list->calls[at].call_id);
		if (entry != NULL && entry->finished && !PLANTED(RESULT_NOT_RESENT))
			outbox_send_result(outbox, LINK_BIT(link), entry);
	}
}

static void
end(struct outbox *outbox, const struct listing *listing, uint32_t link)
{
	announce(outbox, listing, link);
	send_results(outbox, listing, link);
}

/* Adds what link's broker knew, or what no broker that is there knows. */
static void
add_missed(const struct outbox *outbox, struct listing *listing,
    const struct entry_list *entries, uint32_t link)
{
	link_set others = outbox->up & ~LINK_BIT(link);
	struct entry *entry;

	TAILQ_FOREACH(entry, entries, link)
		if ((entry->known & LINK_BIT(link)) != 0 || (entry->known & others) == 0)
			add(listing, entry, link);
}

void
outbox_announce_up(struct outbox *outbox, uint32_t link)
{
	const struct header drain = { .type = MSG_DRAIN };
	struct listing listing = begin(outbox, all(outbox));

	add_missed(outbox, &listing, &outbox->running, link);
	add_missed(outbox, &listing, &outbox->finished, link);
	announce(outbox, &listing, link);
	if (PLANTED(DRAIN_FORGOTTEN))
		send_results(outbox, &listing, link);
	if (outbox->draining)
		outbox_send(outbox, LINK_BIT(link), &drain, NULL);
	if (!PLANTED(DRAIN_FORGOTTEN))
		send_results(outbox, &listing, link);
}

static void
add_of(struct listing *listing, const struct entry_list *entries, uint32_t lost,
    uint32_t link)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, entries, link)
		if ((entry->known & LINK_BIT(lost)) != 0 &&
		    (entry->known & LINK_BIT(link)) == 0)
			add(listing, entry, link);
}

void
outbox_announce_down(struct outbox *outbox, uint32_t link)
{
	struct listing listing;
	uint32_t other;

	for (other = 0; outbox->up >> other != 0; other++) {
		if ((outbox->up & LINK_BIT(other)) == 0)
			continue;
		listing = begin(outbox, all(outbox));
		add_of(&listing, &outbox->running, link, other);
		add_of(&listing, &outbox->finished, link, other);
		end(outbox, &listing, other);
	}
}

void
outbox_announce_call(struct outbox *outbox, struct entry *entry)
{
	link_set links = outbox->up & ~entry->known;
	struct listing listing;
	uint32_t link;

	for (link = 0; links >> link != 0; link++) {
		if ((links & LINK_BIT(link)) == 0)
			continue;
		listing = begin(outbox, 1);
		add(&listing, entry, link);
		end(outbox, &listing, link);
	}
}

/* Flagged: its broker believes it to be here. Else it may be under way to us. */
static void
say_absent(struct outbox *outbox, struct listing *listing, const struct header *seek,
    const char *id)
{
	if ((seek->flags & WIRE_RESEND) != 0)
		listing->list->calls[listing->count++] =
		    (struct wire_call){ .call_id = id, .state = CALL_ABSENT };
	else
		settled_add(outbox->sought, id, outbox->now_ms);
}

void
outbox_announce_sought(struct outbox *outbox, uint32_t link, const struct header *seek)
{
	struct listing listing = begin(outbox, seek->call_count);
	struct entry *entry;
	size_t i;

	for (i = 0; i < seek->call_count; i++) {
		entry = id_table_get(outbox->entries, seek->calls[i].call_id);
		if (entry != NULL)
			add(&listing, entry, link);
		else
			say_absent(outbox, &listing, seek, seek->calls[i].call_id);
	}
	end(outbox, &listing, link);
}
