/* Another worker's answers to the calls of a plain tool, whatever they are: the call ends with
 * commands, a fault or a question; it is asked again only with one answer more, under an id of its
 * own; and what must not run twice is not said to have failed when nobody knows. */
#include <assert.h>
#include <string.h>

#include "../../worker-tools/remote_tool.h"
#include "bodies.h"
#include "bytes.h"
#include "caller.h"
#include "chain.h"
#include "fault.h"
#include "json.h"
#include "utf8.h"

#define TEXT_MAX 4096u
#define ANSWERS_MAX 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_worker_nested_call(struct worker_call *call,
    const struct call_request *request, struct call_outcome *outcome_r);

static struct bytes bytes;

struct world {
	struct worker_call *call;
	unsigned count;   /* as remote_tool_run has it */
	unsigned asked;   /* calls that the other worker has got */
	bool may_be_done; /* the last one's fate is unknown, and it must not run twice */
};
static struct world *world;

/* JSON of the input's; null when it is none. */
static const struct value *
a_value(struct arena *arena)
{
	size_t size;
	const char *text = bytes_text(&bytes, arena, TEXT_MAX, &size), *error;
	const struct value *value = json_parse(arena, text, size, &error);

	return value != NULL ? value : value_nil();
}

/* As a worker would say it, or anything. */
static const struct value *
a_body(struct arena *arena)
{
	static const char *const names[] = { "commands", "fault", "interrupt" };
	size_t which = bytes_number(&bytes, 4);

	return which == 3 ? a_value(arena)
			  : value_map(arena, names[which], a_value(arena), NULL);
}

int
__wrap_worker_nested_call(struct worker_call *call, const struct call_request *request,
    struct call_outcome *outcome_r)
{
	assert(call == world->call && request->id != NULL && request->service != NULL);
	assert(wire_is_id(request->id, ID_BYTES_MAX));
	assert((request->flags & WIRE_ONCE) == (call->header->flags & WIRE_ONCE));
	assert(++world->asked == world->count);
	if (bytes_number(&bytes, 16) == 15)
		return -1;
	*outcome_r =
	    (struct call_outcome){ .code = (enum wire_code)bytes_number(&bytes, 13) };
	if (outcome_r->code == CODE_OK || bytes_number(&bytes, 2) == 1)
		outcome_r->body = a_body(call->arena);
	world->may_be_done =
	    outcome_r->code == CODE_WORKER_LOST && (call->header->flags & WIRE_ONCE) != 0;
	return 0;
}

static int
run_tool(void *arg, struct tool_request *request, struct tool_result **result_r)
{
	(void)arg;
	*result_r = remote_tool_run(world->call, request, 1000, &world->count);
	return 0;
}

static const struct value *
request_of(struct arena *arena)
{
	const struct value *tool = value_map(
	    arena, "name", value_str(arena, "pay"), "plain", value_bool(true), NULL);
	struct value_list answers = { .arena = arena };
	uint64_t count = bytes_number(&bytes, ANSWERS_MAX);

	for (; count > 0; count--)
		value_list_add(&answers, a_value(arena));
	return value_map(arena, "run", value_str(arena, "r1"), "thread",
	    value_str(arena, "t1"), "tool_call",
	    value_map(arena, "id", value_str(arena, "a"), "name", value_str(arena, "pay"),
		"args", a_value(arena), NULL),
	    "tool", tool, "answers", value_list_end(&answers), NULL);
}

static void
check_body(struct arena *arena, const struct value *body)
{
	const struct fault *fault;

	assert(value_has(body, "commands") + value_has(body, "fault") +
		   value_has(body, "interrupt") ==
	       1);
	if (value_has(body, "commands"))
		assert(value_is(value_get(body, "commands"), VALUE_ARRAY));
	if (!value_has(body, "fault"))
		return;
	fault = fault_from_value(arena, value_get(body, "fault"));
	assert(utf8_valid(fault->message, strlen(fault->message)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct chain chain;
	struct arena *arena = arena_new();
	struct header header = { .type = MSG_CALL,
		.call_id = "r1.2.0",
		.run = "r1",
		.service = SERVICE_TOOLS,
		.step = 2,
		.attempt = 1 };
	struct worker_call call = { .header = &header, .arena = arena };
	struct world here = { .call = &call };
	const struct tool_backend backend = { .run = run_tool };
	const struct value *body;

	bytes = (struct bytes){ data, size };
	world = &here;
	header.flags = bytes_number(&bytes, 2) == 1 ? WIRE_ONCE : 0;
	header.attempt = 1 + bytes_number(&bytes, 2);
	call.profile = value_empty_map();
	call.request = request_of(arena);
	assert(remote_tool_is(&call, "pay") && !remote_tool_is(&call, "note"));
	body = chain_tool_call(
	    arena, &chain, call.profile, call.request, "r1.2.0", &backend);
	check_body(arena, body);
	assert(here.asked >= 1 && call.lost == here.may_be_done);
	arena_destroy(&arena);
	return 0;
}
