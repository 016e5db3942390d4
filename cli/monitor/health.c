/* health: is it there, and does it move? For people and for health checks: one line, and an
 * exit status of 0 or 1. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "fiber.h"
#include "show.h"
#include "stats.h"
#include "store_fleet.h"
#include "tame.h"

#define PROBE_POLL_MS 50u
#define ANSWER_WAIT_MS 200u /* at least: looking costs nothing */

struct health_settings {
	struct common_settings common;
	const char *worker, *coordinator;
	bool probe;
	int64_t wait_ms;
};

#define SETTING(field) offsetof(struct health_settings, field)
static const struct setting health_table[] = {
	COMMON_SETTINGS,
	{ "worker", SETTING_TEXT, SETTING(worker), NULL, 0, 0, NULL,
	    "this worker alone, by its --name; needs a broker, not Redis", 0 },
	{ "coordinator", SETTING_TEXT, SETTING(coordinator), NULL, 0, 0, NULL,
	    "this coordinator alone, by its --name; needs a broker, not Redis", 0 },
	{ "probe", SETTING_BOOL, SETTING(probe), NULL, 0, 0, NULL,
	    "also have the workers probed now, each through the way its calls go", 0 },
	{ "wait-ms", SETTING_INTEGER, SETTING(wait_ms), "5000", 1, 600000, "ms",
	    "how long to wait for answers", 0 },
	SETTINGS_END,
};

struct health {
	struct session *session;
	const struct health_settings *settings;
	struct arena *arena;
	struct stats *stats;
	uint64_t deadline_ms;
	const char *role, *name; /* of the one process that is looked at; or NULL */
	const char *trouble;     /* the first that was found; NULL: healthy */
	bool said;               /* on stderr already */
	unsigned brokers, coordinators, models, tools;
};

#define TROUBLE(health, ...)                                                             \
	((health)->trouble = (health)->trouble != NULL                                   \
				 ? (health)->trouble                                     \
				 : arena_printf((health)->arena, __VA_ARGS__))

static uint64_t
left_ms(const struct health *health)
{
	uint64_t now = loop_now_ms(session_loop(health->session));

	return now < health->deadline_ms ? health->deadline_ms - now : 0;
}

/* --- brokers -------------------------------------------------------------------------- */

static bool
is_named(const struct value *row, const char *role, const char *name)
{
	return value_text_is(value_get(row, "role"), role) &&
	       (name == NULL || value_text_is(value_get(row, "name"), name));
}

/* A broker has told of the process: what those say that do not answer is not waited for. */
static bool
is_found(void *arg)
{
	const struct health *health = arg;
	size_t i, j;

	for (i = 0; health->name != NULL && i < stats_brokers(health->stats); i++) {
		const struct value *rows =
		    value_get(stats_tables(health->stats, i), "sessions");

		for (j = 0; j < value_size(rows); j++)
			if (is_named(value_at(rows, j), health->role, health->name))
				return true;
	}
	return false;
}

/* Every broker must answer. */
static void
ask_brokers(struct health *health)
{
	uint64_t wait_ms = left_ms(health);
	size_t i;

	if (wait_ms < ANSWER_WAIT_MS)
		wait_ms = ANSWER_WAIT_MS;
	health->brokers = 0;
	if (stats_ask_for(health->stats, health->arena, wait_ms, is_found, health) == -1)
		TROUBLE(health, "interrupted");
	for (i = 0; i < stats_brokers(health->stats); i++) {
		if (stats_tables(health->stats, i) != NULL)
			health->brokers++;
		else
			TROUBLE(health, "no broker answers at %s",
			    stats_endpoint(health->stats, i));
	}
}

/* --- processes ------------------------------------------------------------------------ */

static void
check_row(struct health *health, const struct value *row)
{
	const char *name = value_get_text(row, "name");
	const char *role = value_get_text(row, "role");
	const char *trouble = value_get_text(row, "trouble");

	if (trouble != NULL)
		TROUBLE(health, "%s %s: %s", role, name, trouble);
	else if (value_text_is(value_get(row, "probe"), "stuck"))
		TROUBLE(health, "%s %s is stuck: its calls have not moved for %s", role,
		    name,
		    show_duration(health->arena, value_get_int(row, "probed_ms", 0)));
	health->coordinators += value_text_is(value_get(row, "role"), "coordinator");
	health->models += stats_serves(row, "model:");
	health->tools += stats_serves(row, "tool");
}

/* Looks at the processes of role (and name, unless that is NULL) that the brokers know.
 * Returns how many there are. */
static unsigned
check_rows(struct health *health, const char *role, const char *name)
{
	unsigned count = 0;
	size_t i, j;

	for (i = 0; i < stats_brokers(health->stats); i++) {
		const struct value *rows =
		    value_get(stats_tables(health->stats, i), "sessions");

		for (j = 0; j < value_size(rows); j++) {
			if (!is_named(value_at(rows, j), role, name))
				continue;
			check_row(health, value_at(rows, j));
			count++;
		}
	}
	return count;
}

/* --- the probe ------------------------------------------------------------------------ */

/* Returns the name of a worker that has not answered a probe since so many ms; NULL: all
 * have. Those that answer no probes at all are not asked. */
static const char *
unanswered(const struct health *health, int64_t since_ms)
{
	size_t i, j;

	for (i = 0; i < stats_brokers(health->stats); i++) {
		const struct value *rows =
		    value_get(stats_tables(health->stats, i), "sessions");

		for (j = 0; j < value_size(rows); j++) {
			const struct value *row = value_at(rows, j);

			if (is_named(row, "worker", health->settings->worker) &&
			    !value_text_is(value_get(row, "probe"), "none") &&
			    value_get_int(row, "probed_ms", INT64_MAX) > since_ms)
				return value_get_text(row, "name");
		}
	}
	return NULL;
}

