/* store: keys, commands. */
#include "store_private.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "warm.h"

#define FNV_OFFSET 2166136261u
#define FNV_PRIME 16777619u

/* The function library: these files, one behind the other; fleet.lua begins it. What a LEAF defines is its own, in a block: Lua has
 * room for 200 locals in one function, and all of the library is one. */
#define PARTS(PART, LEAF)                                                                \
	PART(fleet)                                                                      \
	PART(line)                                                                       \
	PART(blame)                                                                      \
	PART(own)                                                                        \
	PART(submit)                                                                     \
	PART(inbox)                                                                      \
	PART(shard)                                                                      \
	LEAF(items)                                                                      \
	LEAF(webhooks)                                                                   \
	LEAF(agents)                                                                     \
	PART(threads)                                                                    \
	LEAF(chores)                                                                     \
	LEAF(crons)                                                                      \
	LEAF(assistants)

#define DECLARE(name)                                                                    \
	extern const char _binary_store_##name##_lua_start[],                            \
	    _binary_store_##name##_lua_end[];
PARTS(DECLARE, DECLARE)

const char *
store_library(void)
{
	static const struct {
		const char *begin, *end;
		bool is_leaf;
	} parts[] = {
#define TEXT(name) _binary_store_##name##_lua_start, _binary_store_##name##_lua_end
#define PART(name) { TEXT(name), false },
#define LEAF(name) { TEXT(name), true },
		PARTS(PART, LEAF)
	};
	static char *library;
	struct packet text = { 0 };
	size_t i;

	if (library != NULL)
		return library;
	for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		if (parts[i].is_leaf)
			packet_append(&text, "do\n", 3);
		packet_append(
		    &text, parts[i].begin, (size_t)(parts[i].end - parts[i].begin));
		if (parts[i].is_leaf)
			packet_append(&text, "end\n", 4);
	}
	packet_append(&text, "", 1);
	library = text.data;
	return library;
}

unsigned
store_shard(const char *thread)
{
	uint32_t hash = FNV_OFFSET;

	for (; *thread != '\0'; thread++)
		hash = (hash ^ (unsigned char)*thread) * FNV_PRIME;
	return hash % SHARDS;
}

const char *
store_prefix(struct arena *arena, unsigned shard)
{
	return arena_printf(arena, "fl:{s%u}:", shard);
}

const char *
store_thread_key(struct arena *arena, const char *thread)
{
	return arena_printf(arena, "fl:{s%u}:t:%s", store_shard(thread), thread);
}

const char *
store_run_key(struct arena *arena, const char *thread, const char *run)
{
	return arena_printf(arena, "fl:{s%u}:r:%s", store_shard(thread), run);
}

struct store *
store_new(struct redis *redis, uint64_t wait_ms)
{
	struct store *store = xcalloc(1, sizeof *store);

	store->redis = redis;
	store->wait_ms = wait_ms;
	TAILQ_INIT(&store->embeddings);
	return store;
}

void
store_destroy(struct store **store_p)
{
	if ((*store_p)->warm != NULL)
		warm_destroy(&(*store_p)->warm);
	free((*store_p)->session);
	free((*store_p)->name);
	free(*store_p);
	*store_p = NULL;
}

void
store_act_as(struct store *store, const char *session, const char *name)
{
	free(store->session);
	free(store->name);
	store->session = xstrdup(session);
	store->name = xstrdup(name);
}

const char *
store_error(const struct store *store)
{
	return store->error;
}

bool
store_is_gone(const struct store *store)
{
	return store->gone;
}

struct redis *
store_redis(const struct store *store)
{
	return store->redis;
}

void
store_keep_warm(struct store *store, size_t bytes_max)
{
	assert(store->warm == NULL);
	store->warm = warm_new(bytes_max);
}

struct warm *
store_warm(const struct store *store)
{
	return store->warm;
}

void
store_want_replicas(struct store *store, unsigned replicas, uint64_t ms)
{
	store->replicas = replicas;
	store->replicas_ms = ms;
}

bool
store_lacks_replicas(const struct store *store)
{
	return store->lacking > 0;
}

enum store_status
store_fail(struct store *store, const char *format, ...)
{
	va_list args;

	store->gone = false;
	va_start(args, format);
	vsnprintf(store->error, sizeof store->error, format, args);
	va_end(args);
	return STORE_FAILED;
}

enum store_status
store_damaged(struct store *store, const char *reason)
{
	store_fail(store, "%s", reason);
	return STORE_DAMAGED;
}

/* --- commands ----------------------------------------------------------------------- */

void
command_add(struct command *command, const void *data, size_t size)
{
	if (command->count == command->room) {
		size_t room = command->room == 0 ? 32 : 2 * command->room;
		struct redis_arg *args = arena_alloc(command->arena, room * sizeof *args);

		if (command->count > 0)
			memcpy(args, command->args, command->count * sizeof *args);
		command->args = args;
		command->room = room;
	}
	command->args[command->count].data = size > 0 ? data : "";
	command->args[command->count].size = size;
	command->count++;
}

