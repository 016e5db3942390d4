/* actions: what a step wants done. */
#include "memory.h"
#include "tables.h"

static struct action *
append(struct core *core, enum action_type type)
{
	struct action *action;

	if (core->action_count == core->action_room) {
		core->action_room = core->action_room == 0 ? 64 : 2 * core->action_room;
		core->actions = xreallocarray(
		    core->actions, core->action_room, sizeof *core->actions);
	}
	action = &core->actions[core->action_count++];
	*action = (struct action){ .type = type };
	return action;
}

void
send_to_stranger(struct core *core, uint64_t peer, const struct header *header)
{
	struct action *action = append(core, ACTION_SEND);

	action->peer = peer;
	action->header = *header;
}

void
send_to(struct core *core, struct session *session, const struct header *header,
    struct body *body)
{
	struct action *action = append(core, ACTION_SEND);

	action->peer = session->peer;
	action->header = *header;
	action->body = body;
	action->gathers = session->gathers;
	session->spoke_ms = core->now_ms;
	TAILQ_REMOVE(&core->spoke, session, spoke_link);
	TAILQ_INSERT_TAIL(&core->spoke, session, spoke_link);
}

void
send_wanted(struct core *core, struct session *session, enum message_type type)
{
	const struct header header = { .type = type };
	bool hides = core->book != NULL && session->role == ROLE_WORKER;

	send_to(core, session, &header, NULL);
	core->actions[core->action_count - 1].wanted =
	    hides ? WANTED_WHETHER : WANTED_PREFIXES;
}

void
publish(struct core *core, const char *topic, struct body *body)
{
	struct action *action = append(core, ACTION_PUBLISH);

	action->header.topic = topic;
	action->body = body;
	COUNT(core, published);
}

void
notice(struct core *core, const struct session *session, const char *kind,
    const char *reason)
{
	struct action *action = append(core, ACTION_NOTICE);

	action->header = (struct header){
		.topic = kind,
		.role = session->role,
		.name = session->name,
		.session = session->id,
		.restarts = session->report.restarts,
		.capacity = session->capacity,
		.services = session->services,
		.service_count = session->offer_count,
		.reason = reason,
	};
}

void
ask_for_stats(struct core *core, const struct session *session)
{
	append(core, ACTION_STATS)->peer = session->peer;
}

void
act_left(struct core *core)
{
	append(core, ACTION_LEFT);
}

void
blob_drop(struct core *core, struct blob *blob)
{
	if (blob->body != NULL)
		append(core, ACTION_DROP)->body = blob->body;
	core->bodies_bytes -= blob->bytes;
	*blob = (struct blob){ 0 };
}

struct blob
blob_take(struct message *message)
{
	struct blob blob = message->blob;

	message->blob = (struct blob){ 0 };
	return blob;
}
