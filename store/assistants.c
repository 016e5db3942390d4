#include "assistants.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "service.h"
#include "store_private.h"
#include "wire.h"

#define PAGE 500u /* of a list */
#define PAGE_WITH_METADATA 50u

#define KEY_OF_ALL "fl:assistants"

/* --- pure ----------------------------------------------------------------------------- */

bool
assistant_is_id(const char *id)
{
	return wire_is_run_id(id);
}

static const struct value *
text_or_none(struct arena *arena, const char *text)
{
	return text != NULL ? value_str(arena, text) : NULL;
}

/* A version, as it is kept. */
static const struct value *
version_of(struct arena *arena, const struct assistant *assistant)
{
	return value_map(arena, "agent", value_str(arena, assistant->agent), "name",
	    value_str(arena, assistant->name), "description",
	    text_or_none(arena, assistant->description), "config", assistant->config,
	    "context", assistant->context, "metadata", assistant->metadata, NULL);
}

size_t
assistant_size(struct arena *arena, const struct assistant *assistant)
{
	return value_freeze(arena, version_of(arena, assistant))->packed_size;
}

const struct value *
assistant_plain(struct arena *arena, const struct value *metadata)
{
	struct value_fields kept = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(metadata); i++) {
		const struct value *value = metadata->pairs[i].value;

		if (value_is(value, VALUE_MAP) || value_is(value, VALUE_ARRAY))
			value = value_str(arena, json_text(arena, value));
		if (!value_is_nil(value))
			value_fields_put(&kept, metadata->pairs[i].key, value);
	}
	return value_fields_end(&kept);
}

/* What the entry says there, as JSON; an empty map where it says nothing. NULL: it cannot be read. */
static const struct value *
said(struct arena *arena, const struct value *entry, const char *name,
    const char **error_r)
{
	const char *text = value_get_text(entry, name), *error;
	const struct value *map;

	if (text == NULL || *text == '\0')
		return value_empty_map();
	map = json_parse(arena, text, strlen(text), &error);
	if (value_is(map, VALUE_MAP))
		return map;
	*error_r = arena_printf(arena, "%s: is no map", name);
	return NULL;
}

static const struct value *
text_unless_empty(struct arena *arena, const struct value *map)
{
	return value_size(map) > 0 ? value_str(arena, json_text(arena, map)) : NULL;
}

const char *const assistant_counts[] = { "recursion_limit", "max_concurrency", NULL };

const char *
assistant_count(struct arena *arena, const struct assistant *assistant, const char *name)
{
	int64_t count = value_get_int(assistant->config, name, 0);

	return count >= 1 ? arena_printf(arena, "%" PRId64, count) : NULL;
}

/* What entry has of its own counts. */
static const struct value *
count_of(struct arena *arena, const struct assistant *assistant,
    const struct value *entry, const char *name)
{
	const char *count = assistant_count(arena, assistant, name);

	return count != NULL && !value_has(entry, name) ? value_str(arena, count) : NULL;
}

const struct value *
assistant_gives(struct arena *arena, const struct assistant *assistant,
    const struct value *entry, const char **error_r)
{
	const struct value *context = said(arena, entry, "context", error_r);
	const struct value *metadata = said(arena, entry, "metadata", error_r);

	if (context == NULL || metadata == NULL)
		return NULL;
	context = value_map_merge(arena, assistant->context, context);
	metadata =
	    value_map_merge(arena, assistant_plain(arena, assistant->metadata), metadata);
	return value_map(arena, "agent", value_str(arena, assistant->agent), "context",
	    text_unless_empty(arena, context), "metadata",
	    text_unless_empty(arena, metadata), "recursion_limit",
	    count_of(arena, assistant, entry, "recursion_limit"), "max_concurrency",
	    count_of(arena, assistant, entry, "max_concurrency"), NULL);
}

/* --- steps ---------------------------------------------------------------------------- */

/* FCALL function 3 its keys, id. */
static void
begin(struct command *command, const char *function, const char *id)
{
	command_text(command, "FCALL");
	command_text(command, function);
	command_text(command, "3");
	command_text(command, KEY_OF_ALL);
	command_text(command, arena_printf(command->arena, "fl:assistant:%s", id));
	command_text(command, STORE_AGENTS);
	command_text(command, id);
}

/* A word of this one change. */
static void
add_token(struct command *command)
{
	char token[33];

	service_session(token);
	command_text(command, arena_strdup(command->arena, token));
}

/* What of it stands beside its versions. */
static void
add_outline(struct command *command, const struct assistant *assistant)
{
	command_text(command, assistant->agent);
	command_text(command, assistant->name);
	command_value(command, assistant->metadata);
}

