#include "verdict.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "literal.h"
#include "patience.h"
#include "store_past.h"

/* Of the tools' answers only the first words are given: a call that must not run twice may
 * have been lost, and its answer says so. */
static const char expected_messages[] =
    "[{'type': 'human'},"
    " {'type': 'ai', 'content': 'Two notes first.', 'tool_calls': ["
    "  {'id': 'a', 'name': 'note', 'args': {'text': 'alpha', 'seconds': 0.4}},"
    "  {'id': 'b', 'name': 'note', 'args': {'text': 'beta', 'seconds': 0.2}}]},"
    " {'type': 'tool', 'tool_call_id': 'a', 'name': 'note', 'content': 'noted alpha'},"
    " {'type': 'tool', 'tool_call_id': 'b', 'name': 'note', 'content': 'noted beta'},"
    " {'type': 'ai', 'content': '', 'tool_calls': ["
    "  {'id': 'c', 'name': 'note', 'args': {'text': 'gamma', 'seconds': 0.3}},"
    "  {'id': 'd', 'name': 'note', 'args': {'text': 'delta', 'seconds': 0.1}}]},"
    " {'type': 'tool', 'tool_call_id': 'c', 'name': 'note', 'content': 'noted gamma'},"
    " {'type': 'tool', 'tool_call_id': 'd', 'name': 'note', 'content': 'noted delta'},"
    " {'type': 'ai', 'content': 'All is noted.'}]";

static const char *const expected_nodes[] = { "model", "tools", "model", "tools",
	"model" };
#define NODE_COUNT (sizeof expected_nodes / sizeof *expected_nodes)

const char *
verdict_input(struct arena *arena, unsigned number)
{
	return arena_printf(arena, "Take notes, %u.", number);
}

/* --- messages --------------------------------------------------------------------------- */

static void
check_calls(unsigned number, const struct value *expected, const struct value *calls)
{
	size_t i;

	ck_assert_msg(value_size(calls) == value_size(expected),
	    "run %u: %zu tool calls instead of %zu", number, value_size(calls),
	    value_size(expected));
	for (i = 0; i < value_size(expected); i++) {
		const struct value *call = value_at(calls, i),
				   *one = value_at(expected, i);

		ck_assert_msg(
		    value_equal(value_get(call, "id"), value_get(one, "id")) &&
			value_equal(value_get(call, "name"), value_get(one, "name")) &&
			value_equal(value_get(call, "args"), value_get(one, "args")),
		    "run %u: call %zu is another", number, i);
	}
}

/* A lost call of a tool that must not run twice is told to the model, and nothing is made
 * up. Notes it. */
static bool
is_told_lost(struct storm *storm, const struct value *message)
{
	const struct value *artifact = value_get(message, "artifact");

	if (!storm->plan->once_tools ||
	    !value_text_is(value_get(message, "status"), "error") ||
	    !value_get_bool(artifact, "uncertain", false))
		return false;
	value_list_add(&storm->told, value_get(artifact, "call"));
	return true;
}

static void
check_message(struct storm *storm, unsigned number, const struct value *expected,
    const struct value *message)
{
	static const char *const fields[] = { "type", "content", "tool_call_id", "name" };
	bool lost = is_told_lost(storm, message);
	size_t i;

	for (i = 0; i < sizeof fields / sizeof *fields; i++)
		ck_assert_msg(value_get(expected, fields[i]) == NULL ||
				  (lost && strcmp(fields[i], "content") == 0) ||
				  value_equal(value_get(message, fields[i]),
				      value_get(expected, fields[i])),
		    "run %u: a message is %s", number, json_text(storm->arena, message));
	check_calls(
	    number, value_get(expected, "tool_calls"), value_get(message, "tool_calls"));
	if (value_has(expected, "tool_call_id") && !lost)
		ck_assert_msg(value_text_is(value_get(message, "status"), "success"),
		    "run %u: a tool message is %s", number,
		    json_text(storm->arena, message));
}

static void
check_messages(struct storm *storm, unsigned number, const struct value *messages)
{
	const struct value *expected = literal(storm->arena, expected_messages);
	size_t i;

	ck_assert_msg(value_size(messages) == value_size(expected),
	    "run %u: the messages are %s", number, json_text(storm->arena, messages));
	ck_assert_str_eq(value_get_text(value_at(messages, 0), "content"),
	    verdict_input(storm->arena, number));
	for (i = 0; i < value_size(expected); i++)
		check_message(
		    storm, number, value_at(expected, i), value_at(messages, i));
}

unsigned
verdict_events(const struct storm *storm)
{
	return VERDICT_EVENTS + (storm->plan->everything ? VERDICT_HOOKS : 0);
}

/* --- events and checkpoints --------------------------------------------------------------- */

/* step: of those that are told, from 1; node: of those that no middleware's hook is. */
static void
check_step(unsigned number, const struct value *event, size_t step, size_t node)
{
	const char *told = value_get_text(event, "node");

	ck_assert_msg(
	    value_get_int(event, "step", -1) == (int64_t)step &&
		(strchr(told, '.') != NULL || strcmp(told, expected_nodes[node]) == 0),
	    "run %u: superstep %zu is told as %s of step %d", number, step, told,
	    (int)value_get_int(event, "step", -1));
}

