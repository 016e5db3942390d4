#include "tool_table.h"

#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "bounds.h"
#include "log.h"
#include "memory.h"
#include "nearest.h"
#include "registry.h"
#include "tools.h"

/* "tools", "wraps", "webhook", "worker:..." are services as well. */
#define TOOLS_MAX (SERVICES_MAX - 4u)
#define BUILTIN_MAX 64u
/* Of the header that announces them: the rest of it, and around each name. */
#define HEADER_REST_BYTES 512u
#define SERVICE_AROUND_BYTES 9u

/* Calls that run keep their table: a tool may be in several. */
struct shared_gate {
	struct gate gate; /* first: what entries have */
	unsigned holders;
};

struct tool_table {
	struct arena *arena;
	struct tool_source *source; /* what its commands are in */
	unsigned holders;
	struct tool_entry entries[TOOLS_MAX];
	size_t count;
	size_t server_bytes; /* of definitions of servers' tools */
	const struct value *catalog;
	const char *error; /* while it is made */
};

/* --- filling ------------------------------------------------------------------------ */

static int
refuse(struct tool_table *table, const char *error)
{
	table->error = error;
	return -1;
}

static const char *
place_of(const struct tool_entry *entry)
{
	if (entry->server != NULL)
		return mcp_server_options(entry->server)->place;
	return entry->command == NULL ? "--builtin" : entry->command->place;
}

static int
refuse_name(struct tool_table *table, const struct tool_entry *entry,
    const struct tool_entry *other)
{
	if (other->command == NULL)
		return refuse(table, arena_printf(table->arena,
					 "%s: there is a C tool named '%s'; rename this "
					 "one, or name the C "
					 "tools to offer with --builtin",
					 place_of(entry), entry->name));
	return refuse(
	    table, arena_printf(table->arena,
		       "%s: a tool named '%s' is in %s already; rename one of them",
		       place_of(entry), entry->name, place_of(other)));
}

static int
add_entry(struct tool_table *table, const struct tool_entry *entry)
{
	struct tool_entry *other = tool_table_find(table, entry->name);

	if (other != NULL)
		return refuse_name(table, entry, other);
	if (table->count == TOOLS_MAX)
		return refuse(table,
		    arena_printf(table->arena,
			"%s: more than %u tools; give some of them to another worker",
			place_of(entry), TOOLS_MAX));
	table->entries[table->count++] = *entry;
	return 0;
}

static int
add_function(struct tool_table *table, const struct tool *function)
{
	struct tool_entry entry = { .name = function->name, .function = function };

	entry.definition = tool_to_value(table->arena, function);
	return add_entry(table, &entry);
}

