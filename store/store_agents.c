/* store_agents: agents as versions, and the tools workers have announced. */
#include "store_agents.h"

#include <inttypes.h>

#include "store_private.h"

static const char *
source_key(struct arena *arena, const char *version)
{
	return arena_printf(arena, "fl:agent:%s", version);
}

static const char *
log_key(struct arena *arena, const char *name)
{
	return arena_printf(arena, "fl:agents:log:%s", name);
}

static enum store_status
put_source(struct store *store, struct arena *arena, const char *version,
    const struct value *source)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_text(&command, "SET");
	command_text(&command, source_key(arena, version));
	command_value(&command, source);
	return store_read(store, &command, &reply);
}

enum store_status
store_keep_source(struct store *store, struct arena *arena, const char *version,
    const struct value *source)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "EXISTS");
	command_text(&command, source_key(arena, version));
	status = store_read(store, &command, &reply);
	if (status != STORE_OK || (value_is(reply, VALUE_INT) && reply->integer == 1))
		return status;
	return put_source(store, arena, version, source);
}

enum store_status
store_apply_agent(struct store *store, struct arena *arena,
    const struct store_apply *apply, uint64_t *number_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status = STORE_OK;

	if (apply->source != NULL)
		status = put_source(store, arena, apply->version, apply->source);
	if (status != STORE_OK)
		return status;
	command_text(&command, "FCALL");
	command_text(&command, "fl_agent_apply");
	command_text(&command, "2");
	command_text(&command, STORE_AGENTS);
	command_text(&command, log_key(arena, apply->name));
	command_text(&command, apply->name);
	command_text(&command, apply->version);
	command_text(&command, apply->by);
	command_text(&command, apply->comment);
	command_uint(&command, apply->back_to);
	command_text(&command, arena_printf(arena, "%" PRId64, apply->expected));
	status = store_send(store, &command, &reply, NULL);
	if (status != STORE_OK)
		return status;
	*number_r = (uint64_t)store_number_at(reply, 1);
	if (store_answers(reply, "SAME"))
		return STORE_KNOWN;
	if (store_answers(reply, "NONE"))
		return STORE_NONE;
	if (store_answers(reply, "MOVED"))
		return STORE_STALE;
	return store_answers(reply, "OK") ? STORE_OK : store_odd(store, reply);
}

enum store_status
store_agent_log(struct store *store, struct arena *arena, const char *name,
    const struct value **log_r)
{
	struct command command = { .arena = arena };
	struct value_list list = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	command_text(&command, "LRANGE");
	command_text(&command, log_key(arena, name));
	command_text(&command, "0");
	command_text(&command, "-1");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	for (i = 0; i < value_size(reply); i++) {
		const struct value *entry = store_decode(arena, value_at(reply, i));

		value_list_add(
		    &list, value_is(entry, VALUE_MAP) ? entry : value_empty_map());
	}
	*log_r = value_list_end(&list);
	return STORE_OK;
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
	if (redis_reply_text(reply) == NULL)
		return store_odd(store, reply);
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

enum store_status
store_has_tools(struct store *store, struct arena *arena)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "EXISTS");
	command_text(&command, STORE_TOOLS);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	return value_is(reply, VALUE_INT) && reply->integer == 0 ? STORE_NONE : STORE_OK;
}

enum store_status
store_tools_seen(struct store *store, struct arena *arena, const struct value *names,
    uint64_t keep_ms, const struct value **missing_r)
{
	struct command command = { .arena = arena };
	enum store_status status;
	size_t i;

	command_text(&command, "FCALL");
	command_text(&command, "fl_tools_seen");
	command_text(&command, "2");
	command_text(&command, STORE_TOOLS);
	command_text(&command, STORE_TOOLS_SEEN);
	command_uint(&command, keep_ms);
	for (i = 0; i < value_size(names); i++)
		command_raw(&command, value_at(names, i));
	status = store_send(store, &command, missing_r, NULL);
	if (status != STORE_OK)
		return status;
	return value_is(*missing_r, VALUE_ARRAY) ? STORE_OK
						 : store_odd(store, *missing_r);
}
