/* store_agents: agents as versions, and the tools workers have announced. */
#include "store_private.h"

static const char *
source_key(struct arena *arena, const char *version)
{
	return arena_printf(arena, "fl:agent:%s", version);
}

enum store_status
store_put_agent(struct store *store, struct arena *arena, const char *name,
    const char *version, const struct value *source)
{
	struct command command = { .arena = arena };
	struct command point = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "SET");
	command_text(&command, source_key(arena, version));
	command_value(&command, source);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	command_text(&point, "HSET");
	command_text(&point, STORE_AGENTS);
	command_text(&point, name);
	command_text(&point, version);
	return store_read(store, &point, &reply);
}

enum store_status
store_agent_version(
    struct store *store, struct arena *arena, const char *name, const char **version_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "HGET");
	command_text(&command, STORE_AGENTS);
	command_text(&command, name);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (value_is_nil(reply))
		return STORE_NONE;
	*version_r = redis_reply_text(reply);
	return STORE_OK;
}

enum store_status
store_agent_source(struct store *store, struct arena *arena, const char *version,
    const struct value **source_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "GET");
	command_text(&command, source_key(arena, version));
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	*source_r = store_decode(arena, reply);
	return *source_r != NULL ? STORE_OK : STORE_NONE;
}

static enum store_status
get_hash(struct store *store, struct arena *arena, const char *key, bool decode,
    const struct value **map_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "HGETALL");
	command_text(&command, key);
	status = store_read(store, &command, &reply);
	if (status == STORE_OK)
		*map_r = store_pairs(arena, reply, decode);
	return status;
}

enum store_status
store_agents(struct store *store, struct arena *arena, const struct value **agents_r)
{
	struct value_fields fields = { .arena = arena };
	const struct value *map;
	enum store_status status = get_hash(store, arena, STORE_AGENTS, false, &map);
	size_t i;

	if (status != STORE_OK)
		return status;
	for (i = 0; i < value_size(map); i++)
		value_fields_set(&fields, map->pairs[i].key->text,
		    value_str(arena, redis_reply_text(map->pairs[i].value)));
	*agents_r = value_fields_end(&fields);
	return STORE_OK;
}

enum store_status
store_tools(struct store *store, struct arena *arena, const struct value **tools_r)
{
	return get_hash(store, arena, STORE_TOOLS, true, tools_r);
}

enum store_status
store_put_tools(struct store *store, struct arena *arena, const struct value *tools)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	size_t i;

	if (value_size(tools) == 0)
		return STORE_OK;
	command_text(&command, "HSET");
	command_text(&command, STORE_TOOLS);
	for (i = 0; i < value_size(tools); i++) {
		command_raw(&command, tools->pairs[i].key);
		command_value(&command, tools->pairs[i].value);
	}
	return store_read(store, &command, &reply);
}