static enum store_status
full(struct store *store, const char *whose, unsigned most)
{
	store_fail(store, "there are %u assistants%s, as many as may be: delete others",
	    most, whose);
	return STORE_REJECTED;
}

/* What a step's answer means, by its first word. */
static enum store_status
meaning(struct store *store, const struct value *reply)
{
	if (store_answers(reply, "OK"))
		return STORE_OK;
	if (store_answers(reply, "KNOWN"))
		return STORE_KNOWN;
	if (store_answers(reply, "STALE"))
		return STORE_STALE;
	if (store_answers(reply, "NONE"))
		return STORE_NONE;
	if (store_answers(reply, "NO_AGENT"))
		return STORE_OUTDATED;
	if (store_answers(reply, "AGENT"))
		return STORE_TAKEN;
	if (store_answers(reply, "FULL"))
		return full(store, "", ASSISTANTS_MAX);
	return store_answers(reply, "TENANT_FULL")
		   ? full(store, " of the tenant", ASSISTANTS_TENANT_MAX)
		   : store_odd(store, reply);
}

static enum store_status
answered(struct store *store, const struct command *command)
{
	const struct value *reply;
	enum store_status status = store_read(store, command, &reply);

	return status == STORE_OK ? meaning(store, reply) : status;
}

enum store_status
assistants_create(
    struct store *store, struct arena *arena, const struct assistant *assistant)
{
	struct command command = { .arena = arena };

	begin(&command, "fl_assistant_create", assistant->id);
	add_token(&command);
	command_uint(&command, ASSISTANTS_MAX);
	command_uint(&command, ASSISTANTS_TENANT_MAX);
	add_outline(&command, assistant);
	command_value(&command, version_of(arena, assistant));
	return answered(store, &command);
}

enum store_status
assistants_change(struct store *store, struct arena *arena,
    const struct assistant *assistant, bool names_agent)
{
	struct command command = { .arena = arena };

	begin(&command, "fl_assistant_change", assistant->id);
	command_text(&command, assistant->token);
	add_token(&command);
	command_uint(&command, ASSISTANT_VERSIONS_MAX);
	command_text(&command, names_agent ? assistant->agent : "");
	add_outline(&command, assistant);
	command_value(&command, version_of(arena, assistant));
	return answered(store, &command);
}

enum store_status
assistants_choose(
    struct store *store, struct arena *arena, const struct assistant *assistant)
{
	struct command command = { .arena = arena };

	begin(&command, "fl_assistant_choose", assistant->id);
	command_text(&command, assistant->token);
	add_token(&command);
	command_uint(&command, assistant->version);
	add_outline(&command, assistant);
	return answered(store, &command);
}

enum store_status
assistants_delete(struct store *store, struct arena *arena, const char *id)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	bool lost, is_repeated;

	begin(&command, "fl_assistant_delete", id);
	status = store_send(store, &command, &reply, &lost);
	is_repeated = status == STORE_FAILED && lost;
	if (is_repeated)
		status = store_send(store, &command, &reply, &lost);
	if (status == STORE_OK)
		status = meaning(store, reply);
	/* The answer that was lost may have said that it was there. */
	return is_repeated && status == STORE_NONE ? STORE_OK : status;
}

/* --- reading -------------------------------------------------------------------------- */

