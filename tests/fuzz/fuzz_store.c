/* What is read back from Redis: heads, orders, messages, fields, checkpoints, records, events, agents.
 * A damaged or hostile Redis may answer anything; whoever reads it gets a value to work with or a
 * word of failure, and the state and the lines for people that are made of it hold.
 *
 * The first byte says what is read; the rest is what Redis answers, reply after reply as on the wire,
 * through hiredis' reader and our conversion. The link replaces redis_call (fuzz.mk). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis_reply.h" /* before hiredis.h */

#include <hiredis/hiredis.h>

#include "bounds.h"

#include "../../cli/show.h"
#include "assistants.h"
#include "chat.h"
#include "fiber.h"
#include "json.h"
#include "loop.h"
#include "state.h"
#include "store.h"
#include "store_agents.h"
#include "store_past.h"
#include "store_fleet.h"

#define THREAD "t1"
#define RUN "r1"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
enum redis_status __wrap_redis_call(struct redis *redis, struct arena *arena,
    uint64_t wait_ms, const struct redis_arg *args, size_t count,
    const struct value **reply_r);
const char *__wrap_redis_trouble(const struct redis *redis);
struct loop *__wrap_redis_loop(const struct redis *redis);

static redisReader *reader;

static struct loop *loop; /* kept: a fiber's stack is, too */

/* --- Redis, as far as the store sees it ----------------------------------------------- */

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
	if (is_error)
		redis_reply_verdict(redis_reply_text(*reply_r));
	reader->fn->freeObject(reply);
	return is_error ? REDIS_ERROR : REDIS_OK;
}

const char *
__wrap_redis_trouble(const struct redis *redis)
{
	(void)redis;
	return "gone";
}

struct loop *
__wrap_redis_loop(const struct redis *redis)
{
	(void)redis;
	return loop;
}

/* --- what is made of it --------------------------------------------------------------- */

static void
look_at(struct arena *arena, const struct value *value)
{
	if (json_text(arena, value) == NULL)
		abort();
}

static void
show_messages(struct arena *arena, const struct value *messages)
{
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		show_message(arena, value_at(messages, i), "  ");
}

static void
show_events(struct arena *arena, const struct value *events)
{
	size_t i;

	for (i = 0; i < value_size(events); i++) {
		if (show_headline(arena, value_at(events, i)) == NULL)
			abort();
		show_event(arena, value_at(events, i), NULL, NULL);
	}
}

/* The coordinator's agent: with fields, and a todo list among them. */
static const struct spec *
agent(struct arena *arena)
{
	static const char text[] =
	    "{\"name\": \"a\", \"model\": \"scripted:m\", \"script\": {\"m\": []},"
	    " \"middleware\": [\"todo_list\"],"
	    " \"state\": {\"notes\": {\"type\": \"array\"}, \"count\": {\"type\": "
	    "\"integer\"}}}";
	const char *path = NULL, *error = NULL;
	const struct value *source = json_parse(arena, text, strlen(text), &error);
	const struct spec *spec = spec_load(arena, source, "a", &path, &error);

	if (spec == NULL) {
		fprintf(stderr, "%s: %s\n", path, error);
		abort();
	}
	return spec;
}

/* As a coordinator that has claimed the thread. */
static void
restore(struct arena *arena, const struct store_claim *claim)
{
	const struct state_stored stored = { claim->messages, false, claim->order,
		claim->fields, NULL };
	struct state *state = state_new(agent(arena));
	struct state_changes changes;
	const char *error;

	state_restore(state, &stored);
	if (state_begin(state, arena, "r2-0", NULL, &error) == 0) {
		state_changes(state, arena, &changes);
		look_at(arena, changes.messages);
		look_at(arena, changes.order);
	}
	look_at(arena, state_messages(state));
	look_at(arena, state_output(state, arena));
	state_destroy(&state);
}

/* --- reading -------------------------------------------------------------------------- */

static void
read_claim(struct store *store, struct arena *arena)
{
	struct store_claim claim = { .run = NULL };
	enum store_status status = store_claim(store, arena, THREAD, 1500, &claim);

	if (status == STORE_QUARANTINED && strlen(claim.run) == 0)
		abort();
	if (status != STORE_OK)
		return;
	if (strlen(claim.run) == 0)
		abort();
	look_at(arena, claim.head);
	look_at(arena, claim.order);
	look_at(arena, claim.results);
	restore(arena, &claim);
}

static void
read_thread(struct store *store, struct arena *arena)
{
	const struct value *thread;

	if (store_thread(store, arena, THREAD, &thread) != STORE_OK)
		return;
	look_at(arena, thread);
	show_messages(arena, value_get(thread, "messages"));
	show_todos(arena, value_get(value_get(thread, "fields"), "todos"), "  ");
}

static void
read_run(struct store *store, struct arena *arena)
{
	const struct value *record;

	if (store_run(store, arena, THREAD, RUN, &record) == STORE_OK)
		look_at(arena, record);
}

static void
read_messages(struct store *store, struct arena *arena)
{
	const struct value *messages;

	if (store_messages(store, arena, THREAD, 0, 10, &messages) == STORE_OK)
		show_messages(arena, messages);
}

