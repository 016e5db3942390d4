#include "catalog.h"

#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "fiber.h"
#include "log.h"
#include "nearest.h"

#define WAIT_STEP_MS 100u

/* One worker's session and what it serves. */
struct offer {
	size_t count;
	char *services[];
};

struct catalog {
	struct loop *loop;
	struct store *store;
	zhashx_t *offers; /* session -> struct offer */
	zhashx_t
	    *services; /* service -> count of live sessions, as a pointer-sized number */
	struct arena *arena;
	const struct value *tools;
	uint64_t generation;
	bool is_up;
	uint64_t up_ms;   /* since when */
	unsigned storing; /* fibers that write to Redis */
};

static void
offer_free(void **item)
{
	struct offer *offer = *item;
	size_t i;

	for (i = 0; i < offer->count; i++)
		free(offer->services[i]);
	free(offer);
	*item = NULL;
}

struct catalog *
catalog_new(struct loop *loop, struct store *store)
{
	struct catalog *catalog = calloc(1, sizeof *catalog);

	if (catalog == NULL)
		abort();
	catalog->loop = loop;
	catalog->store = store;
	catalog->offers = zhashx_new();
	zhashx_set_destructor(catalog->offers, offer_free);
	catalog->services = zhashx_new();
	catalog->arena = arena_new();
	catalog->tools = value_empty_map();
	catalog->generation = 1;
	return catalog;
}

void
catalog_destroy(struct catalog **catalog_p)
{
	struct catalog *catalog = *catalog_p;

	if (catalog == NULL)
		return;
	zhashx_destroy(&catalog->offers);
	zhashx_destroy(&catalog->services);
	arena_destroy(&catalog->arena);
	free(catalog);
	*catalog_p = NULL;
}

static void
count_service(struct catalog *catalog, const char *service, int change)
{
	intptr_t count = (intptr_t)zhashx_lookup(catalog->services, service) + change;

	if (count > 0)
		zhashx_update(catalog->services, service, (void *)count);
	else
		zhashx_delete(catalog->services, service);
}

void
catalog_withdraw(struct catalog *catalog, const struct header *header)
{
	struct offer *offer;
	size_t i;

	if (header->session == NULL)
		return;
	offer = zhashx_lookup(catalog->offers, header->session);
	if (offer == NULL)
		return;
	for (i = 0; i < offer->count; i++)
		count_service(catalog, offer->services[i], -1);
	zhashx_delete(catalog->offers, header->session);
}

void
catalog_up(struct catalog *catalog)
{
	catalog->is_up = true;
	catalog->up_ms = loop_now_ms(catalog->loop);
}

void
catalog_down(struct catalog *catalog)
{
	catalog->is_up = false;
	zhashx_purge(catalog->offers);
	zhashx_purge(catalog->services);
}

/* --- definitions -------------------------------------------------------------------- */

struct storing {
	struct catalog *catalog;
	struct arena *arena;
	const struct value *tools;
};

static void
store_new_tools(void *arg)
{
	struct storing *storing = arg;

	if (store_put_tools(storing->catalog->store, storing->arena, storing->tools) ==
	    STORE_FAILED)
		log_warnx("tools not stored: %s", store_error(storing->catalog->store));
	storing->catalog->storing--;
	arena_destroy(&storing->arena);
	free(storing);
}

static void
store_later(struct catalog *catalog, const struct value *tools)
{
	struct storing *storing = calloc(1, sizeof *storing);

	if (storing == NULL)
		abort();
	storing->catalog = catalog;
	storing->arena = arena_new();
	storing->tools = value_copy(storing->arena, tools);
	catalog->storing++;
	if (fiber_start(catalog->loop, "catalog", store_new_tools, storing) == NULL) {
		catalog->storing--;
		arena_destroy(&storing->arena);
		free(storing);
	}
}

