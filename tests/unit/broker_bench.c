#include "broker_bench.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 100u

/* Where a body is so that nobody confuses it with another. */
struct body {
	long *count;
	char mark;
};

void
bench_start_with(struct bench *bench, const struct core_options *options)
{
	*bench = (struct bench){ .now_ms = 1000000 };
	bench->core = core_new(options, bench->now_ms);
	bench->kept = arena_new();
}

void
bench_start(struct bench *bench)
{
	struct core_options options = core_defaults;

	options.session = "0123456789abcdef0123456789abcdef";
	options.name = "broker-1";
	bench_start_with(bench, &options);
	bench_pass(bench, options.recovery_ms + options.liveness_ms + 1);
}

static void
drop(struct body *body)
{
	--*body->count;
	free(body);
}

static void
audit(struct bench *bench)
{
	const char *error = NULL;

	ck_assert_msg(core_audit(bench->core, &error) == 0, "audit: %s", error);
}

void
bench_end(struct bench *bench)
{
	core_destroy(&bench->core, drop);
	ck_assert_int_eq(bench->bodies, 0);
	arena_destroy(&bench->kept);
}

/* Tests look at actions after more steps than their strings live. */
static struct action
keep(struct bench *bench, struct action action)
{
	const char **const texts[] = { &action.header.call_id, &action.header.run,
		&action.header.service, &action.header.reason, &action.header.topic,
		&action.header.name, &action.header.session };
	struct wire_call *calls;
	size_t i;

	for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (*texts[i] != NULL)
			*texts[i] = arena_strdup(bench->kept, *texts[i]);
	calls = arena_alloc(bench->kept, (action.header.call_count + 1) * sizeof *calls);
	for (i = 0; i < action.header.call_count; i++) {
		calls[i] = action.header.calls[i];
		calls[i].call_id = arena_strdup(bench->kept, calls[i].call_id);
	}
	action.header.calls = calls;
	return action;
}

static void
collect(struct bench *bench, struct actions actions)
{
	size_t i;

	for (i = 0; i < actions.count; i++) {
		ck_assert_uint_lt(bench->collected_count, ACTIONS_MAX);
		bench->collected[bench->collected_count++] =
		    keep(bench, actions.items[i]);
		if (actions.items[i].type == ACTION_DROP)
			drop(actions.items[i].body);
		else if (actions.items[i].body != NULL)
			ck_assert_int_eq(actions.items[i].body->mark, 'b');
	}
	bench->actions.items = bench->collected;
	bench->actions.count = bench->collected_count;
	bench->actions.refused = actions.refused;
	audit(bench);
}

static void
feed(struct bench *bench, const struct event *event)
{
	bench->collected_count = 0;
	collect(bench, core_step(bench->core, event, bench->now_ms));
}

static bool
has_body(enum message_type type)
{
	return type == MSG_CALL || type == MSG_RESULT || type == MSG_HELLO ||
	       type == MSG_EVENT || type == MSG_PROGRESS;
}

void
bench_send(struct bench *bench, uint64_t peer, struct header header)
{
	struct event event = { .type = EVENT_MESSAGE,
		.peer = peer,
		.header = &header,
		.inflow = bench->inflow };

	if (peer < PEERS_MAX)
		event.key = bench->keys[peer];
	if (has_body(header.type)) {
		event.body = calloc(1, sizeof *event.body);
		event.body->count = &bench->bodies;
		event.body->mark = 'b';
		event.body_bytes = bench->body_bytes > 0 ? bench->body_bytes : 100;
		bench->bodies++;
	}
	feed(bench, &event);
}

static void
hello(struct bench *bench, uint64_t peer, uint64_t as, struct header header)
{
	char session[33], name[16];

	snprintf(session, sizeof session, "%032x", (unsigned)as);
	snprintf(name, sizeof name, "w%u", (unsigned)as);
	header.type = MSG_HELLO;
	header.session = session;
	header.name = name;
	header.protocol_min = header.protocol_max = WIRE_VERSION;
	if (peer < PEERS_MAX)
		bench->talks[peer] = true;
	bench_send(bench, peer, header);
}

void
bench_coordinator(struct bench *bench, uint64_t peer)
{
	hello(bench, peer, peer, (struct header){ .role = ROLE_COORDINATOR });
}

void
bench_worker(struct bench *bench, uint64_t peer, const char *services, uint64_t credit)
{
	bench_worker_as(bench, peer, peer, services, credit);
}

static void
worker_hello(struct bench *bench, uint64_t peer, uint64_t as, const char *services,
    struct header header)
{
	struct wire_service list[16];
	char names[256], *name, *rest = names;
	size_t count = 0;

	snprintf(names, sizeof names, "%s", services);
	while ((name = strtok_r(rest, " ", &rest)) != NULL)
		list[count++] = (struct wire_service){ .name = name };
	header.role = ROLE_WORKER;
	header.services = list;
	header.service_count = count;
	hello(bench, peer, as, header);
}

void
bench_worker_as(struct bench *bench, uint64_t peer, uint64_t as, const char *services,
    uint64_t credit)
{
	worker_hello(bench, peer, as, services,
	    (struct header){ .credit = credit, .capacity = peer == as ? credit : 0 });
}

void
bench_probed_worker(
    struct bench *bench, uint64_t peer, const char *services, uint64_t credit)
{
	worker_hello(bench, peer, peer, services,
	    (struct header){ .credit = credit, .capacity = credit, .probes = 1 });
}

