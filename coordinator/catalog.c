#include "catalog.h"

#include <czmq.h>
#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "fiber.h"
#include "log.h"
#include "memory.h"
#include "nearest.h"
#include "store_agents.h"

#define WAIT_STEP_MS 100u

/* One worker's session at one broker, and what it serves. */
struct offer {
	uint32_t link;
	bool keeps_threads;
	size_t count;
	char *services[];
};

struct catalog {
	struct loop *loop;
	struct store *store;
	zhashx_t *offers;   /* "<link>/<session>" -> struct offer */
	zhashx_t *services; /* service -> count of offers, as a pointer-sized number */
	zhashx_t *keepers;  /* the same, of those who keep threads */
	struct arena *arena;
	const struct value *tools;
	uint64_t generation;
	link_set up;
	uint64_t up_ms;   /* since when any is */
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
	struct catalog *catalog = xcalloc(1, sizeof *catalog);

	catalog->loop = loop;
	catalog->store = store;
	catalog->offers = zhashx_new();
	zhashx_set_destructor(catalog->offers, offer_free);
	catalog->services = zhashx_new();
	catalog->keepers = zhashx_new();
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
	zhashx_destroy(&catalog->keepers);
	arena_destroy(&catalog->arena);
	free(catalog);
	*catalog_p = NULL;
}

static void
count(zhashx_t *services, const char *service, int change)
{
	intptr_t sum = (intptr_t)zhashx_lookup(services, service) + change;

	if (sum > 0)
		zhashx_update(services, service, (void *)sum);
	else
		zhashx_delete(services, service);
}

static void
count_offer(struct catalog *catalog, const struct offer *offer, int change)
{
	size_t i;

	for (i = 0; i < offer->count; i++) {
		count(catalog->services, offer->services[i], change);
		if (offer->keeps_threads)
			count(catalog->keepers, offer->services[i], change);
	}
}

#define OFFER_KEY_BYTES (SESSION_BYTES + 12u)

static void
format_key(char key[OFFER_KEY_BYTES], uint32_t link, const char *session)
{
	snprintf(key, OFFER_KEY_BYTES, "%u/%s", link, session);
}

/* Takes the offer under key away, if there is one. */
static void
withdraw(struct catalog *catalog, const char *key)
{
	struct offer *offer = zhashx_lookup(catalog->offers, key);

	if (offer == NULL)
		return;
	count_offer(catalog, offer, -1);
	zhashx_delete(catalog->offers, key);
}

void
catalog_withdraw(struct catalog *catalog, uint32_t link, const struct header *header)
{
	char key[OFFER_KEY_BYTES];

	if (header->session == NULL)
		return;
	format_key(key, link, header->session);
	withdraw(catalog, key);
}

void
catalog_up(struct catalog *catalog, uint32_t link)
{
	if (catalog->up == 0)
		catalog->up_ms = loop_now_ms(catalog->loop);
	catalog->up |= LINK_BIT(link);
}

void
catalog_down(struct catalog *catalog, uint32_t link)
{
	zlistx_t *keys = zhashx_keys(catalog->offers);
	const struct offer *offer;
	const char *key;

	catalog->up &= ~LINK_BIT(link);
	for (key = zlistx_first(keys); key != NULL; key = zlistx_next(keys)) {
		offer = zhashx_lookup(catalog->offers, key);
		if (offer->link == link)
			withdraw(catalog, key);
	}
	zlistx_destroy(&keys);
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
	struct storing *storing = xcalloc(1, sizeof *storing);

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

static bool
serves_tool(const struct catalog *catalog, struct arena *arena, const char *name)
{
	return catalog_serves(
	    catalog, arena_printf(arena, SERVICE_TOOL_PREFIX "%s", name));
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

/* The definitions that stay when news come. What nobody serves now may be served again soon, and stays while there is
 * room: names may be made anew each day, as an MCP server's. */
static const struct value *
what_stays(const struct catalog *catalog, struct arena *arena, const struct value *news)
{
	const struct value *tools = catalog->tools;
	struct value_fields fields = { .arena = arena };
	size_t i;

	if (value_size(tools) + value_size(news) <= CATALOG_TOOLS_MAX)
		return tools;
	for (i = 0; i < value_size(tools); i++)
		if (serves_tool(catalog, arena, value_text(tools->pairs[i].key)))
			value_fields_put(
			    &fields, tools->pairs[i].key, tools->pairs[i].value);
	return value_fields_end(&fields);
}

static void
take(struct catalog *catalog, struct arena *arena, const struct value *news)
{
	struct arena *next = arena_new();

	catalog->tools = value_copy(
	    next, value_map_merge(arena, what_stays(catalog, arena, news), news));
	arena_destroy(&catalog->arena);
	catalog->arena = next;
	catalog->generation++;
}

/* announced: by an offer that counts already. */
static void
learn(struct catalog *catalog, struct arena *arena, const struct value *announced)
{
	const struct value *news = what_is_new(catalog, arena, announced);

	if (news == NULL)
		return;
	store_later(catalog, news);
	take(catalog, arena, news);
}

static bool
says_that_it_keeps_threads(const struct value *announced)
{
	size_t i;

	for (i = 0; i < value_size(announced); i++)
		if (value_get_bool(value_at(announced, i), "threads", false))
			return true;
	return false;
}

/* The definitions that came with an offer, or NULL. */
static const struct value *
read_body(struct arena *arena, const struct header *header, struct parts *bodies)
{
	const struct value *announced;
	const char *error;

	if (bodies == NULL || bodies->count == 0)
		return NULL;
	if (value_unpack(arena, parts_data(bodies, BODY_CATALOG),
		parts_size(bodies, BODY_CATALOG), &announced, &error) == 0 &&
	    value_is(announced, VALUE_ARRAY))
		return announced;
	log_warnx("worker=%s catalog refused: not an array of tools",
	    header->name != NULL ? header->name : header->session);
	return NULL;
}

void
catalog_offer(struct catalog *catalog, uint32_t link, const struct header *header,
    struct parts *bodies)
{
	char key[OFFER_KEY_BYTES];
	struct arena *arena;
	const struct value *announced;
	struct offer *offer;
	size_t i;

	if (header->session == NULL)
		return;
	format_key(key, link, header->session);
	withdraw(catalog, key);
	offer = xcalloc(1, sizeof *offer + header->service_count * sizeof(char *));
	offer->link = link;
	for (i = 0; i < header->service_count; i++)
		offer->services[offer->count++] = xstrdup(header->services[i].name);
	arena = arena_new();
	announced = read_body(arena, header, bodies);
	offer->keeps_threads = says_that_it_keeps_threads(announced);
	count_offer(catalog, offer, 1);
	zhashx_update(catalog->offers, key, offer);
	learn(catalog, arena, announced);
	arena_destroy(&arena);
}

/* Redis may have lost definitions (missing: [name]), and workers announce theirs once. */
static void
put_back(struct catalog *catalog, struct arena *arena, const struct value *missing)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(missing); i++) {
		const char *name = redis_reply_text(value_at(missing, i));

		if (name != NULL)
			value_fields_set(&fields, name,
			    value_copy(arena, value_get(catalog->tools, name)));
	}
	store_put_tools(catalog->store, arena, value_fields_end(&fields));
}

