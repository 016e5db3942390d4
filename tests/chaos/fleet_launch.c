#include "fleet_launch.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "parts/shim.h"
#include "redis_start.h"
#include "test_place.h"

struct launch {
	struct fleet *fleet;
	const struct party *party;
	const char *items[PARTY_ARGUMENTS_MAX + 1], *env[PARTY_ENVIRONMENT_MAX + 1];
	size_t count, env_count;
};

static void
add(struct launch *launch, const char *item)
{
	assert(launch->count < PARTY_ARGUMENTS_MAX);
	launch->items[launch->count++] = item;
}

static void
add_all(struct launch *launch, const char *const *items)
{
	for (; *items != NULL; items++)
		add(launch, *items);
}

static const char *
built(struct fleet *fleet, const char *name)
{
	return arena_printf(fleet->arena, "%s/%s", fleet->build, name);
}

/* --- links ------------------------------------------------------------------------------- */

static void
link_line(FILE *file, const struct party *party, const char *whom, const char *target)
{
	const struct fleet_plan *plan = party->fleet->plan;

	fprintf(file, "%s>%s %s %s\n", party->name, whom,
	    party->space != NULL ? plan->space_address : "127.0.0.1", target);
}

static void
broker_links(FILE *file, const struct party *party)
{
	struct fleet *fleet = party->fleet;
	unsigned i;

	for (i = 0; i < fleet->plan->counts[PARTY_BROKER]; i++) {
		const char *name = arena_printf(fleet->arena, "broker-%u", i);

		link_line(file, party, name, fleet_path(fleet, name));
	}
}

static const char *
provider_port(struct fleet *fleet)
{
	FILE *file = fopen(fleet_path(fleet, "provider.port"), "re");
	char text[16] = "";

	if (file == NULL || fscanf(file, "%15s", text) != 1)
		abort();
	fclose(file);
	return arena_strdup(fleet->arena, text);
}

static void
status_links(FILE *file, const struct party *party)
{
	struct fleet *fleet = party->fleet;
	unsigned i;

	for (i = 0; i < fleet->plan->counts[PARTY_BROKER]; i++) {
		const char *name = arena_printf(fleet->arena, "status-%u", i);

		link_line(file, party, name, fleet_path(fleet, name));
	}
}

/* The client is no party, but its ways can be hurt like theirs. */
static void
client_links(FILE *file, struct fleet *fleet)
{
	const struct party client = { .fleet = fleet, .name = "client" };
	unsigned i;

	link_line(file, &client, "redis", fleet->redis_path);
	status_links(file, &client);
	for (i = 0; i < fleet->count; i++)
		if (fleet->parties[i].port != 0)
			link_line(file, &client, fleet->parties[i].name,
			    arena_printf(fleet->arena, "%u", fleet->parties[i].port));
}

void
launch_configure_proxy(struct fleet *fleet)
{
	FILE *file = fopen(fleet_path(fleet, "proxy.links"), "we");
	unsigned i;

	if (file == NULL)
		abort();
	client_links(file, fleet);
	for (i = 0; i < fleet->count; i++) {
		const struct party *party = &fleet->parties[i];

		if (party->kind >= PARTY_TOOLS)
			broker_links(file, party);
		if (party->kind == PARTY_COORDINATOR || party->kind == PARTY_SERVE)
			link_line(file, party, "redis", fleet->redis_path);
		if (party->kind == PARTY_SERVE)
			status_links(file, party);
		if (party->kind == PARTY_MODEL)
			link_line(file, party, "provider", provider_port(fleet));
	}
	fclose(file);
}

unsigned
launch_port(struct fleet *fleet, const char *link)
{
	FILE *file = fopen(fleet_path(fleet, "proxy.ports"), "re");
	char name[64];
	unsigned port = 0;
	bool found = false;

	while (file != NULL && !found && fscanf(file, "%63s %u", name, &port) == 2)
		found = strcmp(name, link) == 0;
	if (file != NULL)
		fclose(file);
	return found ? port : 0;
}

/* Kept from all who are given a port when they connect: a server that is started again finds it free. */
unsigned
launch_free_port(void)
{
	struct arena *arena = arena_new();
	unsigned port = (unsigned)strtoul(place_port(arena), NULL, 10);

	arena_destroy(&arena);
	return port;
}

/* --- programs -------------------------------------------------------------------------------- */

/* No rewrite of the file: it is the whole history, and the checker reads it. */
static void
redis_arguments(struct launch *launch)
{
	struct fleet *fleet = launch->fleet;

	add_all(launch,
	    (const char *[]){ "/bin/sh", "-c", REDIS_START_SCRIPT, "redis-server",
		fleet->data, "--port", "0", "--unixsocket", fleet->redis_path, "--dir",
		fleet->data, "--appendonly", "yes", "--appendfsync", "always",
		"--auto-aof-rewrite-percentage", "0", "--save", "", "--maxmemory-policy",
		"noeviction", "--supervised", "systemd", "--daemonize", "no", "--logfile",
		fleet_path(fleet, "redis.log"), NULL });
}

static void
broker_arguments(struct launch *launch)
{
	struct fleet *fleet = launch->fleet;

	add_all(launch,
	    (const char *[]){ "--bind", fleet_broker(fleet, NULL, launch->party->index),
		"--status-bind", fleet_status(fleet, NULL, launch->party->index), NULL });
}