static uint64_t
number_at(const struct value *fields, size_t index)
{
	const char *text = store_text_at(fields, index);

	return text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* What the store knows of it, in the order of both lists of fields (assistants.lua). */
static void
read_known(const struct value *fields, struct assistant *assistant)
{
	assistant->token = store_text_at(fields, 0);
	assistant->created_ms = (int64_t)number_at(fields, 1);
	assistant->updated_ms = (int64_t)number_at(fields, 2);
	assistant->version = number_at(fields, 3);
	assistant->newest = number_at(fields, 4);
}

static const struct value *
map_of(const struct value *version, const char *name)
{
	const struct value *map = value_get(version, name);

	return value_is(map, VALUE_MAP) ? map : value_empty_map();
}

/* Returns false when version is none of ours. */
static bool
read_version(const struct value *version, struct assistant *assistant)
{
	assistant->agent = value_get_text(version, "agent");
	assistant->name = value_get_text(version, "name");
	assistant->description = value_get_text(version, "description");
	assistant->config = map_of(version, "config");
	assistant->context = map_of(version, "context");
	assistant->metadata = map_of(version, "metadata");
	return assistant->agent != NULL && assistant->name != NULL;
}

/* number: "", the one that counts. */
static enum store_status
read_one(struct store *store, struct arena *arena, const char *id, const char *number,
    struct assistant *assistant_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	*assistant_r = (struct assistant){ .id = id };
	begin(&command, "fl_assistant_get", id);
	command_text(&command, number);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (store_answers(reply, "NONE"))
		return STORE_NONE;
	read_known(value_at(reply, 0), assistant_r);
	if (*number != '\0' && value_is_nil(value_at(reply, 1)))
		return STORE_OUTDATED;
	assistant_r->version = number_at(reply, 2);
	assistant_r->version_ms = (int64_t)number_at(reply, 3);
	return assistant_r->token != NULL &&
		       read_version(store_decode(arena, value_at(reply, 1)), assistant_r)
		   ? STORE_OK
		   : store_damaged(store, "what the assistant is cannot be read");
}

enum store_status
assistants_read(struct store *store, struct arena *arena, const char *id,
    struct assistant *assistant_r)
{
	return read_one(store, arena, id, "", assistant_r);
}

enum store_status
assistants_version(struct store *store, struct arena *arena, const char *id,
    uint64_t version, struct assistant *assistant_r)
{
	return read_one(
	    store, arena, id, arena_printf(arena, "%" PRIu64, version), assistant_r);
}

/* --- all ------------------------------------------------------------------------------ */

/* Adds a copy, without what was not read. */
static void
add(struct arena *arena, struct assistant_list *list, const struct assistant *assistant)
{
	struct assistant copy = *assistant;

	copy.id = arena_strdup(arena, copy.id);
	copy.agent = arena_strdup(arena, copy.agent);
	copy.name = arena_strdup(arena, copy.name);
	copy.metadata = copy.config = copy.context = NULL;
	copy.token = NULL;
	if (list->count == list->room) {
		size_t room = list->room == 0 ? 64 : 2 * list->room;
		struct assistant *items = arena_alloc(arena, room * sizeof *items);

		if (list->count > 0)
			memcpy(items, list->items, list->count * sizeof *items);
		list->items = items;
		list->room = room;
	}
	list->items[list->count++] = copy;
}

static size_t
page_of(const struct assistant_wish *wish)
{
	return wish->sees_metadata ? PAGE_WITH_METADATA : PAGE;
}

/* Adds the wanted ones of a page. Returns the id behind which the next one begins, in arena; NULL: there is none. */
static const char *
choose(struct arena *arena, struct arena *page, const struct assistant_wish *wish,
    const struct value *reply, struct assistant_list *list)
{
	const char *last = NULL;
	size_t i;

	for (i = 0; i + 1 < value_size(reply); i += 2) {
		const struct value *fields = value_at(reply, i + 1);
		struct assistant found = { .id = store_text_at(reply, i),
			.agent = store_text_at(fields, 5),
			.name = store_text_at(fields, 6) };

		last = found.id != NULL ? found.id : last;
		if (found.id == NULL || found.agent == NULL || found.name == NULL)
			continue;
		read_known(fields, &found);
		found.metadata = store_decode(page, value_at(fields, 7));
		if (wish->is_wanted == NULL || wish->is_wanted(&found, wish->arg))
			add(arena, list, &found);
	}
	return value_size(reply) < 2 * page_of(wish) || last == NULL
		   ? NULL
		   : arena_strdup(arena, last);
}

/* Where the ids begin and end: of all, or of a tenant's, whose names have no byte behind the mark's, 127. */
static const char *
begin_of(struct arena *arena, const char *tenant, const char *last)
{
	if (last != NULL)
		return arena_printf(arena, "(%s", last);
	return tenant != NULL ? arena_printf(arena, "[%s" TENANT_MARK, tenant) : "-";
}

static const char *
end_of(struct arena *arena, const char *tenant)
{
	return tenant != NULL ? arena_printf(arena, "(%s\x7f", tenant) : "+";
}

/* Of those behind last a page's. */
static enum store_status
look(struct store *store, struct arena *page, const struct assistant_wish *wish,
    const char *last, const struct value **reply_r)
{
	struct command command = { .arena = page };

	command_text(&command, "FCALL");
	command_text(&command, "fl_assistants");
	command_text(&command, "1");
	command_text(&command, KEY_OF_ALL);
	command_text(&command, begin_of(page, wish->tenant, last));
	command_text(&command, end_of(page, wish->tenant));
	command_uint(&command, page_of(wish));
	command_text(&command, wish->sees_metadata ? "1" : "");
	return store_read(store, &command, reply_r);
}

enum store_status
assistants_find(struct store *store, struct arena *arena,
    const struct assistant_wish *wish, struct assistant_list *list_r)
{
	enum store_status status = STORE_OK;
	const struct value *reply = NULL;
	const char *last = NULL;

	*list_r = (struct assistant_list){ 0 };
	do {
		struct arena *page = arena_new();

		status = look(store, page, wish, last, &reply);
		if (status == STORE_OK)
			last = choose(arena, page, wish, reply, list_r);
		else
			last = NULL;
		arena_destroy(&page);
	} while (last != NULL);
	return status;
}