void
catalog_tell(struct catalog *catalog)
{
	struct arena *arena = arena_new();
	struct value_list names = { .arena = arena };
	const struct value *tools = catalog->tools, *missing;
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		if (serves_tool(catalog, arena, value_text(tools->pairs[i].key)))
			value_list_add(&names, value_copy(arena, tools->pairs[i].key));
	if (store_tools_seen(catalog->store, arena, value_list_end(&names), TOOLS_KEEP_MS,
		&missing) == STORE_OK)
		put_back(catalog, arena, missing);
	arena_destroy(&arena);
}

static bool
serves_any_tool(const struct catalog *catalog, struct arena *arena)
{
	const struct value *tools = catalog->tools;
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		if (serves_tool(catalog, arena, value_text(tools->pairs[i].key)))
			return true;
	return false;
}

void
catalog_keep(struct catalog *catalog)
{
	struct arena *arena = arena_new();

	if (catalog->storing == 0 && serves_any_tool(catalog, arena) &&
	    store_has_tools(catalog->store, arena) == STORE_NONE)
		catalog_tell(catalog);
	arena_destroy(&arena);
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

bool
catalog_keeps_threads(const struct catalog *catalog, const char *service)
{
	const void *all = zhashx_lookup(catalog->services, service);

	return all != NULL && all == zhashx_lookup(catalog->keepers, service);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const struct value *
catalog_providers(const struct catalog *catalog, struct arena *arena)
{
	const char **names =
	    arena_alloc(arena, (zhashx_size(catalog->services) + 1) * sizeof *names);
	struct value_list list = { .arena = arena };
	size_t prefix = strlen(SERVICE_MODEL_PREFIX), count = 0, i;
	const char *service;
	void *item;

	for (item = zhashx_first(catalog->services); item != NULL;
	     item = zhashx_next(catalog->services)) {
		service = zhashx_cursor(catalog->services);
		if (strncmp(service, SERVICE_MODEL_PREFIX, prefix) == 0)
			names[count++] = service + prefix;
	}
	qsort(names, count, sizeof *names, compare_names);
	for (i = 0; i < count; i++)
		value_list_add(&list, value_str(arena, names[i]));
	return value_list_end(&list);
}

static bool
is_over(const struct catalog *catalog, uint64_t since, uint64_t wait_ms)
{
	uint64_t from = since > catalog->up_ms ? since : catalog->up_ms;

	return catalog->up != 0 && loop_now_ms(catalog->loop) >= from + wait_ms;
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

int
catalog_recall(struct catalog *catalog, const char *service)
{
	size_t prefix = strlen(SERVICE_TOOL_PREFIX);
	const char *name = service + prefix;
	const struct value *tools = NULL, *tool;
	struct arena *arena;
	enum store_status status;

	if (strncmp(service, SERVICE_TOOL_PREFIX, prefix) != 0)
		return 0;
	arena = arena_new();
	status = store_tools(catalog->store, arena, &tools);
	tool = value_get(tools, name);
	/* A worker that has come meanwhile knows better. */
	if (status == STORE_OK && value_is(tool, VALUE_MAP) &&
	    !value_has(catalog->tools, name))
		take(catalog, arena, value_map(arena, name, tool, NULL));
	arena_destroy(&arena);
	return status == STORE_OK ? 0 : -1;
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
