/* pins: calls to one worker, "worker:<session>": for what lives in that worker's memory.
 *
 * A pin is a service like others, which one worker offers: queue, room, rights and loss are those
 * of any call. What is different: nobody else will ever serve it. So a call does not wait for it
 * until its deadline, but only as long as the worker may be coming: one that is silent, that has
 * lost its connection, that has not found us since we began. Of one that was here that time begins
 * when it went. A worker that drains, or said BYE, comes no more. */
#include <stdio.h>
#include <string.h>

#include "bodies.h"
#include "planted.h"
#include "tables.h"

static const char *
session_of(const char *service)
{
	return service + strlen(SERVICE_WORKER_PREFIX);
}

bool
pin_is(const char *service)
{
	return service != NULL && strncmp(service, SERVICE_WORKER_PREFIX,
				      strlen(SERVICE_WORKER_PREFIX)) == 0;
}

bool
pin_is_usurped(const struct header *hello)
{
	size_t i;

	for (i = 0; i < hello->service_count; i++)
		if (pin_is(hello->services[i].name) &&
		    strcmp(session_of(hello->services[i].name), hello->session) != 0)
			return true;
	return false;
}

bool
pin_allows(const struct session *worker, const char *service)
{
	return !pin_is(service) || strcmp(session_of(service), worker->id) == 0;
}

/* NULL: it is not here, or is here and does not serve its pin. The call is bound. */
static const struct session *
worker_of(const struct core *core, const struct call *call)
{
	return call->capability->workers == 0
		   ? NULL
		   : id_table_get(core->sessions, session_of(call->header.service));
}

void
pin_gone(struct core *core, const struct session *worker)
{
	struct gone_worker *gone = &core->gone[core->gone_count++ % GONE_WORKERS_MAX];

	memcpy(gone->id, worker->id, sizeof gone->id);
	gone->until_ms = core->now_ms + (worker->said_bye ? 0 : SUSPECT_MS);
}

/* Whether a worker that is not here was: *until_ms_r, until when it may come back. */
static bool
was_here(const struct core *core, const char *id, uint64_t *until_ms_r)
{
	size_t known =
	    core->gone_count < GONE_WORKERS_MAX ? core->gone_count : GONE_WORKERS_MAX;
	size_t i;

	/* The last time counts. */
	for (i = 1; i <= known; i++) {
		const struct gone_worker *gone =
		    &core->gone[(core->gone_count - i) % GONE_WORKERS_MAX];

		if (strcmp(gone->id, id) == 0) {
			*until_ms_r = gone->until_ms;
			return true;
		}
	}
	return false;
}

/* Until when a worker that is not here may be coming. */
static uint64_t
back_until_ms(const struct core *core, const char *id)
{
	uint64_t until_ms;

	return was_here(core, id, &until_ms) ? until_ms : core->now_ms + SUSPECT_MS;
}

void
pin_wait(struct core *core, struct call *call)
{
	const struct session *worker;

	if (!pin_is(call->header.service))
		return;
	worker = worker_of(core, call);
	call->until_ms = core->now_ms;
	if (worker == NULL && !PLANTED(PIN_WAITS))
		call->until_ms = back_until_ms(core, session_of(call->header.service));
	else if (PLANTED(PIN_WAITS) || (!worker->draining && !PLANTED(PIN_IMPATIENT)))
		call->until_ms += SUSPECT_MS;
}

/* It went while the call waited for room there. */
static bool
has_just_gone(const struct core *core, struct call *call)
{
	uint64_t until_ms;

	if (!was_here(core, session_of(call->header.service), &until_ms) ||
	    until_ms <= core->now_ms)
		return false;
	call->until_ms = until_ms;
	return true;
}

void
pin_look(struct core *core, struct call *call)
{
	const struct session *worker = worker_of(core, call);
	char *reason;

	if (worker == NULL && has_just_gone(core, call)) {
		call_arm(core, call);
		return;
	}
	if ((worker != NULL && !worker->draining && !PLANTED(PIN_IMPATIENT)) ||
	    PLANTED(PIN_WAITS)) {
		pin_wait(core, call);
		call_arm(core, call);
		return;
	}
	if (asprintf(&reason, "the worker that it was for %s",
		worker == NULL ? "is gone" : "is leaving") == -1)
		reason = NULL;
	COUNT(core, lost);
	call_finish(
	    core, call, (struct outcome){ .code = CODE_WORKER_LOST, .reason = reason });
}
