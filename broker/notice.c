#include "notice.h"

#include <string.h>

#include "log.h"

static const struct value *
notice_value(struct arena *arena, const struct header *header)
{
	struct value_list services = { .arena = arena };
	bool is_worker = header->role == ROLE_WORKER;
	size_t i;

	for (i = 0; i < header->service_count; i++)
		value_list_add(&services, value_str(arena, header->services[i].name));
	return value_map(arena, "kind", value_str(arena, header->topic),
	    wire_role_name((unsigned)header->role), value_str(arena, header->name),
	    "reason", header->reason == NULL ? NULL : value_str(arena, header->reason),
	    "restarts", value_int(arena, (int64_t)header->restarts), "session",
	    value_str(arena, header->session), "capacity",
	    is_worker ? value_int(arena, (int64_t)header->capacity) : NULL, "services",
	    is_worker ? value_list_end(&services) : NULL, NULL);
}

/* What is stuck wants somebody's eye. */
static void
log_notice(const char *role, const struct header *header)
{
	void (*const say)(const char *format, ...) =
	    strcmp(header->topic, "stuck") == 0 ? log_warnx : log_info;

	say("%s %s name=%s session=%s services=%zu reason=\"%s\"", role, header->topic,
	    header->name, header->session, header->service_count,
	    header->reason == NULL ? "" : header->reason);
}

void
notice_send(struct status *status, const struct header *header)
{
	const char *role = wire_role_name((unsigned)header->role);
	struct arena *arena = arena_new();
	struct parts parts = { .count = 0 };
	struct packet packet = { 0 };
	const char *topic =
	    arena_printf(arena, "%s.%s.%s", role, header->name, header->topic);

	log_notice(role, header);
	value_pack(&packet, notice_value(arena, header));
	parts_add(&parts, topic, strlen(topic));
	parts_add_packet(&parts, &packet);
	status_send(status, &parts);
	arena_destroy(&arena);
}
