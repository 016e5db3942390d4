/* stats: the tables as a value, for STATS. */
#include "tables.h"

static const struct value *
broker_value(const struct core *core, struct arena *arena)
{
	bool recovering = core->now_ms < core->started_ms + core->options.recovery_ms;

	return value_map(arena, "name", value_str(arena, core->name), "session",
	    value_str(arena, core->session), "protocol", value_int(arena, WIRE_VERSION),
	    "uptime_ms", value_int(arena, (int64_t)(core->now_ms - core->started_ms)),
	    "recovering", value_bool(recovering), "leaving", value_bool(core->leaving),
	    NULL);
}

static const struct value *
names_value(struct arena *arena, const struct session *worker)
{
	struct value_list names = { .arena = arena };
	size_t i;

	for (i = 0; i < worker->offer_count; i++)
		if (!pin_is(worker->services[i].name))
			value_list_add(
			    &names, value_str(arena, worker->services[i].name));
	return value_list_end(&names);
}

static void
add_report(struct value_fields *fields, const struct report *report)
{
	struct arena *arena = fields->arena;

	value_fields_set(fields, "lag_ms", value_int(arena, (int64_t)report->lag_ms));
	value_fields_set(
	    fields, "uptime_ms", value_int(arena, (int64_t)report->uptime_ms));
	value_fields_set(fields, "restarts", value_int(arena, (int64_t)report->restarts));
	if (report->trouble != NULL)
		value_fields_set(fields, "trouble", value_str(arena, report->trouble));
}

static const char *
probe_state(const struct probe *probe)
{
	if (!probe->wanted)
		return "none";
	if (probe->stuck)
		return "stuck";
	return probe->answered ? "ok" : "unknown";
}

static void
add_worker(
    const struct core *core, struct value_fields *fields, const struct session *worker)
{
	struct arena *arena = fields->arena;
	const struct probe *probe = &worker->probe;
	uint64_t since_ms = probe->answered ? probe->answered_ms : worker->opened_ms;

	value_fields_set(fields, "load", value_int(arena, worker->taken));
	value_fields_set(fields, "room", value_int(arena, session_room(worker)));
	value_fields_set(fields, "capacity", value_int(arena, worker->capacity));
	value_fields_set(fields, "draining", value_bool(worker->draining));
	value_fields_set(fields, "services", names_value(arena, worker));
	value_fields_set(
	    fields, "oldest_ms", value_int(arena, (int64_t)worker->report.oldest_ms));
	value_fields_set(fields, "probe", value_str(arena, probe_state(probe)));
	value_fields_set(
	    fields, "probed_ms", value_int(arena, (int64_t)(core->now_ms - since_ms)));
}

static const struct value *
session_value(const struct core *core, struct arena *arena, const struct session *session)
{
	struct value_fields fields = { .arena = arena };
	int64_t silent_ms = (int64_t)(core->now_ms - session->heard_ms);

	value_fields_set(&fields, "session", value_str(arena, session->id));
	value_fields_set(
	    &fields, "role", value_str(arena, wire_role_name(session->role)));
	value_fields_set(&fields, "name", value_str(arena, session->name));
	value_fields_set(&fields, "silent_ms", value_int(arena, silent_ms));
	value_fields_set(&fields, "opened_ms",
	    value_int(arena, (int64_t)(core->now_ms - session->opened_ms)));
	value_fields_set(
	    &fields, "asked", value_int(arena, (int64_t)session->asked_count));
	value_fields_set(&fields, "errors", value_int(arena, session->errors));
	add_report(&fields, &session->report);
	if (session->role == ROLE_WORKER)
		add_worker(core, &fields, session);
	return value_fields_end(&fields);
}

static const struct value *
sessions_value(const struct core *core, struct arena *arena)
{
	struct value_list rows = { .arena = arena };
	const struct session *session;

	TAILQ_FOREACH(session, &core->heard, heard_link) {
		if (rows.count >= STATS_ROWS_MAX)
			break;
		value_list_add(&rows, session_value(core, arena, session));
	}
	return value_list_end(&rows);
}

static const struct value *
service_value(
    const struct core *core, struct arena *arena, const struct capability *capability)
{
	unsigned priority = queue_priority(&capability->queue);
	const struct call *oldest = capability_oldest(capability);

	return value_map(arena, "name", value_str(arena, capability->name), "workers",
	    value_int(arena, (int64_t)capability->workers), "queued",
	    value_int(
		arena, (int64_t)(capability->queue.count + capability->suspect_count)),
	    "running", value_int(arena, (int64_t)capability->running), "priority",
	    priority < PRIORITIES ? value_int(arena, priority) : value_nil(), "oldest_ms",
	    oldest == NULL ? NULL
			   : value_int(arena, (int64_t)(core->now_ms - oldest->asked_ms)),
	    NULL);
}

static void
add_services(
    const struct core *core, struct value_list *rows, const struct capability_list *list)
{
	const struct capability *capability;

	TAILQ_FOREACH(capability, list, link) {
		if (rows->count >= STATS_ROWS_MAX)
			break;
		/* Each worker has one: a row only where there is something to see. */
		if (!pin_is(capability->name) || capability->calls > 0)
			value_list_add(
			    rows, service_value(core, rows->arena, capability));
	}
}

static const struct value *
services_value(const struct core *core, struct arena *arena)
{
	struct value_list rows = { .arena = arena };

	add_services(core, &rows, &core->served);
	add_services(core, &rows, &core->unserved);
	return value_list_end(&rows);
}

static const struct value *
states_value(const struct core *core, struct arena *arena)
{
	static const char *const names[CALL_STATES] = {
		[CALL_HELD] = "held",
		[CALL_QUEUED] = "queued",
		[CALL_ASSIGNED] = "assigned",
		[CALL_KEPT] = "kept",
	};
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < CALL_STATES; i++)
		value_fields_set(
		    &fields, names[i], value_int(arena, (int64_t)core->states[i]));
	return value_fields_end(&fields);
}

static const struct value *
counters_value(const struct core *core, struct arena *arena)
{
	static const char *const names[] = {
#define COUNTER(name, text) #name,
#include "counters.def"
#undef COUNTER
	};
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < CORE_COUNTERS; i++)
		value_fields_set(
		    &fields, names[i], value_int(arena, (int64_t)core->counters[i]));
	return value_fields_end(&fields);
}

/* {kind: spread} */
static const struct value *
spreads_value(struct arena *arena, const struct spread *spreads)
{
	struct value_fields fields = { .arena = arena };
	unsigned kind;

	for (kind = 0; kind < SERVICE_KINDS; kind++)
		value_fields_set(&fields, service_kind_name((enum service_kind)kind),
		    spread_value(arena, &spreads[kind]));
	return value_fields_end(&fields);
}

static const struct value *
times_value(const struct core *core, struct arena *arena)
{
	return value_map(arena, "bounds_ms", spread_bounds(arena), "waited",
	    spreads_value(arena, core->waited), "ran", spreads_value(arena, core->ran),
	    NULL);
}

const struct value *
core_stats(const struct core *core, struct arena *arena)
{
	const struct value *bodies = value_map(arena, "bytes",
	    value_int(arena, (int64_t)core->bodies_bytes), "bytes_max",
	    value_int(arena, (int64_t)core->options.bodies_bytes_max), NULL);

	return value_map(arena, "broker", broker_value(core, arena), "sessions",
	    sessions_value(core, arena), "services", services_value(core, arena), "calls",
	    states_value(core, arena), "bodies", bodies, "counters",
	    counters_value(core, arena), "times", times_value(core, arena), NULL);
}
