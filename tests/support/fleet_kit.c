#include "fleet_kit.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>

#include "arena.h"
#include "children.h"
#include "cli.h"
#include "kit_tls.h"
#include "memory.h"
#include "test_place.h"

#define ARGUMENTS_MAX 64u
#define EXTRAS_MAX 40u
#define NO_REDIS 4 /* a status of flotilla's; it has waited for 3 s then */
#define TRIES_MAX 7u

struct extras {
	const char *items[EXTRAS_MAX + 1]; /* NULL-ended */
	size_t count;
};

struct fleet_kit {
	struct arena *arena;
	char *folder;
	const char *build; /* the folder the test lies in */
	const char *redis, *broker, *status;
	const char *ports[KIT_INDEX_MAX]; /* of each Redis, for its replica; "0": none */
	unsigned brokers;
	bool has_hub;
	struct child *children[KIT_KINDS][KIT_INDEX_MAX];
	struct extras flags[KIT_KINDS], env[KIT_KINDS];
};

static const char *const programs[KIT_KINDS] = { "redis-server", "broker", "worker-tools",
	"worker-model", "coordinator" };

/* --- names -------------------------------------------------------------------------------- */

static bool
is_hub(const struct fleet_kit *kit, enum kit_kind kind)
{
	return kind == KIT_BROKER && kit->has_hub && kit->brokers == 1;
}

static const char *
program_of(const struct fleet_kit *kit, enum kit_kind kind)
{
	return is_hub(kit, kind) ? "hub" : programs[kind];
}

const char *
kit_path(struct fleet_kit *kit, const char *name)
{
	return arena_printf(kit->arena, "%s/%s", kit->folder, name);
}

const char *
kit_built(struct fleet_kit *kit, const char *name)
{
	return arena_printf(kit->arena, "%s/%s", kit->build, name);
}

const char *
kit_program(struct fleet_kit *kit, const char *name)
{
	return arena_printf(kit->arena, "%s/bin/%s", kit->build, name);
}

const char *
kit_name(struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	return arena_printf(kit->arena, "%s-%u", program_of(kit, kind), index);
}

const char *
kit_redis(const struct fleet_kit *kit)
{
	return kit->redis;
}

const char *
kit_broker(const struct fleet_kit *kit)
{
	return kit->broker;
}

const char *
kit_status(const struct fleet_kit *kit)
{
	return kit->status;
}

const char *
kit_broker_at(struct fleet_kit *kit, unsigned index)
{
	if (index == 0)
		return kit->broker;
	return arena_printf(kit->arena, "%s-%u", kit->broker, index);
}

const char *
kit_status_at(struct fleet_kit *kit, unsigned index)
{
	if (index == 0)
		return kit->status;
	return arena_printf(kit->arena, "%s-%u", kit->status, index);
}

void
kit_set_brokers(struct fleet_kit *kit, unsigned count)
{
	assert(count > 0 && count <= KIT_INDEX_MAX);
	kit->brokers = count;
}

void
kit_have_hub(struct fleet_kit *kit)
{
	kit->has_hub = true;
}

bool
kit_has_hub(const struct fleet_kit *kit)
{
	return is_hub(kit, KIT_BROKER);
}

const char *
kit_write(struct fleet_kit *kit, const char *name, const char *text)
{
	const char *path = kit_path(kit, name);
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
		perror(path);
		abort();
	}
	return path;
}

/* --- starting ------------------------------------------------------------------------------- */

/* KIT_LOG=debug in the environment, for who looks why a test fails. */
static const char *
log_level(void)
{
	const char *level = getenv("KIT_LOG");

	return level != NULL ? level : "error";
}

static void
add(struct fleet_kit *kit, struct extras *extras, const char *text)
{
	assert(extras->count < EXTRAS_MAX);
	extras->items[extras->count++] = arena_strdup(kit->arena, text);
}

void
kit_flag(struct fleet_kit *kit, enum kit_kind kind, const char *flag, const char *value)
{
	add(kit, &kit->flags[kind], flag);
	add(kit, &kit->flags[kind], value);
}

void
kit_env(struct fleet_kit *kit, enum kit_kind kind, const char *line)
{
	add(kit, &kit->env[kind], line);
}

struct arguments {
	const char *items[ARGUMENTS_MAX]; /* NULL-ended */
	size_t count;
};

static void
append(struct arguments *arguments, const char *const *items)
{
	for (; *items != NULL; items++) {
		assert(arguments->count < ARGUMENTS_MAX - 1);
		arguments->items[arguments->count++] = *items;
	}
}

static const char *
redis_path(struct fleet_kit *kit, unsigned index)
{
	return index == 0 ? kit_path(kit, "redis")
			  : arena_printf(kit->arena, "%s/replica%u", kit->folder, index);
}

