#include "outbox_table.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "resend.h"

/* --- actions -------------------------------------------------------------------------- */

struct outbox_action *
outbox_act(struct outbox *outbox, enum outbox_action_type type)
{
	struct outbox_action *action;

	if (outbox->action_count == outbox->action_room) {
		outbox->action_room =
		    outbox->action_room == 0 ? 16 : 2 * outbox->action_room;
		outbox->actions = xreallocarray(
		    outbox->actions, outbox->action_room, sizeof *outbox->actions);
	}
	action = &outbox->actions[outbox->action_count++];
	*action = (struct outbox_action){ .type = type, .link = LINK_NONE };
	return action;
}

void
outbox_send(struct outbox *outbox, link_set links, const struct header *header,
    struct parcel *parcel)
{
	struct outbox_action *action;
	uint32_t link;

	links &= outbox->up;
	for (link = 0; links >> link != 0; link++) {
		if ((links & LINK_BIT(link)) == 0)
			continue;
		action = outbox_act(outbox, OUTBOX_SEND);
		action->link = link;
		action->header = *header;
		action->parcel = parcel;
	}
}

void
outbox_send_about(
    struct outbox *outbox, link_set links, enum message_type type, const char *id)
{
	const struct header header = { .type = type, .call_id = id };

	outbox_send(outbox, links, &header, NULL);
}

void
outbox_send_busy(struct outbox *outbox, link_set links, const char *id)
{
	const struct header header = { .type = MSG_BUSY,
		.call_id = id,
		.code = CODE_BUSY,
		.retry_after_ms = RESEND_MS };

	outbox_send(outbox, links, &header, NULL);
}

void
outbox_send_code(
    struct outbox *outbox, link_set links, const char *id, enum wire_code code)
{
	const struct header header = { .type = MSG_RESULT, .call_id = id, .code = code };

	outbox_send(outbox, links, &header, NULL);
}

void
outbox_send_result(struct outbox *outbox, link_set links, struct entry *entry)
{
	const struct header header = {
		.type = MSG_RESULT,
		.call_id = entry->id,
		.run = entry->run,
		.step = entry->step,
		.epoch = entry->epoch,
		.attempt = entry->attempt,
		.code = entry->code,
	};

	outbox_send(outbox, links, &header, entry->parcel);
}

void
outbox_show_result(struct outbox *outbox, uint32_t link, struct entry *entry)
{
	bool is_coming =
	    (entry->told & LINK_BIT(link)) != 0 && outbox->now_ms < entry->arrives_ms;

	if (!is_coming)
		outbox_send_result(outbox, LINK_BIT(link), entry);
}

void
outbox_resend_result(struct outbox *outbox, struct entry *entry)
{
	outbox_send_result(outbox, entry->known, entry);
	entry->told = entry->known & outbox->up;
	entry->arrives_ms = outbox->now_ms + resend_first_ms(0, entry->body_bytes);
	heap_put(&outbox->timers, &entry->timer, outbox->now_ms + entry->resend_ms);
	entry->resend_ms = resend_next_ms(entry->resend_ms);
}

void
outbox_free_parcel(struct outbox *outbox, struct parcel *parcel)
{
	if (parcel != NULL)
		outbox_act(outbox, OUTBOX_FREE)->parcel = parcel;
}

/* --- entries -------------------------------------------------------------------------- */

struct entry *
outbox_entry_new(struct outbox *outbox, const struct header *call)
{
	size_t size = strlen(call->call_id) + 1;
	struct entry *entry = xcalloc(1, sizeof *entry + size);

	memcpy(entry->id, call->call_id, size);
	entry->flags = call->flags;
	entry->run = xstrdup(call->run);
	entry->step = call->step;
	entry->started_ms = outbox->now_ms;
	id_table_put(outbox->entries, &entry->key, entry->id, entry);
	TAILQ_INSERT_TAIL(&outbox->running, entry, link);
	outbox->running_count++;
	return entry;
}

static void
entry_free(struct entry *entry)
{
	free(entry->run);
	free(entry);
}

void
outbox_entry_forget(struct outbox *outbox, struct entry *entry)
{
	if ((entry->flags & WIRE_ONCE) != 0 && entry->finished)
		settled_add(outbox->once, entry->id, outbox->now_ms);
	heap_remove(&outbox->timers, &entry->timer);
	id_table_remove(outbox->entries, &entry->key);
	if (entry->finished) {
		TAILQ_REMOVE(&outbox->finished, entry, link);
		outbox->finished_count--;
	} else {
		TAILQ_REMOVE(&outbox->running, entry, link);
		outbox->running_count--;
	}
	outbox_free_parcel(outbox, entry->parcel);
	TAILQ_INSERT_TAIL(&outbox->dead, entry, link);
}

void
outbox_free_dead(struct outbox *outbox)
{
	struct announced *announced;
	struct entry *entry;

	while ((entry = TAILQ_FIRST(&outbox->dead)) != NULL) {
		TAILQ_REMOVE(&outbox->dead, entry, link);
		entry_free(entry);
	}
	while ((announced = SLIST_FIRST(&outbox->announced)) != NULL) {
		SLIST_REMOVE_HEAD(&outbox->announced, next);
		free(announced);
	}
}

void
outbox_entry_finish(struct outbox *outbox, struct entry *entry, enum wire_code code,
    const struct outbox_event *event)
{
	TAILQ_REMOVE(&outbox->running, entry, link);
	outbox->running_count--;
	TAILQ_INSERT_TAIL(&outbox->finished, entry, link);
	outbox->finished_count++;
	entry->finished = true;
	entry->code = code;
	entry->parcel = event->parcel;
	entry->body_bytes = event->body_bytes;
	entry->resend_ms = resend_first_ms(RESEND_MS, event->body_bytes);
}