/* The definitions of announced that are new or other than the known ones; NULL: none. */
static const struct value *
what_is_new(
    const struct catalog *catalog, struct arena *arena, const struct value *announced)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(announced); i++) {
		const struct value *tool = value_at(announced, i);
		const char *name = value_get_text(tool, "name");

		if (name != NULL && wire_is_id(name, ID_BYTES_MAX) &&
		    !value_equal(value_get(catalog->tools, name), tool))
			value_fields_set(&fields, name, tool);
	}
	return fields.count > 0 ? value_fields_end(&fields) : NULL;
}

static void
learn(struct catalog *catalog, const struct value *announced)
{
	struct arena *arena = arena_new();
	const struct value *news = what_is_new(catalog, arena, announced);

	if (news != NULL) {
		struct arena *next = arena_new();

		store_later(catalog, news);
		catalog->tools =
		    value_copy(next, value_map_merge(arena, catalog->tools, news));
		arena_destroy(&catalog->arena);
		catalog->arena = next;
		catalog->generation++;
	}
	arena_destroy(&arena);
}

static void
learn_body(struct catalog *catalog, const struct header *header, struct parts *bodies)
{
	struct arena *arena = arena_new();
	const struct value *announced;
	const char *error;

	if (value_unpack(arena, parts_data(bodies, BODY_CATALOG),
		parts_size(bodies, BODY_CATALOG), &announced, &error) == 0 &&
	    value_is(announced, VALUE_ARRAY))
		learn(catalog, announced);
	else
		log_warnx("worker=%s catalog refused: not an array of tools",
		    header->name != NULL ? header->name : header->session);
	arena_destroy(&arena);
}

void
catalog_offer(struct catalog *catalog, const struct header *header, struct parts *bodies)
{
	struct offer *offer;
	size_t i;

	if (header->session == NULL)
		return;
	catalog_withdraw(catalog, header);
	offer = calloc(1, sizeof *offer + header->service_count * sizeof(char *));
	if (offer == NULL)
		abort();
	for (i = 0; i < header->service_count; i++) {
		offer->services[offer->count++] = strdup(header->services[i].name);
		count_service(catalog, header->services[i].name, 1);
	}
	zhashx_update(catalog->offers, header->session, offer);
	if (bodies != NULL && bodies->count > 0)
		learn_body(catalog, header, bodies);
}

/* --- questions ---------------------------------------------------------------------- */

const struct value *
catalog_tools(const struct catalog *catalog)
{
	return catalog->tools;
}

uint64_t
catalog_generation(const struct catalog *catalog)
{
	return catalog->generation;
}

bool
catalog_serves(const struct catalog *catalog, const char *service)
{
	return zhashx_lookup(catalog->services, service) != NULL;
}

static bool
is_over(const struct catalog *catalog, uint64_t since, uint64_t wait_ms)
{
	uint64_t from = since > catalog->up_ms ? since : catalog->up_ms;

	return catalog->is_up && loop_now_ms(catalog->loop) >= from + wait_ms;
}

int
catalog_wait(
    struct catalog *catalog, const char *service, uint64_t since, uint64_t wait_ms)
{
	size_t prefix = strlen(SERVICE_TOOL_PREFIX);
	const char *tool =
	    strncmp(service, SERVICE_TOOL_PREFIX, prefix) == 0 ? service + prefix : NULL;

	while (!catalog_serves(catalog, service) &&
	       (tool == NULL || !value_has(catalog->tools, tool))) {
		if (is_over(catalog, since, wait_ms))
			return 1;
		if (fiber_sleep(WAIT_STEP_MS) == -1)
			return -1;
	}
	return 0;
}

const char *
catalog_nearest(const struct catalog *catalog, struct arena *arena, const char *service)
{
	size_t count = zhashx_size(catalog->services), i = 0;
	const char **names = arena_alloc(arena, (count + 1) * sizeof *names);
	void *item;

	for (item = zhashx_first(catalog->services); item != NULL && i < count;
	     item = zhashx_next(catalog->services))
		names[i++] = arena_strdup(arena, zhashx_cursor(catalog->services));
	return nearest_name(service, names, i);
}
