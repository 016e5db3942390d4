#include "room_bench.h"

#include <string.h>

#include "json.h"

const struct value *
room_told_by(
    struct fleet_kit *kit, struct arena *arena, unsigned broker, const char *service)
{
	const char *text = kit_flotilla(kit, "top", "--once", "--json", "--status",
		       kit_status_at(kit, broker), "--broker", kit_broker_at(kit, broker),
		       NULL),
		   *error;
	const struct value *top = json_parse(arena, text, strlen(text), &error);
	const struct value *services = value_get(value_get(top, "broker"), "services");
	size_t i;

	for (i = 0; i < value_size(services); i++)
		if (value_text_is(value_get(value_at(services, i), "name"), service))
			return value_at(services, i);
	return NULL;
}

const struct value *
room_told(struct fleet_kit *kit, struct arena *arena, const char *service)
{
	return room_told_by(kit, arena, 0, service);
}
