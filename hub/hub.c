#include "hub.h"

#include <stdlib.h>
#include <string.h>

#include "allow_list.h"
#include "curve.h"
#include "log.h"
#include "memory.h"

struct hub {
	struct service *service;
	struct broker *broker;
	struct coordinator *coordinator;
};

static void
on_broker_ended(void *arg)
{
	struct hub *hub = arg;

	service_end(hub->service);
}

/* Its fiber may be the caller: the broker only begins to leave here. */
static void
on_coordinator_ended(void *arg)
{
	struct hub *hub = arg;

	broker_drain(hub->broker);
}

void
hub_drain(void *arg)
{
	struct hub *hub = arg;

	coordinator_drain(hub->coordinator);
}

static bool
is_coordinators(const struct allow_list *list, const char *key)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (strcmp(list->entries[i].key, key) == 0)
			return (list->entries[i].roles & 1u << ROLE_COORDINATOR) != 0;
	return false;
}

/* A coordinator without a broker would take runs and not move them. */
static void
check_own_key(const struct broker_settings *settings)
{
	struct arena *arena;
	const struct allow_list *list;
	const char *error;

	if (settings->allow == NULL || settings->common.key == NULL)
		return; /* half of it the broker refuses */
	arena = arena_new();
	list = allow_list_load(arena, settings->allow, &error);
	if (list == NULL)
		fatalx("%s", error);
	if (!is_coordinators(list, curve_public_key()))
		fatalx("%s does not let the key of %s, this hub's own, be a coordinator: "
		       "flotilla keys allow %s --role coordinator",
		    settings->allow, settings->common.key, settings->common.key);
	arena_destroy(&arena);
}

/* The broker first: the coordinator connects to where it is bound. */
struct hub *
hub_new(struct service *service, struct hub_settings *settings)
{
	struct hub *hub = xcalloc(1, sizeof *hub);

	hub_settings_share(settings);
	check_own_key(&settings->broker);
	hub->service = service;
	hub->broker =
	    broker_new(service_part(service, on_broker_ended, hub), &settings->broker);
	hub->coordinator = coordinator_new(
	    service_part(service, on_coordinator_ended, hub), &settings->coordinator);
	return hub;
}

void
hub_destroy(struct hub **hub_p)
{
	struct hub *hub = *hub_p;

	if (hub == NULL)
		return;
	*hub_p = NULL;
	coordinator_destroy(&hub->coordinator);
	broker_destroy(&hub->broker);
	free(hub);
}