static bool
is_hook(const struct storm *storm, const struct value *event)
{
	const char *node = value_get_text(event, "node");

	return storm->plan->everything && node != NULL && strchr(node, '.') != NULL;
}

/* told: how many of its calls the model was told to be lost. */
static void
check_events(struct storm *storm, unsigned number, size_t told)
{
	static const char *const kinds[VERDICT_EVENTS] = { "queued", "started", "step",
		"step", "step", "step", "step", "finished" };
	const struct value *events = NULL;
	size_t i, at = 0, steps = 0;

	ck_assert_int_eq(
	    store_events(storm->client->store, storm->arena, storm_thread(storm, number),
		storm_run(storm, number), 0, 0, &events),
	    STORE_OK);
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		ck_assert_int_eq(value_get_int(event, "seq", 0), (int64_t)i + 1);
		/* A lost call is told to those who watch, too. */
		if (told > 0 && value_text_is(value_get(event, "kind"), "uncertain")) {
			told--;
			continue;
		}
		if (is_hook(storm, event)) {
			check_step(number, event, ++steps, 0);
			continue;
		}
		ck_assert_msg(at < VERDICT_EVENTS &&
				  value_text_is(value_get(event, "kind"), kinds[at]),
		    "run %u: events are %s", number, json_text(storm->arena, events));
		if (strcmp(kinds[at], "step") == 0)
			check_step(number, event, ++steps, at - 2);
		at++;
	}
	ck_assert_msg(at == VERDICT_EVENTS && told == 0, "run %u: events are %s", number,
	    json_text(storm->arena, events));
}

/* All messages are in the checkpoints, once, and each checkpoint begins where the one before
 * it ended. */
void
verdict_history(struct storm *storm, unsigned number, const struct value *thread)
{
	const struct value *history = NULL;
	int64_t stored = 0;
	size_t i;

	ck_assert_int_eq(store_history(storm->client->store, storm->arena,
			     storm_thread(storm, number), &history),
	    STORE_OK);
	for (i = 0; i < value_size(history); i++) {
		const struct value *checkpoint = value_at(history, i);

		ck_assert_int_eq(value_get_int(checkpoint, "version", 0), (int64_t)i + 1);
		if (value_get_int(checkpoint, "count", 0) > 0)
			ck_assert_int_eq(value_get_int(checkpoint, "first", -1), stored);
		stored += value_get_int(checkpoint, "count", 0);
	}
	ck_assert_int_eq(
	    value_get_int(thread, "version", 0), (int64_t)value_size(history));
	ck_assert_int_eq(stored, (int64_t)value_size(value_get(thread, "messages")));
}

static void
check_run(struct storm *storm, unsigned number)
{
	struct store *store = storm->client->store;
	const char *run = storm_run(storm, number), *thread = storm_thread(storm, number);
	const struct value *record = NULL, *state = NULL;
	size_t told = storm->told.count;

	ck_assert_int_eq(store_run(store, storm->arena, thread, run, &record), STORE_OK);
	ck_assert_int_eq(store_thread(store, storm->arena, thread, &state), STORE_OK);
	ck_assert_msg(value_text_is(value_get(record, "status"), "success"),
	    "run %u: %s %s", number, value_get_text(record, "status"),
	    json_text(storm->arena, value_get(record, "fault")));
	ck_assert_str_eq(value_get_text(state, "run"), "");
	check_messages(storm, number, value_get(state, "messages"));
	check_events(storm, number, storm->told.count - told);
	verdict_history(storm, number, state);
}

/* --- leftovers ---------------------------------------------------------------------------- */

static const struct value *
ask(struct storm *storm, const char *verb, const char *key)
{
	const struct value *reply = NULL;

	ck_assert_int_eq(redis_text(storm->client->redis, storm->arena, STORM_WAIT_MS,
			     &reply, verb, key, NULL),
	    REDIS_OK);
	return reply;
}

/* Entries are deleted, leases run out, and who looks at a shard finds that no child is left to be cancelled, a moment after the
 * runs have ended. */
static bool
is_tidy(void *arg)
{
	struct storm *storm = arg;
	const struct value *pending = NULL;
	unsigned shard;

	if (ask(storm, "XLEN", STORE_INBOX)->integer != 0)
		return false;
	redis_text(storm->client->redis, storm->arena, STORM_WAIT_MS, &pending,
	    "XPENDING", STORE_INBOX, STORE_INBOX_GROUP, NULL);
	if (value_at(pending, 0)->integer != 0)
		return false;
	for (shard = 0; shard < SHARDS; shard++) {
		const char *prefix = store_prefix(storm->arena, shard);
		const char *due = arena_printf(storm->arena, "%sdue", prefix);
		const char *leases = arena_printf(storm->arena, "%sleases", prefix);
		const char *bereft = arena_printf(storm->arena, "%sbereft", prefix);

		if (ask(storm, "ZCARD", due)->integer != 0 ||
		    ask(storm, "HLEN", leases)->integer != 0 ||
		    ask(storm, "SCARD", bereft)->integer != 0)
			return false;
	}
	return true;
}