static void
read_history(struct store *store, struct arena *arena)
{
	const struct value *history;

	if (store_history(store, arena, THREAD, &history) == STORE_OK)
		look_at(arena, history);
}

static void
read_events(struct store *store, struct arena *arena)
{
	const struct value *events;

	if (store_events(store, arena, THREAD, RUN, 0, 0, &events) == STORE_OK)
		show_events(arena, events);
}

static void
read_runs(struct store *store, struct arena *arena)
{
	const struct value *runs;

	if (store_runs(store, arena, 10, "error", &runs) == STORE_OK)
		look_at(arena, runs);
	if (store_dead(store, arena, 10, &runs) == STORE_OK)
		look_at(arena, runs);
}

static void
read_agents(struct store *store, struct arena *arena)
{
	const struct value *source, *names, *tools;
	const char *version, *path, *error;

	if (store_agent_version(store, arena, "a", &version) == STORE_OK &&
	    strlen(version) > 0 &&
	    store_agent_source(store, arena, version, &source) == STORE_OK)
		spec_load(arena, source, "a", &path, &error);
	if (store_agents(store, arena, &names) == STORE_OK)
		look_at(arena, names);
	if (store_agent_log(store, arena, "a", &names) == STORE_OK)
		look_at(arena, names);
	if (store_tools(store, arena, &tools) == STORE_OK)
		look_at(arena, tools);
}

static void
look_at_assistant(struct arena *arena, const struct assistant *assistant)
{
	if (strlen(assistant->agent) + strlen(assistant->name) == 0)
		return;
	look_at(arena, assistant->config);
	look_at(arena, assistant->context);
	look_at(arena, assistant->metadata);
}

static void
read_assistants(struct store *store, struct arena *arena)
{
	struct assistant_wish wish = { .sees_metadata = true };
	struct assistant_list list;
	struct assistant assistant;
	size_t i;

	if (assistants_read(store, arena, "a", &assistant) == STORE_OK)
		look_at_assistant(arena, &assistant);
	if (assistants_find(store, arena, &wish, &list) != STORE_OK)
		return;
	for (i = 0; i < list.count; i++)
		if (strlen(list.items[i].id) + strlen(list.items[i].name) == SIZE_MAX)
			abort();
}

struct question {
	struct store *store;
	struct arena *arena;
};

static void
counts_main(void *arg)
{
	const struct question *question = arg;
	const struct value *counts;

	if (store_counts(question->store, question->arena, &counts) == STORE_OK)
		look_at(question->arena, counts);
}

static bool
is_quiet(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

/* Asks all shards at once, each on a fiber. */
static void
read_counts(struct store *store, struct arena *arena)
{
	struct question question = { store, arena };

	if (loop == NULL)
		loop = loop_new();
	if (fiber_start(loop, "counts", counts_main, &question) == NULL)
		abort();
	loop_run_until(loop, is_quiet, NULL);
}

static void
read_sweep(struct store *store, struct arena *arena)
{
	struct store_renewed renewed = { .lapsed = false };
	const struct value *threads;

	if (store_sweep(store, arena, 3, 10, &threads) == STORE_OK)
		look_at(arena, threads);
	if (store_renew(store, arena, 3, 1500, &renewed) == STORE_OK)
		look_at(arena, renewed.cancels);
	store_cancel_wanted(store, arena, THREAD, RUN);
}

static void
read_commit(struct store *store, struct arena *arena)
{
	const struct store_commit commit = { .thread = THREAD,
		.run = RUN,
		.epoch = 3,
		.version = 7,
		.id = "r1-7",
		.status = "running" };
	struct store_committed committed = { .version = 0 };
	const char *answer = NULL, *status = NULL;
	int64_t before;

	store_commit(store, arena, &commit, &committed);
	store_submit(store, arena, THREAD, RUN, value_empty_map(), &before);
	if (store_cancel(store, arena, THREAD, RUN, &answer, &status) == STORE_OK &&
	    strlen(answer) == 0)
		abort();
	store_run_thread(store, arena, RUN, &answer);
	store_retry(store, arena,
	    &(struct store_retry){ THREAD, RUN, "r9", "v", 1, value_empty_map() },
	    &answer);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* What is made for people is made, and nobody reads it. */
	return freopen("/dev/null", "w", stdout) == NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(struct store * store, struct arena * arena) = {
		read_claim,
		read_thread,
		read_run,
		read_messages,
		read_history,
		read_events,
		read_runs,
		read_agents,
		read_counts,
		read_sweep,
		read_commit,
		read_assistants,
	};
	struct arena *arena;
	struct store *store;

	if (size == 0)
		return 0;
	arena = arena_new();
	store = store_new(NULL, 0);
	store_act_as(store, "0123456789abcdef0123456789abcdef", "fuzzed");
	reader = redisReaderCreate();
	redis_reply_bound(reader, REDIS_REPLY_BYTES_MAX);
	redisReaderFeed(reader, (const char *)data + 1, size - 1);
	readers[data[0] % (sizeof readers / sizeof readers[0])](store, arena);
	redisReaderFree(reader);
	store_destroy(&store);
	arena_destroy(&arena);
	return 0;
}
