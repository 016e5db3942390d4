/* probes: do a worker's calls move? A heartbeat only says that its loop turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "tables.h"

/* --- the probe ------------------------------------------------------------------------ */

static void
probe_send(struct core *core, struct session *worker)
{
	const struct header header = { .type = MSG_PROBE, .call_id = worker->probe.id };

	worker->probe.sent_ms = core->now_ms;
	send_to(core, worker, &header, NULL);
}

static void
probe_ask(struct core *core, struct session *worker)
{
	struct probe *probe = &worker->probe;

	if (!probe->wanted || probe->asked)
		return;
	probe->asked = true;
	probe->asked_ms = core->now_ms;
	snprintf(probe->id, sizeof probe->id, "probe-%llu",
	    (unsigned long long)++core->probes);
	probe_send(core, worker);
}

/* Whatever was asked is answered, or not waited for any more. */
static void
forget_probe(struct core *core, struct session *worker)
{
	worker->probe.asked = false;
	if (!worker->probe.stuck)
		return;
	worker->probe.stuck = false;
	session_rank(core, worker);
	notice(core, worker, "moves", NULL);
}

static void
probe_answered(struct core *core, struct session *worker)
{
	worker->probe.answered = true;
	worker->probe.answered_ms = core->now_ms;
	forget_probe(core, worker);
}

/* Its calls stay with it, it gets no others: it may yet go on. */
static void
become_stuck(struct core *core, struct session *worker)
{
	COUNT(core, stuck);
	worker->probe.stuck = true;
	session_rank(core, worker);
	notice(core, worker, "stuck", "a probe was not answered");
}

/* It had its time. What it still runs goes where a silent worker's calls go. */
static void
give_up(struct core *core, struct session *worker)
{
	const struct header header = { .type = MSG_ERROR,
		.code = CODE_STUCK,
		.reason = wire_code_text(CODE_STUCK) };

	COUNT(core, sessions_lost);
	send_to(core, worker, &header, NULL);
	worker->fell_silent = true;
	session_end(core, worker, "its calls do not move");
}

/* What we did not hear while we stood still ourselves counts for nobody. */
static void
look_at(struct core *core, struct session *worker)
{
	const struct core_options *options = &core->options;
	struct probe *probe = &worker->probe;
	uint64_t since_ms =
	    probe->asked_ms > core->gap_ms ? probe->asked_ms : core->gap_ms;

	if (!probe->asked) {
		if (options->probe_ms > 0 &&
		    core->now_ms >= probe->asked_ms + options->probe_ms)
			probe_ask(core, worker);
		return;
	}
	if (core->now_ms >= since_ms + options->probe_drop_ms) {
		give_up(core, worker);
		return;
	}
	if (!probe->stuck && core->now_ms >= since_ms + options->probe_wait_ms)
		become_stuck(core, worker);
	/* The pipe may have lost it. */
	if (core->now_ms >= probe->sent_ms + options->resend_ms)
		probe_send(core, worker);
}

void
probes_check(struct core *core)
{
	struct session *worker, *next;

	for (worker = TAILQ_FIRST(&core->workers); worker != NULL; worker = next) {
		next = TAILQ_NEXT(worker, role_link);
		look_at(core, worker);
	}
}

void
probes_hello(struct core *core, struct session *worker, const struct header *hello)
{
	worker->probe.wanted = hello->probes != 0;
	if (!worker->probe.wanted)
		forget_probe(core, worker);
	if (core->options.probe_ms > 0)
		probe_ask(core, worker);
}

/* A worker answers, a client asks for all workers, or for those of one name. */
void
on_probe(struct core *core, struct message *message)
{
	const struct header *header = message->header;
	struct session *session = message->session, *worker;

	if (session->role == ROLE_WORKER) {
		if (session->probe.asked &&
		    strcmp(header->call_id, session->probe.id) == 0)
			probe_answered(core, session);
		return;
	}
	TAILQ_FOREACH(worker, &core->workers, role_link) {
		if (header->name == NULL || strcmp(header->name, worker->name) == 0)
			probe_ask(core, worker);
	}
}

/* --- what a peer says of itself ------------------------------------------------------- */

static bool
same_text(const char *one, const char *other)
{
	if (one == NULL || other == NULL)
		return one == other;
	return strcmp(one, other) == 0;
}

void
session_says(struct core *core, struct session *session, const struct header *header)
{
	struct report *report = &session->report;
	bool had_trouble = report->trouble != NULL;

	report->lag_ms = header->lag_ms;
	report->oldest_ms = header->oldest_ms;
	report->uptime_ms = header->uptime_ms;
	report->restarts = header->restarts;
	if (same_text(report->trouble, header->reason))
		return;
	free(report->trouble);
	report->trouble = header->reason == NULL ? NULL : xstrdup(header->reason);
	if (session->role != ROLE_CLIENT && had_trouble != (header->reason != NULL))
		notice(core, session, had_trouble ? "moves" : "stuck", header->reason);
}