static bool
ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* Whether a key is one of those that stay when nothing runs: history, agents, tools, the inbox. */
static bool
is_to_stay(const char *key)
{
	static const char *const names[] = { "fl:inbox", "fl:agents", "fl:tools",
		"fl:tools:seen", "fl:refused", "fl:tokens", "fl:times" };
	const char *rest = strchr(key, '}');
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(key, names[i]) == 0)
			return true;
	if (rest == NULL)
		return strncmp(key, "fl:run:", 7) == 0 ||
		       strncmp(key, "fl:agent:", 9) == 0 ||
		       strncmp(key, "fl:agents:", 10) == 0;
	if (strcmp(rest, "}:threads") == 0 || strcmp(rest, "}:runs") == 0 ||
	    strcmp(rest, "}:ended") == 0)
		return true;
	return (strncmp(rest, "}:t:", 4) == 0 || strncmp(rest, "}:r:", 4) == 0) &&
	       !ends_with(rest, ":w") && !ends_with(rest, ":q");
}

void
verdict_leftovers(struct storm *storm)
{
	const struct value *keys, *readers = NULL;
	unsigned inside = kit_has_hub(storm->kit) ? 1 : 0;
	size_t i;

	ck_assert_msg(client_wait(storm->client, is_tidy, storm, STORM_WAIT_MS),
	    "the inbox, due, leases or bereft are never empty");
	keys = ask(storm, "KEYS", "*");
	for (i = 0; i < value_size(keys); i++)
		ck_assert_msg(is_to_stay(redis_reply_text(value_at(keys, i))),
		    "%s is left behind", redis_reply_text(value_at(keys, i)));
	redis_text(storm->client->redis, storm->arena, STORM_WAIT_MS, &readers, "XINFO",
	    "CONSUMERS", STORE_INBOX, STORE_INBOX_GROUP, NULL);
	ck_assert_msg(value_size(readers) <= inside + storm->plan->coordinators,
	    "the inbox has %zu readers", value_size(readers));
}

/* --- calls ---------------------------------------------------------------------------------- */

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The calls that have started, each once, sorted; *count_r of them. */
static const char **
read_ledger(struct storm *storm, size_t *count_r)
{
	size_t room = (size_t)16 * storm->runs, count = 0, different = 0, i;
	const char **calls = arena_alloc(storm->arena, room * sizeof *calls);
	FILE *file = fopen(storm->ledger, "re");
	char line[256];

	ck_assert_ptr_nonnull(file);
	while (count < room && fgets(line, sizeof line, file) != NULL) {
		line[strcspn(line, " ")] = '\0';
		calls[count++] = arena_strdup(storm->arena, line);
	}
	fclose(file);
	qsort(calls, count, sizeof *calls, compare_texts);
	for (i = 0; i < count; i++) {
		if (different == 0 || strcmp(calls[different - 1], calls[i]) != 0)
			calls[different++] = calls[i];
		else
			ck_assert_msg(!storm->plan->each_once && !storm->plan->once_tools,
			    "call %s has started twice", calls[i]);
	}
	*count_r = different;
	return calls;
}

/* How many calls may never have started, at most: where one dies who was to send them, a few; most of them
 * where everything is slow (ThreadSanitizer). Where no coordinator dies, those of runs whose owner had no processor for
 * as long as its lease is: nobody vouches for what it had sent. */
static size_t
lost_max(struct storm *storm)
{
	if (storm->plan->each_once && !storm->plan->unsent)
		return storm->plan->brokers_empty ? (size_t)4 * storm_moved(storm) : 0;
	return (size_t)(PATIENCE > 1 ? 4 : 2) * storm->runs;
}

/* Every call of a tool has started, or the model was told that it may have not; while no worker
 * dies, one of the two. */
static void
check_ledger(struct storm *storm)
{
	size_t count, unstarted = 0, i;
	const char **calls = read_ledger(storm, &count);

	for (i = 0; i < storm->told.count; i++) {
		const char *call = value_text(storm->told.items[i]);

		if (bsearch(&call, calls, count, sizeof *calls, compare_texts) == NULL)
			unstarted++;
		else
			ck_assert_msg(!storm->plan->each_once,
			    "call %s has started, and is told as lost", call);
	}
	ck_assert_uint_eq(count + unstarted, (size_t)4 * storm->runs);
	ck_assert_uint_le(unstarted, lost_max(storm));
}

void
verdict_check(struct storm *storm)
{
	unsigned i;

	storm->told = (struct value_list){ .arena = storm->arena };
	for (i = 1; i <= storm->runs; i++)
		check_run(storm, i);
	check_ledger(storm);
	verdict_leftovers(storm);
	if (storm->plan->brokers_empty)
		verdict_brokers(storm);
}
