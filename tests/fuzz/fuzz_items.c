/* Long-term memory: whatever an agent asks of it, and whatever Redis answers, there is an answer or a fault.
 *
 * The first line is the operation, as JSON; the rest is what Redis answers, reply after reply as on the
 * wire. The link replaces redis_call (fuzz.mk). Texts become vectors of three numbers. */
#include <stdlib.h>
#include <string.h>

#include "redis_reply.h" /* before hiredis.h */

#include <hiredis/hiredis.h>

#include "bounds.h"

#include "embed.h"
#include "fiber.h"
#include "items.h"
#include "json.h"
#include "vector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
enum redis_status __wrap_redis_call(struct redis *redis, struct arena *arena,
    uint64_t wait_ms, const struct redis_arg *args, size_t count,
    const struct value **reply_r);
const char *__wrap_redis_trouble(const struct redis *redis);
struct fiber *__wrap_fiber_start(
    struct loop *loop, const char *name, void (*run)(void *arg), void *arg);
int __wrap_fiber_sleep(uint64_t ms);
int __wrap_fiber_yield(void);
struct loop *__wrap_fiber_loop(void);
void __wrap_fiber_shield(bool on);
uint64_t __wrap_loop_now_ms(const struct loop *loop);

static redisReader *reader;

enum redis_status
__wrap_redis_call(struct redis *redis, struct arena *arena, uint64_t wait_ms,
    const struct redis_arg *args, size_t count, const struct value **reply_r)
{
	void *reply = NULL;
	bool is_error;

	(void)redis;
	(void)wait_ms;
	(void)args;
	(void)count;
	if (redisReaderGetReply(reader, &reply) != REDIS_OK || reply == NULL)
		return REDIS_LOST;
	*reply_r = redis_reply_value(arena, reply);
	is_error = redis_reply_is_error(reply);
	reader->fn->freeObject(reply);
	return is_error ? REDIS_ERROR : REDIS_OK;
}

const char *
__wrap_redis_trouble(const struct redis *redis)
{
	(void)redis;
	return "gone";
}

/* There is no room for fibers, and nothing to wait for. */
struct fiber *
__wrap_fiber_start(struct loop *loop, const char *name, void (*run)(void *arg), void *arg)
{
	(void)loop;
	(void)name;
	(void)run;
	(void)arg;
	return NULL;
}

int
__wrap_fiber_sleep(uint64_t ms)
{
	(void)ms;
	return 0;
}

int
__wrap_fiber_yield(void)
{
	return 0;
}

struct loop *
__wrap_fiber_loop(void)
{
	return NULL;
}

uint64_t
__wrap_loop_now_ms(const struct loop *loop)
{
	(void)loop;
	return 0;
}

void
__wrap_fiber_shield(bool on)
{
	(void)on;
}

static const struct value *
embed(void *arg, struct arena *arena, const char *model, const struct value *texts)
{
	struct value_list vectors = { .arena = arena };
	size_t i;

	(void)arg;
	for (i = 0; i < value_size(texts); i++) {
		const struct value *text = value_at(texts, i);
		const struct value *numbers[] = { value_int(arena, text->size),
			value_int(arena, text->size > 0 ? text->text[0] : 0),
			value_int(arena, 1) };

		value_list_add(
		    &vectors, vector_new(arena, value_array(arena, numbers, 3)));
	}
	return value_map(arena, "model",
	    value_str(arena, model != NULL ? model : "fuzz:m"), "fields",
	    value_empty_array(), "vectors", value_list_end(&vectors), NULL);
}

static void
check_found(const struct value *items, bool by_meaning)
{
	double last = 1.001;
	size_t i;

	for (i = 0; i < value_size(items); i++) {
		const struct value *item = value_at(items, i);
		double score = value_number(value_get(item, "score"), 2);

		if (!value_is(value_get(item, "value"), VALUE_MAP) &&
		    value_get(item, "value") == NULL)
			abort();
		if (value_get_text(item, "key") == NULL)
			abort();
		if (by_meaning && score > last)
			abort();
		last = score;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t op_size = end != NULL ? (size_t)(end - data) : size;
	struct arena *arena = arena_new();
	struct store *store = store_new(NULL, 0);
	const struct value *op, *answer;
	const char *error = NULL;

	op = json_parse(arena, (const char *)data, op_size, &error);
	reader = redisReaderCreate();
	redis_reply_bound(reader, REDIS_REPLY_BYTES_MAX);
	if (end != NULL)
		redisReaderFeed(reader, (const char *)end + 1, size - op_size - 1);
	store_embed_with(store, embed, NULL);
	if (op != NULL) {
		answer = items_do(store, arena, op);
		if (answer == NULL || json_text(arena, answer) == NULL)
			abort();
		check_found(value_get(answer, "items"), value_has(op, "query"));
	}
	redisReaderFree(reader);
	store_destroy(&store);
	arena_destroy(&arena);
	return 0;
}