static void
peer_arguments(struct launch *launch)
{
	struct fleet *fleet = launch->fleet;
	const struct party *party = launch->party;
	unsigned i;

	for (i = 0; i < fleet->plan->counts[PARTY_BROKER]; i++)
		add_all(launch, (const char *[]){ "--broker",
				    fleet_broker(fleet, party->name, i), NULL });
	/* Whoever serves a run may be away for longer than a user would wait. */
	if (party->kind == PARTY_COORDINATOR)
		add_all(
		    launch, (const char *[]){ "--redis", fleet_redis(fleet, party->name),
				"--served-wait-ms", "600000", NULL });
	if (party->kind == PARTY_TOOLS)
		add_all(
		    launch, (const char *[]){ "--tools", fleet_path(fleet, "tools.yaml"),
				"--slots", "16", "--drain-ms", "5000", NULL });
	if (party->kind == PARTY_MODEL)
		add_all(launch,
		    (const char *[]){ "--drain-ms", "5000", "--first-byte-timeout-ms",
			"5000", "--idle-timeout-ms", "5000", "--provider", NULL });
}

/* It answers that Redis is away before its client takes it for dead itself. */
static void
serve_arguments(struct launch *launch)
{
	struct fleet *fleet = launch->fleet;
	const struct party *party = launch->party;
	unsigned i;

	add_all(launch,
	    (const char *[]){ built(fleet, "bin/flotilla"), "serve", "--listen",
		arena_printf(fleet->arena, "127.0.0.1:%u", party->port), "--redis",
		fleet_redis(fleet, party->name), "--redis-wait-ms", "5000", NULL });
	for (i = 0; i < fleet->plan->counts[PARTY_BROKER]; i++)
		add_all(launch,
		    (const char *[]){ "--broker", fleet_broker(fleet, party->name, i),
			"--status", fleet_status(fleet, party->name, i), NULL });
}

static void
provider_flag(struct launch *launch)
{
	struct fleet *fleet = launch->fleet;
	const char *link = arena_printf(fleet->arena, "%s>provider", launch->party->name);
	const char *host =
	    launch->party->space != NULL ? fleet->plan->space_address : "127.0.0.1";

	add(launch, fleet->plan->direct
			? arena_printf(fleet->arena, "distant=http://127.0.0.1:%s/v1",
			      provider_port(fleet))
			: arena_printf(fleet->arena, "distant=http://%s:%u/v1", host,
			      launch_port(fleet, link)));
}

static void
our_arguments(struct launch *launch)
{
	static const char *const programs[PARTY_KINDS] = { [PARTY_BROKER] = "broker",
		[PARTY_TOOLS] = "worker-tools",
		[PARTY_MODEL] = "worker-model",
		[PARTY_COORDINATOR] = "coordinator" };
	struct fleet *fleet = launch->fleet;
	const struct party *party = launch->party;

	add_all(launch, (const char *[]){ arena_printf(fleet->arena, "%s/bin/%s",
					      fleet->build, programs[party->kind]),
			    "--name", party->name, "--log-level", "info", NULL });
	if (party->kind == PARTY_BROKER)
		broker_arguments(launch);
	else
		peer_arguments(launch);
	if (party->kind == PARTY_MODEL)
		provider_flag(launch);
}

static void
program_arguments(struct launch *launch)
{
	struct fleet *fleet = launch->fleet;

	switch (launch->party->kind) {
	case PARTY_PROXY:
		add_all(launch, (const char *[]){ built(fleet, "chaos-proxy"),
				    fleet_path(fleet, "proxy.links"),
				    fleet_path(fleet, "proxy.ports"),
				    fleet_path(fleet, "proxy.control"), NULL });
		break;
	case PARTY_PROVIDER:
		add_all(launch,
		    (const char *[]){ built(fleet, "model-server"), "-f",
			fleet_path(fleet, "provider.port"), "-l", "150", "-r", "1", "-n",
			"note", "-a", "{\"name\":\"distant\",\"ms\":50}", NULL });
		break;
	case PARTY_REDIS:
		redis_arguments(launch);
		break;
	case PARTY_SERVE:
		serve_arguments(launch);
		break;
	default:
		our_arguments(launch);
	}
}

/* Everything that a party says goes to a log of its own. */
struct child *
launch_party(struct party *party)
{
	struct fleet *fleet = party->fleet;
	struct launch launch = { .fleet = fleet, .party = party };

	if (party->space != NULL)
		add_all(&launch,
		    (const char *[]){ "ip", "netns", "exec", party->space, NULL });
	add_all(
	    &launch, (const char *[]){ "/bin/sh", "-c",
			 arena_printf(fleet->arena, "exec \"$0\" \"$@\" >>%s/%s.log 2>&1",
			     fleet->folder, party->name),
			 NULL });
	program_arguments(&launch);
	launch.env[launch.env_count++] =
	    arena_printf(fleet->arena, "CHAOS_PARTY=%s", party->name);
	if (party->shim != NULL) {
		launch.env[launch.env_count++] = arena_printf(
		    fleet->arena, "LD_PRELOAD=%s", built(fleet, "chaos-shim.so"));
		launch.env[launch.env_count++] = arena_printf(
		    fleet->arena, "CHAOS_SHIM=%s/%s.shim", fleet->folder, party->name);
	}
	return child_spawn(launch.items, launch.env);
}