/* Asks for the probe, and looks until every worker has answered it. */
static void
probe(struct health *health)
{
	struct loop *loop = session_loop(health->session);
	uint64_t asked_ms = loop_now_ms(loop);
	const char *name = unanswered(health, -1);

	stats_probe(health->stats);
	while (name != NULL && left_ms(health) > 0) {
		if (fiber_sleep(PROBE_POLL_MS) == -1) {
			TROUBLE(health, "interrupted");
			return;
		}
		ask_brokers(health);
		if (health->name != NULL && health->brokers > 0 && !fiber_cancelled())
			health->trouble = NULL;
		if (health->trouble != NULL)
			return;
		name = unanswered(health, (int64_t)(loop_now_ms(loop) - asked_ms));
	}
	if (name != NULL)
		TROUBLE(health, "worker %s does not answer a probe", name);
}

/* --- what is checked ------------------------------------------------------------------ */

static void
check_redis(struct health *health)
{
	struct store *store;
	const struct value *counts;

	if (health->trouble != NULL)
		return;
	store = session_store(health->session);
	health->said = store == NULL;
	if (store == NULL)
		TROUBLE(health, "no Redis at %s", session_redis_shown(health->session));
	else if (store_counts(store, health->arena, &counts) != STORE_OK)
		TROUBLE(health, "Redis at %s: %s", session_redis_shown(health->session),
		    store_error(store));
}

static void
check_fleet(struct health *health)
{
	ask_brokers(health);
	if (health->trouble == NULL && health->settings->probe)
		probe(health);
	check_rows(health, "coordinator", NULL);
	check_rows(health, "worker", NULL);
	if (health->coordinators == 0)
		TROUBLE(health, "no coordinator is there");
	if (health->models == 0)
		TROUBLE(health, "no worker serves models");
	if (health->tools == 0)
		TROUBLE(health, "no worker serves tools");
	check_redis(health);
}

static void
check_broker(struct health *health)
{
	ask_brokers(health);
	if (health->trouble == NULL && health->settings->probe)
		probe(health);
}

/* One process: a broker that is away is trouble only when none is there to ask. */
static void
check_process(struct health *health, const char *role, const char *name)
{
	health->role = role;
	health->name = name;
	ask_brokers(health);
	if (health->brokers > 0 && !fiber_cancelled())
		health->trouble = NULL;
	if (health->trouble == NULL && health->settings->probe)
		probe(health);
	if (check_rows(health, role, name) == 0)
		TROUBLE(health, "%s %s is not connected to a broker", role, name);
}

static void
check(struct health *health, const char *part)
{
	const struct health_settings *settings = health->settings;

	if (settings->worker != NULL)
		check_process(health, "worker", settings->worker);
	else if (settings->coordinator != NULL)
		check_process(health, "coordinator", settings->coordinator);
	else if (strcmp(part, "redis") == 0)
		check_redis(health);
	else if (strcmp(part, "broker") == 0)
		check_broker(health);
	else
		check_fleet(health);
}

/* --- saying it ------------------------------------------------------------------------ */

static void
print_json(const struct health *health)
{
	const struct value *trouble =
	    health->trouble != NULL ? value_str(health->arena, health->trouble) : NULL;

	printf("%s\n", tame_json(health->arena, value_map(health->arena, "healthy",
						    value_bool(health->trouble == NULL),
						    "reason", trouble, NULL)));
}

static enum status
tell(const struct health *health)
{
	if (session_json(health->session))
		print_json(health);
	else if (health->trouble == NULL)
		printf("healthy\n");
	if (health->trouble == NULL)
		return STATUS_OK;
	if (!health->said)
		complain("%s", health->trouble);
	return STATUS_FAILED;
}

static enum status
check_arguments(const struct health_settings *settings, const char *part)
{
	unsigned chosen =
	    (part != NULL) + (settings->worker != NULL) + (settings->coordinator != NULL);

	if (chosen > 1) {
		complain("health of what? One of broker, redis, fleet, --worker NAME, "
			 "--coordinator NAME");
		return STATUS_USAGE;
	}
	if (part != NULL && strcmp(part, "broker") != 0 && strcmp(part, "redis") != 0 &&
	    strcmp(part, "fleet") != 0) {
		complain("health of '%s': must be broker, redis or fleet", part);
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

static enum status
run_health(struct session *session, const void *given, const char *const *rest)
{
	const struct health_settings *settings = given;
	struct health health = {
		.session = session, .settings = settings, .arena = session_arena(session)
	};
	enum status status = check_arguments(settings, rest[0]);

	if (status != STATUS_OK)
		return status;
	health.deadline_ms =
	    loop_now_ms(session_loop(session)) + (uint64_t)settings->wait_ms;
	health.stats = stats_new(session);
	if (health.stats == NULL)
		return STATUS_USAGE;
	check(&health, rest[0] != NULL ? rest[0] : "fleet");
	stats_destroy(&health.stats);
	return tell(&health);
}

const struct command command_health = {
	.name = "health",
	.usage = "[broker | redis | fleet]",
	.summary = "says whether the fleet is there and moves: status 0, or 1 and why",
	.text = "Asks the broker and Redis with real messages. fleet, the default, wants "
		"every broker, Redis, "
		"a coordinator, a worker for models and one for tools, none of them "
		"stuck. --worker and "
		"--coordinator look at one process through its broker and need no Redis: "
		"for health checks of containers.",
	.table = health_table,
	.settings_size = sizeof(struct health_settings),
	.arguments_max = 1,
	.run = run_health,
};
