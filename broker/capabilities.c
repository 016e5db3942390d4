/* capabilities: which workers serve what. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "nearest.h"
#include "tables.h"

#define NEAREST_NAMES_MAX 500u
#define NEAREST_LOOKUPS_MAX 50u /* in one step: many calls may expire in one */

struct capability *
capability_find(const struct core *core, const char *name)
{
	return id_table_get(core->capabilities, name);
}

struct capability *
capability_get(struct core *core, const char *name)
{
	struct capability *capability = capability_find(core, name);
	size_t size = strlen(name) + 1;

	if (capability != NULL)
		return capability;
	capability = xcalloc(1, sizeof *capability + size);
	memcpy(capability->name, name, size);
	capability->kind = service_kind_of(name);
	queue_init(&capability->queue, core->options.seed);
	TAILQ_INIT(&capability->suspects);
	id_table_put(core->capabilities, &capability->key, capability->name, capability);
	TAILQ_INSERT_TAIL(&core->unserved, capability, link);
	return capability;
}

/* One worker more or less offers it. */
static void
count_worker(struct core *core, struct capability *capability, int more)
{
	bool was_served = capability->workers > 0;

	capability->workers += (size_t)more;
	if (was_served == (capability->workers > 0))
		return;
	core->fleet++;
	if (was_served) {
		capability->served_ms = core->now_ms;
		TAILQ_REMOVE(&core->served, capability, link);
		TAILQ_INSERT_TAIL(&core->unserved, capability, link);
	} else {
		TAILQ_REMOVE(&core->unserved, capability, link);
		TAILQ_INSERT_TAIL(&core->served, capability, link);
	}
}

void
capability_unused(struct core *core, struct capability *capability)
{
	if (capability->workers > 0 || capability->calls > 0)
		return;
	assert(capability->ready.count == 0 && capability->running == 0);
	if (capability->touched)
		TAILQ_REMOVE(&core->touched, capability, touched_link);
	TAILQ_REMOVE(&core->unserved, capability, link);
	id_table_remove(core->capabilities, &capability->key);
	queue_release(&capability->queue);
	heap_release(&capability->ready);
	free(capability);
}

void
capability_touch(struct core *core, struct capability *capability)
{
	if (capability->touched)
		return;
	capability->touched = true;
	TAILQ_INSERT_TAIL(&core->touched, capability, touched_link);
}

void
session_touch(struct core *core, struct session *session)
{
	if (session->touched)
		return;
	session->touched = true;
	TAILQ_INSERT_TAIL(&core->touched_sessions, session, touched_link);
}

struct offer *
offer_find(struct session *worker, const struct capability *capability)
{
	size_t i;

	for (i = 0; capability != NULL && i < worker->offer_count; i++)
		if (worker->offers[i].capability == capability)
			return &worker->offers[i];
	return NULL;
}

static bool
repeats(const struct wire_service *services, size_t count)
{
	const char *name = services[count].name;
	size_t i;

	for (i = 0; i < count && strcmp(services[i].name, name) != 0; i++)
		;
	return i < count;
}

/* Copies names too, in one piece: OFFER and the notices lend them. */
static struct wire_service *
services_copy(const struct header *hello, size_t *count_r)
{
	struct wire_service *services;
	size_t i, count = 0, bytes = 0;
	char *at;

	for (i = 0; i < hello->service_count; i++)
		bytes += sizeof *services + strlen(hello->services[i].name) + 1;
	services = xcalloc(1, bytes + 1);
	at = (char *)(services + hello->service_count);
	for (i = 0; i < hello->service_count; i++) {
		if (repeats(hello->services, i))
			continue;
		services[count] = hello->services[i];
		services[count++].name = at;
		at = stpcpy(at, hello->services[i].name) + 1;
	}
	*count_r = count;
	return services;
}

void
offers_release(struct core *core, struct session *worker)
{
	struct call *call;
	struct offer *offer;
	size_t i;

	TAILQ_FOREACH(call, &worker->work, work_link)
		call->offer = NULL;
	for (i = 0; i < worker->offer_count; i++) {
		offer = &worker->offers[i];
		heap_remove(&offer->capability->ready, &offer->ready);
		count_worker(core, offer->capability, -1);
		capability_unused(core, offer->capability);
	}
	free(worker->offers);
	worker->offers = NULL;
	worker->offer_count = 0;
}

static void
offer_init(struct core *core, struct session *worker, size_t i)
{
	struct offer *offer = &worker->offers[i];

	offer->session = worker;
	offer->capability = capability_get(core, worker->services[i].name);
	offer->limit = worker->services[i].credit;
	count_worker(core, offer->capability, 1);
}

void
offers_set(struct core *core, struct session *worker, const struct header *hello)
{
	struct call *call;
	size_t i;

	offers_release(core, worker);
	free(worker->services);
	worker->services = services_copy(hello, &worker->offer_count);
	worker->offers = xcalloc(worker->offer_count, sizeof *worker->offers);
	for (i = 0; i < worker->offer_count; i++)
		offer_init(core, worker, i);
	/* What runs there already counts against the new offers. */
	TAILQ_FOREACH(call, &worker->work, work_link) {
		call->offer = call->state == CALL_ASSIGNED
				  ? offer_find(worker, call->capability)
				  : NULL;
		if (call->offer != NULL && call->has_slot)
			call->offer->running++;
	}
	session_rank(core, worker);
}

bool
capability_served(const struct capability *capability, uint64_t since_ms)
{
	return capability->workers > 0 || capability->served_ms >= since_ms;
}

static const char *
look_up_nearest(const struct core *core, const char *name)
{
	const char *names[NEAREST_NAMES_MAX];
	const struct capability *capability;
	size_t count = 0;

	TAILQ_FOREACH(capability, &core->served, link) {
		if (count == NEAREST_NAMES_MAX)
			break;
		if (!pin_is(capability->name))
			names[count++] = capability->name;
	}
	return nearest_name(name, names, count);
}

const char *
capability_nearest(struct core *core, struct capability *capability)
{
	if (capability->nearest_of == core->fleet)
		return capability->nearest;
	if (core->lookups >= NEAREST_LOOKUPS_MAX)
		return NULL;
	core->lookups++;
	capability->nearest = look_up_nearest(core, capability->name);
	capability->nearest_of = core->fleet;
	return capability->nearest;
}
