#include "store_service.h"

#include <stdlib.h>

#include "bodies.h"
#include "fault.h"
#include "items.h"
#include "memory.h"
#include "worker.h"

#define STORE_SLOTS 256u
#define STORE_DRAIN_MS 1000u

struct store_service {
	struct coordinator *coordinator;
	struct worker *worker;
	char *name;
	struct wire_service offered;
};

static const struct value *
on_call(void *arg, struct worker_call *call)
{
	struct store_service *service = arg;
	const struct value *answer = items_do_within(service->coordinator->store,
	    call->arena, call->request, call->header->deadline_ms);

	if (answer != NULL)
		return answer;
	return value_map(call->arena, "fault",
	    fault_to_value(call->arena, fault_cancelled(call->arena)), NULL);
}

static char *
name_of(const struct coordinator *coordinator)
{
	struct arena *arena = arena_new();
	char *name =
	    xstrdup(arena_printf(arena, "%s-store", coordinator->settings->common.name));

	arena_destroy(&arena);
	return name;
}

struct store_service *
store_service_new(struct coordinator *coordinator)
{
	struct store_service *service = xcalloc(1, sizeof *service);
	struct worker_options options = {
		.endpoints = (const char *const *)coordinator->settings->brokers,
		.services = &service->offered,
		.service_count = 1,
		.capacity = STORE_SLOTS,
		.catalog = value_empty_array(),
		.trace = coordinator->trace,
		.answer = on_call,
		.arg = service,
	};
	const char *wrong, *allowed;

	service->coordinator = coordinator;
	service->offered = (struct wire_service){ SERVICE_STORE, STORE_SLOTS };
	options.name = service->name = name_of(coordinator);
	service->worker = worker_new(coordinator->loop, &options, &wrong, &allowed);
	if (service->worker == NULL)
		settings_refuse("coordinator", "--broker", wrong, allowed);
	return service;
}

void
store_service_drain(struct store_service *service, void (*done)(void *arg), void *arg)
{
	worker_drain(service->worker, STORE_DRAIN_MS, done, arg);
}

void
store_service_destroy(struct store_service **service_p)
{
	struct store_service *service = *service_p;

	if (service == NULL)
		return;
	worker_destroy(&service->worker);
	free(service->name);
	free(service);
	*service_p = NULL;
}
