/* webhook_judge: what is told of a run, and what follows of the answer. */
#include <inttypes.h>
#include <string.h>

#include "webhooks.h"

#include "bodies.h"
#include "bounds.h"
#include "caller.h"
#include "fault.h"

#define LATER_MS 2000u /* after what was no attempt: no worker, or it was lost */

/* What may be large, in the order of what a receiver needs first: each is told if it fits, and
 * <name>_omitted says that it did not. */
static const char *const larges[] = { "fault", "metadata", "unconfirmed", "interrupts",
	"output" };

const struct value *
webhook_body(struct arena *arena, const struct value *record)
{
	static const char *const told[] = { "run", "thread", "agent", "assistant",
		"version", "status", "created", "started", "ended", "parent", "retry_of",
		"tenant", "priority" };
	struct value_fields fields = { .arena = arena };
	size_t left = WEBHOOK_BYTES_MAX, i;

	for (i = 0; i < sizeof told / sizeof *told; i++)
		value_fields_set(&fields, told[i], value_get(record, told[i]));
	for (i = 0; i < sizeof larges / sizeof *larges; i++) {
		const struct value *large = value_get(record, larges[i]);

		if (large == NULL)
			continue;
		if (large->packed == NULL)
			large = value_freeze(arena, large);
		if (large->packed_size > left) {
			value_fields_set(&fields,
			    arena_printf(arena, "%s_omitted", larges[i]),
			    value_bool(true));
			continue;
		}
		value_fields_set(&fields, larges[i], large);
		left -= large->packed_size;
	}
	return value_fields_end(&fields);
}

static uint64_t
back_off(uint64_t attempt, uint64_t first_ms)
{
	uint64_t ms = first_ms;

	for (; attempt > 1 && ms < WEBHOOK_WAIT_MS_MAX; attempt--)
		ms *= 2;
	return ms < WEBHOOK_WAIT_MS_MAX ? ms : WEBHOOK_WAIT_MS_MAX;
}

/* Another try may help. */
static bool
is_passing(int64_t status)
{
	return status == 408 || status == 425 || status == 429 || status >= 500;
}

/* A worker took it, and what it has said of it is nothing, or it has said nothing and is gone, and so are all who tried it
 * behind it: whether it was told nobody knows. It would be told for ever, if that were no attempt. */
static bool
is_unclear(const struct call_outcome *outcome)
{
	return outcome->code == CODE_MALFORMED || outcome->code == CODE_POISON ||
	       (outcome->code == CODE_OK &&
		   value_get_int(outcome->body, "status", 0) == 0 &&
		   !value_is(value_get(outcome->body, "fault"), VALUE_MAP));
}

/* What is told of an attempt that was made. */
static const char *
text_of(struct arena *arena, const struct call_outcome *outcome, int64_t status)
{
	const char *reason = outcome->reason, *text;

	if (is_unclear(outcome))
		return arena_printf(arena, "the worker's answer is none%s%s",
		    reason != NULL ? ": " : "", reason != NULL ? reason : "");
	if (status != 0)
		return arena_printf(arena, "HTTP %" PRId64 "%s", status,
		    status >= 300 && status < 400 ? ", and redirects are not followed"
						  : "");
	text = value_get_text(value_get(outcome->body, "fault"), "message");
	return text != NULL ? text : "no answer";
}

struct webhook_verdict
webhook_judge(struct arena *arena, const struct call_outcome *outcome, uint64_t attempt,
    uint64_t attempts, uint64_t first_wait_ms)
{
	struct webhook_verdict verdict = { .outcome = "again" };
	int64_t status = value_get_int(outcome->body, "status", 0);
	int64_t asked_ms = value_get_int(outcome->body, "retry_after_ms", 0);
	const struct value *fault = value_get(outcome->body, "fault");

	if (outcome->code == CODE_TOO_LARGE) {
		verdict.outcome = "failed";
		verdict.text = outcome->reason != NULL ? outcome->reason
						       : wire_code_text(outcome->code);
		return verdict;
	}
	if (!is_unclear(outcome) &&
	    (outcome->code != CODE_OK || value_get_bool(fault, "control", false))) {
		verdict.outcome = "later";
		verdict.wait_ms = LATER_MS;
		verdict.text =
		    outcome->reason != NULL ? outcome->reason : "no worker could try";
		return verdict;
	}
	verdict.text = text_of(arena, outcome, status);
	if (status >= 200 && status < 300)
		verdict.outcome = "delivered";
	else if (attempt >= attempts ||
		 (status != 0 ? !is_passing(status)
			      : !value_get_bool(fault, "retryable", true)))
		verdict.outcome = "failed";
	verdict.wait_ms = back_off(attempt, first_wait_ms);
	if (asked_ms > (int64_t)verdict.wait_ms)
		verdict.wait_ms = asked_ms < (int64_t)WEBHOOK_RETRY_AFTER_MS_MAX
				      ? (uint64_t)asked_ms
				      : WEBHOOK_RETRY_AFTER_MS_MAX;
	return verdict;
}

void
webhook_wait_on(struct arena *arena, struct webhook_verdict *verdict, uint64_t waited_ms,
    uint64_t unserved_ms)
{
	uint64_t left_ms = unserved_ms > waited_ms ? unserved_ms - waited_ms : 0;

	if (strcmp(verdict->outcome, "later") != 0)
		return;
	if (left_ms == 0) {
		verdict->outcome = "failed";
		verdict->text =
		    arena_printf(arena, "for %" PRIu64 " s no worker could try: %s",
			waited_ms / 1000, verdict->text);
	}
	if (verdict->wait_ms > left_ms)
		verdict->wait_ms = left_ms;
	verdict->waited_ms = waited_ms + verdict->wait_ms;
}
