#include "hub.h"

#include <stdlib.h>
#include <string.h>

#include "allow_list.h"
#include "curve.h"
#include "log.h"
#include "memory.h"

#define TOLD_MS 100u /* in which the coordinator reads which calls it has back */

struct hub {
	struct service *service;
	struct broker *broker;
	struct coordinator *coordinator;
	struct timer *told;
	unsigned ended;
};

/* --- the end ------------------------------------------------------------------------- */

static void
on_ended(void *arg)
{
	struct hub *hub = arg;

	if (++hub->ended == 2)
		service_end(hub->service);
}

static void
on_told(void *arg)
{
	struct hub *hub = arg;

	timer_stop(&hub->told);
	coordinator_drain(hub->coordinator);
}

/* A call that no worker has begun goes back to the coordinator, whose run then does not count it as sent when it
 * is given back in turn: the next one may send it as new. What is not read in time counts as sent, which only
 * calls of tools that must not run twice would notice. */
void
hub_drain(void *arg)
{
	struct hub *hub = arg;

	broker_drain(hub->broker);
	hub->told = timer_start(service_loop(hub->service), TOLD_MS, 0, on_told, hub);
}

/* --- life ---------------------------------------------------------------------------- */

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
	hub->broker = broker_new(service_part(service, on_ended, hub), &settings->broker);
	hub->coordinator =
	    coordinator_new(service_part(service, on_ended, hub), &settings->coordinator);
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