void
bench_call(struct bench *bench, uint64_t peer, const char *id, const char *service)
{
	bench_send(bench, peer,
	    (struct header){ .type = MSG_CALL,
		.call_id = id,
		.service = service,
		.deadline_ms = 60000 });
}

void
bench_flagged(struct bench *bench, uint64_t peer, const char *id, unsigned flags)
{
	bench_send(bench, peer,
	    (struct header){ .type = MSG_CALL,
		.flags = flags,
		.call_id = id,
		.service = "tool:a",
		.deadline_ms = 60000 });
}

void
bench_about(struct bench *bench, uint64_t peer, enum message_type type, const char *id)
{
	bench_send(bench, peer, (struct header){ .type = type, .call_id = id });
}

void
bench_announce(
    struct bench *bench, uint64_t peer, const char *id, enum wire_call_state state)
{
	struct wire_call call = { .call_id = id, .state = state };

	bench_send(bench, peer,
	    (struct header){ .type = MSG_ANNOUNCE, .calls = &call, .call_count = 1 });
}

void
bench_rights(struct bench *bench, struct rights_book *book)
{
	feed(bench, &(struct event){ .type = EVENT_RIGHTS, .book = book });
}

void
bench_wanted(struct bench *bench)
{
	feed(bench, &(struct event){ .type = EVENT_WANTED });
}

void
bench_leave(struct bench *bench, uint64_t drain_ms)
{
	feed(bench, &(struct event){ .type = EVENT_LEAVE, .drain_ms = drain_ms });
}

bool
bench_has_left(const struct bench *bench)
{
	size_t i;

	for (i = 0; i < bench->actions.count; i++)
		if (bench->actions.items[i].type == ACTION_LEFT)
			return true;
	return false;
}

void
bench_unreachable(struct bench *bench, uint64_t peer)
{
	bench_silence(bench, peer);
	feed(bench, &(struct event){ .type = EVENT_UNREACHABLE, .peer = peer });
}

void
bench_call_moves(struct bench *bench, uint64_t asker, uint64_t from, uint64_t to)
{
	bench_worker(bench, from, "tool:a", 1);
	bench_call(bench, asker, "c1", "tool:a");
	bench_unreachable(bench, from);
	bench_worker(bench, to, "tool:a", 1);
	bench_expect(bench, to, MSG_CALL, "c1");
}

void
bench_refused(struct bench *bench, uint64_t peer)
{
	feed(bench, &(struct event){ .type = EVENT_REFUSED,
			.peer = peer,
			.code = CODE_MALFORMED,
			.reason = "garbage" });
}

void
bench_arrives(struct bench *bench, uint64_t peer)
{
	feed(bench, &(struct event){ .type = EVENT_ARRIVES, .peer = peer });
}

void
bench_silence(struct bench *bench, uint64_t peer)
{
	bench->talks[peer] = false;
}

static void
let_all_talk(struct bench *bench)
{
	const struct header pong = { .type = MSG_PONG };
	uint64_t peer;

	for (peer = 1; peer < PEERS_MAX; peer++)
		if (bench->talks[peer])
			core_step(bench->core,
			    &(struct event){
				.type = EVENT_MESSAGE, .peer = peer, .header = &pong },
			    bench->now_ms);
}

void
bench_pass(struct bench *bench, uint64_t ms)
{
	const struct event tick = { .type = EVENT_TICK };
	uint64_t left;

	bench->collected_count = 0;
	for (left = ms; left > 0; left -= left < TICK_MS ? left : TICK_MS) {
		bench->now_ms += left < TICK_MS ? left : TICK_MS;
		let_all_talk(bench);
		collect(bench, core_step(bench->core, &tick, bench->now_ms));
	}
}

void
bench_leap(struct bench *bench, uint64_t ms)
{
	bench->now_ms += ms;
	feed(bench, &(struct event){ .type = EVENT_TICK });
}

static bool
matches(
    const struct action *action, uint64_t peer, enum message_type type, const char *id)
{
	return action->type == ACTION_SEND && (peer == 0 || action->peer == peer) &&
	       action->header.type == type &&
	       (id == NULL || strcmp(action->header.call_id, id) == 0);
}

const struct action *
bench_sent(
    const struct bench *bench, uint64_t peer, enum message_type type, const char *id)
{
	size_t i;

	for (i = bench->actions.count; i > 0; i--)
		if (matches(&bench->actions.items[i - 1], peer, type, id))
			return &bench->actions.items[i - 1];
	return NULL;
}

size_t
bench_sent_count(
    const struct bench *bench, uint64_t peer, enum message_type type, const char *id)
{
	size_t i, count = 0;

	for (i = 0; i < bench->actions.count; i++)
		count += matches(&bench->actions.items[i], peer, type, id);
	return count;
}

const struct action *
bench_expect(
    const struct bench *bench, uint64_t peer, enum message_type type, const char *id)
{
	const struct action *action = bench_sent(bench, peer, type, id);

	ck_assert_msg(action != NULL, "no %s to %u about %s", wire_message_name(type),
	    (unsigned)peer, id == NULL ? "anything" : id);
	return action;
}

void
bench_expect_outcome(
    const struct bench *bench, uint64_t peer, const char *id, enum wire_code code)
{
	const struct action *result = bench_expect(bench, peer, MSG_RESULT, id);

	ck_assert_str_eq(
	    wire_code_name((unsigned)result->header.code), wire_code_name(code));
}

void
bench_expect_calls(const struct bench *bench, enum call_state state, size_t count)
{
	ck_assert_uint_eq(core_calls(bench->core, state), count);
}