/* As `flotilla up` starts it: every write is on disk before it is answered. */
static void
redis_arguments(struct fleet_kit *kit, struct arguments *arguments, unsigned index)
{
	const char *folder = arena_printf(kit->arena, "%s.d", redis_path(kit, index));

	mkdir(folder, 0700);
	append(arguments,
	    (const char *[]){ programs[KIT_REDIS], "--port", kit->ports[index], "--bind",
		"127.0.0.1", "--repl-diskless-sync-delay", "0", NULL });
	if (index > 0)
		append(arguments, (const char *[]){ "--replicaof", "127.0.0.1",
				      kit->ports[index - 1], NULL });
	append(arguments,
	    (const char *[]){ "--unixsocket", redis_path(kit, index), "--dir", folder,
		"--appendonly", "yes", "--appendfsync", "always", "--save", "",
		"--maxmemory-policy", "noeviction", "--supervised", "systemd",
		"--daemonize", "no", "--logfile",
		arena_printf(kit->arena, "%s.log", redis_path(kit, index)), NULL });
}

static void
our_arguments(struct fleet_kit *kit, struct arguments *arguments, enum kit_kind kind,
    unsigned index)
{
	unsigned i;

	append(arguments,
	    (const char *[]){ kit_program(kit, program_of(kit, kind)), "--name",
		kit_name(kit, kind, index), "--log-level", log_level(), NULL });
	if (kind == KIT_BROKER)
		append(arguments, (const char *[]){ "--bind", kit_broker_at(kit, index),
				      "--status-bind", kit_status_at(kit, index), NULL });
	else
		for (i = 0; i < kit->brokers; i++)
			append(arguments,
			    (const char *[]){ "--broker", kit_broker_at(kit, i), NULL });
	if (kind == KIT_COORDINATOR || is_hub(kit, kind))
		append(arguments, (const char *[]){ "--redis", kit->redis, NULL });
}

/* A hub has one key, the broker's, and knows which broker is meant. */
static bool
is_for_hub(const char *flag)
{
	return strcmp(flag, "--key") != 0 && strcmp(flag, "--broker-key") != 0;
}

static void
append_for_hub(struct fleet_kit *kit, struct arguments *arguments)
{
	const struct extras *flags = &kit->flags[KIT_COORDINATOR];
	size_t i;

	for (i = 0; i < flags->count; i += 2)
		if (is_for_hub(flags->items[i]))
			append(arguments, (const char *[]){ flags->items[i],
					      flags->items[i + 1], NULL });
}

static void
spawn(struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	struct arguments arguments = { .count = 0 }, env = { .count = 0 };

	assert(index < KIT_INDEX_MAX && kit->children[kind][index] == NULL);
	if (kind == KIT_REDIS)
		redis_arguments(kit, &arguments, index);
	else
		our_arguments(kit, &arguments, kind, index);
	append(&arguments, kit->flags[kind].items);
	append(&env, kit->env[kind].items);
	if (is_hub(kit, kind)) {
		append_for_hub(kit, &arguments);
		append(&env, kit->env[KIT_COORDINATOR].items);
	}
	kit->children[kind][index] = child_spawn(arguments.items, env.items);
}

/* A replica is ready before it has what its primary has, and linked before the primary, which first
 * waits for its word, sends it anything: what comes through shows that all later writes will. */
static void
await_sync(struct fleet_kit *kit, unsigned index)
{
	const struct timespec a_little = { .tv_nsec = 20000000 };

	kit_redis_cli(kit, index - 1, "SET", "kit:sync", "1", NULL);
	while (kit_redis_cli(kit, index, "GET", "kit:sync", NULL)[0] != '1')
		nanosleep(&a_little, NULL);
	kit_redis_cli(kit, index - 1, "DEL", "kit:sync", NULL);
}

void
kit_spawn(struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	spawn(kit, kind, index);
}

void
kit_start(struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	spawn(kit, kind, index);
	child_ready(kit->children[kind][index]);
	if (kind == KIT_REDIS && index > 0)
		await_sync(kit, index);
}

void
kit_start_all(
    struct fleet_kit *kit, unsigned tools, unsigned models, unsigned coordinators)
{
	const unsigned counts[KIT_KINDS] = { 1, kit->brokers, tools, models,
		coordinators };
	unsigned kind, i;

	bool runs[KIT_KINDS] = { kit->children[KIT_REDIS][0] != NULL };

	for (kind = 0; kind < KIT_KINDS; kind++)
		for (i = 0; i < counts[kind] && !runs[kind]; i++)
			spawn(kit, (enum kit_kind)kind, i);
	for (kind = 0; kind < KIT_KINDS; kind++)
		for (i = 0; i < counts[kind] && !runs[kind]; i++)
			child_ready(kit->children[kind][i]);
}

/* --- while they run ------------------------------------------------------------------------- */

void
kit_stop(struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	child_stop(&kit->children[kind][index]);
}

void
kit_await_end(struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	int status = child_wait(&kit->children[kind][index]);

	if (status == 0)
		return;
	fprintf(stderr, "%s ended with status %#x\n", kit_name(kit, kind, index),
	    (unsigned)status);
	abort();
}

void
kit_kill(struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	assert(kit->children[kind][index] != NULL);
	child_kill(&kit->children[kind][index]);
}