void
command_text(struct command *command, const char *text)
{
	if (text == NULL)
		text = "";
	command_add(command, text, strlen(text));
}

void
command_uint(struct command *command, uint64_t number)
{
	char digits[20], *at = digits + sizeof digits;
	size_t size;

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	size = (size_t)(digits + sizeof digits - at);
	command_add(command, arena_copy(command->arena, at, size), size);
}

void
command_value(struct command *command, const struct value *value)
{
	if (value == NULL) {
		command_add(command, "", 0);
		return;
	}
	if (value->packed == NULL)
		value = value_freeze(command->arena, value);
	command_add(command, value->packed, value->packed_size);
}

void
command_raw(struct command *command, const struct value *value)
{
	if (value_is(value, VALUE_STR) || value_is(value, VALUE_BIN))
		command_add(command, value->text, value->size);
	else
		command_value(command, value);
}

void
command_fields(struct command *command, const struct value *fields)
{
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		command_raw(command, fields->pairs[i].key);
		command_raw(command, fields->pairs[i].value);
	}
}

void
command_function(
    struct command *command, const char *function, const char *key, unsigned shard)
{
	command_text(command, "FCALL");
	command_text(command, function);
	command_text(command, "1");
	command_text(command, key);
	command_text(command, store_prefix(command->arena, shard));
}

/* A key is not what it must be, and will not be next time. */
static bool
is_wrong_type(const struct value *reply)
{
	const char *text = redis_reply_text(reply);

	return text != NULL && strncmp(text, "WRONGTYPE ", strlen("WRONGTYPE ")) == 0;
}

enum store_status
store_send(struct store *store, const struct command *command,
    const struct value **reply_r, bool *lost_r)
{
	if (lost_r != NULL)
		*lost_r = false;
	switch (redis_call(store->redis, command->arena, store->wait_ms, command->args,
	    command->count, reply_r)) {
	case REDIS_OK:
		return STORE_OK;
	case REDIS_CANCELLED:
		return STORE_CANCELLED;
	case REDIS_LOST:
		if (lost_r != NULL)
			*lost_r = true;
		/* fall through */
	case REDIS_AWAY:
		store_fail(store, "Redis is gone: %s", redis_trouble(store->redis));
		store->gone = true;
		return STORE_FAILED;
	case REDIS_ERROR:
	default:
		store_fail(store, "Redis refused %.*s: %s", (int)command->args[0].size,
		    (const char *)command->args[0].data, redis_reply_text(*reply_r));
		return is_wrong_type(*reply_r) ? STORE_DAMAGED : STORE_FAILED;
	}
}

enum store_status
store_ask(struct store *store, const struct command *command,
    const struct value **reply_r, bool *again_r)
{
	bool lost;
	enum store_status status = store_send(store, command, reply_r, &lost);

	/* An answer lost on the way deserves one more try. */
	*again_r = status == STORE_FAILED && lost;
	return *again_r ? store_send(store, command, reply_r, &lost) : status;
}

enum store_status
store_read(
    struct store *store, const struct command *command, const struct value **reply_r)
{
	bool again;

	return store_ask(store, command, reply_r, &again);
}

const struct value *
store_decode(struct arena *arena, const struct value *bytes)
{
	const struct value *value;
	const char *error;

	if (!value_is(bytes, VALUE_BIN) || bytes->size == 0)
		return NULL;
	if (value_unpack(arena, bytes->text, bytes->size, &value, &error) == -1)
		return NULL;
	return value;
}

const struct value *
store_pairs(struct arena *arena, const struct value *flat, bool decode)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i + 1 < value_size(flat); i += 2) {
		const struct value *value = value_at(flat, i + 1);

		if (decode)
			value = store_decode(arena, value);
		if (store_text_at(flat, i) != NULL)
			value_fields_set(&fields, store_text_at(flat, i), value);
	}
	return value_fields_end(&fields);
}

bool
store_answers(const struct value *reply, const char *word)
{
	const char *text = store_text_at(reply, 0);

	return text != NULL && strcmp(text, word) == 0;
}

int64_t
store_number_at(const struct value *reply, size_t index)
{
	const struct value *number = value_at(reply, index);

	return value_is(number, VALUE_INT) ? number->integer : 0;
}

const char *
store_text_at(const struct value *reply, size_t index)
{
	return redis_reply_text(value_at(reply, index));
}

const struct value *
store_texts(struct arena *arena, const struct value *reply)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(reply); i++)
		if (store_text_at(reply, i) != NULL)
			value_list_add(&list, value_str(arena, store_text_at(reply, i)));
	return value_list_end(&list);
}

enum store_status
store_odd(struct store *store, const struct value *reply)
{
	const char *text = redis_reply_text(reply);

	if (text == NULL)
		text = store_text_at(reply, 0);
	return store_fail(store, "Redis answered what makes no sense here: %.64s",
	    text != NULL ? text : "no text");
}
