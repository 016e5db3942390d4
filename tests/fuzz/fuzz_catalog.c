/* What workers say they serve, as a coordinator hears it through several brokers: offers, withdrawals,
 * catalogs of tools that are none. What is served adds up, and a tool that is known has a
 * definition that models can be given. Redis takes nothing of it (fuzz.mk). */
#include <stdlib.h>
#include <string.h>

#include "../../coordinator/catalog.h"
#include "bytes.h"
#include "json.h"
#include "log.h"
#include "fiber.h"

#define LINKS 3u
#define STEPS_MAX 60u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
enum redis_status __wrap_redis_call(struct redis *redis, struct arena *arena,
    uint64_t wait_ms, const struct redis_arg *args, size_t count,
    const struct value **reply_r);
const char *__wrap_redis_trouble(const struct redis *redis);

enum redis_status
__wrap_redis_call(struct redis *redis, struct arena *arena, uint64_t wait_ms,
    const struct redis_arg *args, size_t count, const struct value **reply_r)
{
	(void)redis;
	(void)wait_ms;
	(void)args;
	(void)count;
	*reply_r = value_str(arena, "MISCONF it cannot be written");
	return REDIS_ERROR;
}

const char *
__wrap_redis_trouble(const struct redis *redis)
{
	(void)redis;
	return "gone";
}

static void
offer(struct catalog *catalog, struct bytes *bytes, struct arena *arena, uint32_t link)
{
	static const enum message_type types[] = { MSG_OFFER, MSG_HELLO, 0 };
	const struct header *header = bytes_message_of(bytes, arena, types);
	struct parts parts = { .count = 0 };
	struct packet packet = { 0 };
	const struct value *tools;
	const char *text, *error;
	size_t size;

	if (header == NULL)
		return;
	/* Bytes as they are, or the msgpack of a JSON text: mutations understand that. */
	text = bytes_text(bytes, arena, 2000, &size);
	tools = json_parse(arena, text, size, &error);
	if (tools != NULL) {
		value_pack(&packet, tools);
		parts_add_packet(&parts, &packet);
	} else {
		parts_add(&parts, text, size);
	}
	catalog_offer(catalog, link, header, &parts);
	parts_release(&parts);
}

static void
any_step(struct catalog *catalog, struct bytes *bytes, struct arena *arena)
{
	static const enum message_type types[] = { MSG_WITHDRAW, 0 };
	uint32_t link = (uint32_t)bytes_number(bytes, LINKS);
	const struct header *header;

	switch (bytes_number(bytes, 6)) {
	case 0:
		catalog_up(catalog, link);
		break;
	case 1:
		catalog_down(catalog, link);
		break;
	case 2:
		header = bytes_message_of(bytes, arena, types);
		if (header != NULL)
			catalog_withdraw(catalog, link, header);
		break;
	default:
		offer(catalog, bytes, arena, link);
		break;
	}
}

static void
check_tools(struct arena *arena, const struct catalog *catalog)
{
	const struct value *tools = catalog_tools(catalog);
	size_t i;

	if (!value_is(tools, VALUE_MAP))
		abort();
	for (i = 0; i < tools->size; i++) {
		const struct value *tool = tools->pairs[i].value;

		if (!value_is(tool, VALUE_MAP) ||
		    !value_equal(value_get(tool, "name"), tools->pairs[i].key))
			abort();
	}
	catalog_nearest(catalog, arena, "tool:serach");
}

static bool
is_quiet(void *loop)
{
	return fiber_count(loop) == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *loop;
	struct bytes bytes = { data, size };
	struct store *store = store_new(NULL, 0);
	struct catalog *catalog;
	unsigned steps;

	if (loop == NULL) {
		log_open("fuzzed", LOG_LEVEL_ERROR);
		loop = loop_new();
	}
	catalog = catalog_new(loop, store);
	for (steps = 0; bytes.left > 0 && steps < STEPS_MAX; steps++) {
		struct arena *arena = arena_new();

		any_step(catalog, &bytes, arena);
		check_tools(arena, catalog);
		arena_destroy(&arena);
	}
	loop_run_until(loop, is_quiet, loop);
	catalog_destroy(&catalog);
	store_destroy(&store);
	return 0;
}