void
kit_restart_all(struct fleet_kit *kit)
{
	bool ran[KIT_KINDS][KIT_INDEX_MAX] = { { false } };
	unsigned kind, i;

	for (kind = 0; kind < KIT_KINDS; kind++) {
		for (i = 0; i < KIT_INDEX_MAX; i++) {
			ran[kind][i] = kit->children[kind][i] != NULL;
			if (ran[kind][i])
				child_kill(&kit->children[kind][i]);
		}
	}
	for (kind = 0; kind < KIT_KINDS; kind++)
		for (i = 0; i < KIT_INDEX_MAX; i++)
			if (ran[kind][i])
				kit_start(kit, (enum kit_kind)kind, i);
}

void
kit_wait(struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	assert(kit->children[kind][index] != NULL);
	child_wait(&kit->children[kind][index]);
}

bool
kit_runs(const struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	return kit->children[kind][index] != NULL;
}

pid_t
kit_pid(const struct fleet_kit *kit, enum kit_kind kind, unsigned index)
{
	assert(kit->children[kind][index] != NULL);
	return child_pid(kit->children[kind][index]);
}

void
kit_signal(struct fleet_kit *kit, enum kit_kind kind, unsigned index, int number)
{
	kill(kit_pid(kit, kind, index), number);
}

const char *
kit_redis_cli(struct fleet_kit *kit, unsigned index, const char *word, ...)
{
	const struct cli redis_cli = { .program = "redis-cli", .arena = kit->arena };
	struct arguments arguments = { .count = 0 };
	struct said said;
	va_list list;

	append(&arguments, (const char *[]){ "-s", redis_path(kit, index), NULL });
	va_start(list, word);
	for (; word != NULL; word = va_arg(list, const char *))
		append(&arguments, (const char *[]){ word, NULL });
	va_end(list);
	said = cli_run(&redis_cli, NULL, arguments.items);
	if (said.status != 0) {
		fprintf(stderr, "redis-cli %s: status %d: %s\n", arguments.items[2],
		    said.status, said.err);
		abort();
	}
	return said.out;
}

const char *
kit_flotilla(struct fleet_kit *kit, const char *argument, ...)
{
	const struct cli flotilla = { .program = kit_program(kit, "flotilla"),
		.arena = kit->arena };
	struct arguments arguments = { .count = 0 };
	unsigned tries = 0;
	struct said said;
	va_list list;

	va_start(list, argument);
	for (; argument != NULL; argument = va_arg(list, const char *))
		append(&arguments, (const char *[]){ argument, NULL });
	va_end(list);
	append(&arguments, (const char *[]){ "--redis", kit->redis, NULL });
	/* It has not begun anything when Redis had no processor for as long as it waits for it. */
	do
		said = cli_run(&flotilla, NULL, arguments.items);
	while (said.status == NO_REDIS && strstr(said.err, "no Redis at") != NULL &&
	       ++tries < TRIES_MAX);
	if (said.status == 0)
		return said.out;
	fprintf(stderr, "flotilla %s: status %d: %s\n", arguments.items[0], said.status,
	    said.err);
	abort();
}

/* --- life ----------------------------------------------------------------------------------- */

void
kit_have_replica(struct fleet_kit *kit)
{
	unsigned i;

	for (i = 0; i < KIT_INDEX_MAX; i++)
		kit->ports[i] = place_port(kit->arena);
	kit->redis = arena_printf(
	    kit->arena, "unix://%s,unix://%s", redis_path(kit, 0), redis_path(kit, 1));
}

struct fleet_kit *
kit_new(void)
{
	struct fleet_kit *kit = xcalloc(1, sizeof *kit);
	unsigned i;

	kit->arena = arena_new();
	kit->brokers = 1;
	kit->has_hub = getenv("KIT_HUB") != NULL;
	kit->build = place_folder(kit->arena);
	kit->folder = folder_new();
	for (i = 0; i < KIT_INDEX_MAX; i++)
		kit->ports[i] = "0";
	kit->redis = arena_printf(kit->arena, "unix://%s/redis", kit->folder);
	kit->broker = arena_printf(kit->arena, "ipc://%s/broker", kit->folder);
	kit->status = arena_printf(kit->arena, "ipc://%s/status", kit->folder);
	if (getenv("KIT_TLS") != NULL)
		kit->redis =
		    kit_tls_url(kit, kit->arena, kit_have_tls(kit, kit->arena), "");
	/* What a killed worker leaves goes with the folder. */
	kit_env(kit, KIT_TOOLS, arena_printf(kit->arena, "TMPDIR=%s", kit->folder));
	return kit;
}

void
kit_destroy(struct fleet_kit **kit_p)
{
	struct fleet_kit *kit = *kit_p;
	unsigned kind, i;

	for (kind = KIT_KINDS; kind-- > 0;)
		for (i = 0; i < KIT_INDEX_MAX; i++)
			child_stop(&kit->children[kind][i]);
	folder_remove(&kit->folder);
	arena_destroy(&kit->arena);
	free(kit);
	*kit_p = NULL;
}
