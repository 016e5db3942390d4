#include "hub.h"

#include <stdlib.h>

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

/* The broker first: the coordinator connects to where it is bound. */
struct hub *
hub_new(struct service *service, struct hub_settings *settings)
{
	struct hub *hub = xcalloc(1, sizeof *hub);

	hub_settings_share(settings);
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
