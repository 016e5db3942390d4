#include "store_wish.h"

#include "bodies.h"
#include "caller.h"
#include "fault.h"

#define STORE_WAIT_MS 30000u

static const struct value *
not_answered(struct arena *arena, const struct call_outcome *outcome)
{
	struct fault *fault = fault_new(arena, "ConnectionError",
	    "the store did not answer: %s",
	    outcome->reason != NULL ? outcome->reason : wire_code_text(outcome->code));

	fault->retryable =
	    outcome->code != CODE_TOO_LARGE && outcome->code != CODE_MALFORMED;
	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

const struct value *
store_wish_send(
    struct worker_call *call, const struct value *op, unsigned number, uint64_t left_ms)
{
	struct arena *arena = call->arena;
	const struct header *header = call->header;
	const struct call_request request = {
		/* Equal each time this call runs: doing an operation again is doing it once. */
		.id = arena_printf(arena, "%s/s%u", header->call_id, number),
		.run = header->run,
		.service = SERVICE_STORE,
		.step = header->step,
		.epoch = header->epoch,
		.deadline_ms = left_ms < STORE_WAIT_MS ? left_ms : STORE_WAIT_MS,
		.priority = header->priority,
		.tenant = header->tenant,
		.flags = WIRE_INTERNAL,
		.profile = value_freeze(arena, value_empty_map()),
		.request = op,
	};
	struct call_outcome outcome;

	if (worker_nested_call(call, &request, &outcome) == -1 ||
	    outcome.code == CODE_CANCELLED)
		return NULL;
	return outcome.code == CODE_OK ? outcome.body : not_answered(arena, &outcome);
}