static int
add_function_named(struct tool_table *table, const char *name)
{
	const struct tool *const *all = tools_builtin();
	const char *names[BUILTIN_MAX], *nearest;
	size_t i;

	for (i = 0; all[i] != NULL && i < BUILTIN_MAX; i++) {
		if (strcmp(all[i]->name, name) == 0)
			return add_function(table, all[i]);
		names[i] = all[i]->name;
	}
	nearest = nearest_name(name, names, i);
	return refuse(
	    table, arena_printf(table->arena,
		       "--builtin %s: there is no such C tool%s%s%s", name,
		       nearest == NULL ? "; --builtin none offers none of them"
				       : "; did you mean '",
		       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?"));
}

static int
add_functions(struct tool_table *table, const char *const *names)
{
	const struct tool *const *function;

	if (names != NULL && names[0] != NULL) {
		if (strcmp(names[0], "none") == 0 && names[1] == NULL)
			return 0;
		for (; *names != NULL; names++)
			if (add_function_named(table, *names) == -1)
				return -1;
		return 0;
	}
	for (function = tools_builtin(); *function != NULL; function++)
		if (add_function(table, *function) == -1)
			return -1;
	return 0;
}

static int
add_commands(struct tool_table *table)
{
	const struct command_tool *const *tools = table->source->tools;

	for (; *tools != NULL; tools++) {
		struct tool_entry entry = { .name = (*tools)->name, .command = *tools };

		entry.definition = (*tools)->definition;
		if (add_entry(table, &entry) == -1)
			return -1;
	}
	return 0;
}

static size_t
announced_bytes(const char *name)
{
	return strlen(SERVICE_TOOL_PREFIX) + strlen(name) + SERVICE_AROUND_BYTES;
}

/* All of them are announced in one header. */
static size_t
all_announced_bytes(const struct tool_table *table)
{
	size_t i, bytes = HEADER_REST_BYTES;

	for (i = 0; i < table->count; i++)
		bytes += announced_bytes(table->entries[i].name);
	return bytes;
}

static int
check_room(struct tool_table *table)
{
	if (all_announced_bytes(table) <= HEADER_BYTES_MAX)
		return 0;
	return refuse(table,
	    arena_printf(table->arena,
		"the names of the %zu tools do not fit into one announcement (%u bytes); "
		"give some of them to another worker",
		table->count, HEADER_BYTES_MAX));
}

/* Why a server's tool has no place, or NULL. */
static const char *
no_place(struct tool_table *table, const char *name, const struct value *definition)
{
	const struct tool_entry *other = tool_table_find(table, name);

	if (other != NULL)
		return arena_printf(table->arena,
		    "a tool of that name is in %s; give the server a prefix",
		    place_of(other));
	if (table->count == TOOLS_MAX ||
	    all_announced_bytes(table) + announced_bytes(name) > HEADER_BYTES_MAX)
		return "this worker has too many; name those that are wanted in tools, "
		       "or give some of them to another worker";
	if (table->server_bytes + definition->packed_size > MCP_CATALOG_BYTES_MAX)
		return "there is too much to say of this worker's tools; name those that "
		       "are wanted in tools, or give some of them to another worker";
	return NULL;
}

static void
add_server(struct tool_table *table, struct mcp_server *server)
{
	const struct value *tools = mcp_server_tools(server);
	size_t i;

	for (i = 0; i < value_size(tools); i++) {
		const struct value *tool = value_copy(table->arena, value_at(tools, i));
		const struct value *definition =
		    value_freeze(table->arena, value_get(tool, "definition"));
		struct tool_entry entry = { .name = value_get_text(definition, "name"),
			.server = server,
			.remote = value_get_text(tool, "remote"),
			.definition = definition };
		const char *why = no_place(table, entry.name, definition);

		if (why != NULL) {
			log_warnx("mcp=%s tool=%s not offered: %s",
			    mcp_server_options(server)->name, entry.name, why);
			continue;
		}
		mcp_server_hold(server);
		table->server_bytes += definition->packed_size;
		table->entries[table->count++] = entry;
	}
}

static void
add_servers(struct tool_table *table, struct mcp_servers *servers)
{
	struct mcp_server *server = NULL;

	while (servers != NULL && (server = mcp_servers_next(servers, server)) != NULL)
		add_server(table, server);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(
	    ((const struct tool_entry *)a)->name, ((const struct tool_entry *)b)->name);
}

static struct gate *
gate_new(uint64_t room)
{
	struct shared_gate *shared = xcalloc(1, sizeof *shared);

	gate_init(&shared->gate, room);
	shared->holders = 1;
	return &shared->gate;
}

static struct gate *
gate_hold(struct gate *gate)
{
	((struct shared_gate *)(void *)gate)->holders++;
	return gate;
}

static void
gate_release(struct gate *gate)
{
	struct shared_gate *shared = (struct shared_gate *)(void *)gate;

	if (shared != NULL && --shared->holders == 0)
		free(shared);
}

static uint64_t
room_of(const struct tool_entry *entry)
{
	if (entry->server != NULL)
		return mcp_server_options(entry->server)->max_parallel;
	return entry->command == NULL ? 0 : entry->command->max_parallel;
}

static void
finish(struct tool_table *table)
{
	struct value_list list = { .arena = table->arena };
	size_t i;

	qsort(table->entries, table->count, sizeof table->entries[0], by_name);
	for (i = 0; i < table->count; i++) {
		struct tool_entry *entry = &table->entries[i];

		entry->gate = gate_new(room_of(entry));
		value_list_add(&list, entry->definition);
	}
	table->catalog = value_freeze(table->arena, value_list_end(&list));
}

static int
fill(struct tool_table *table, const char *const *functions)
{
	return add_functions(table, functions) == -1 || add_commands(table) == -1
		   ? -1
		   : check_room(table);
}

/* --- the table ---------------------------------------------------------------------- */

struct tool_table *
tool_table_new(const char *const *functions, struct tool_source *source,
    struct mcp_servers *servers, struct arena *arena, const char **error_r)
{
	struct tool_table *table = xcalloc(1, sizeof *table);

	table->arena = arena_new();
	table->source = tool_source_hold(source);
	table->holders = 1;
	if (fill(table, functions) == -1) {
		*error_r = arena_strdup(arena, table->error);
		tool_table_release(&table);
		return NULL;
	}
	add_servers(table, servers);
	finish(table);
	return table;
}

void
tool_table_follow(struct tool_table *table, const struct tool_table *former)
{
	struct tool_entry *entry;
	size_t i;

	for (i = 0; i < former->count; i++) {
		entry = tool_table_find(table, former->entries[i].name);
		if (entry == NULL)
			continue;
		gate_resize(former->entries[i].gate, entry->gate->room);
		gate_release(entry->gate);
		entry->gate = gate_hold(former->entries[i].gate);
	}
}

struct tool_table *
tool_table_hold(struct tool_table *table)
{
	table->holders++;
	return table;
}

void
tool_table_release(struct tool_table **table_p)
{
	struct tool_table *table = *table_p;
	size_t i;

	*table_p = NULL;
	if (table == NULL || --table->holders > 0)
		return;
	for (i = 0; i < table->count; i++) {
		gate_release(table->entries[i].gate);
		mcp_server_release(&table->entries[i].server);
	}
	tool_source_release(&table->source);
	arena_destroy(&table->arena);
	free(table);
}

struct tool_entry *
tool_table_find(struct tool_table *table, const char *name)
{
	size_t i;

	for (i = 0; i < table->count; i++)
		if (strcmp(table->entries[i].name, name) == 0)
			return &table->entries[i];
	return NULL;
}

struct tool_entry *
tool_table_entries(struct tool_table *table, size_t *count_r)
{
	*count_r = table->count;
	return table->entries;
}

const struct wire_service *
tool_table_services(struct tool_table *table, uint32_t slots, size_t *count_r)
{
	struct wire_service *services =
	    arena_alloc(table->arena, (table->count + 1) * sizeof *services);
	size_t i;

	for (i = 0; i < table->count; i++) {
		const struct tool_entry *entry = &table->entries[i];
		uint64_t room = entry->gate->room;

		services[i].name =
		    arena_printf(table->arena, SERVICE_TOOL_PREFIX "%s", entry->name);
		services[i].credit = room > 0 && room < slots ? (uint32_t)room : slots;
	}
	services[table->count] = (struct wire_service){ SERVICE_TOOLS, slots };
	*count_r = table->count + 1;
	return services;
}

const struct value *
tool_table_catalog(const struct tool_table *table)
{
	return table->catalog;
}
