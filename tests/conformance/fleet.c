#include "fleet.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "json.h"
#include "memory.h"
#include "probe_log.h"

struct fleet {
	struct arena *arena;
	char *folder;
	const char *programs; /* folder of build/bin */
	const char *build;    /* folder above it */
	const char *broker, *redis_url, *server_url, *probe, *log;
	struct child *redis, *broker_process, *server, *model, *coordinator, *tools;
	unsigned workers; /* started so far */
};

const char *
fleet_redis(const struct fleet *fleet)
{
	return fleet->redis_url;
}

const char *
fleet_folder(const struct fleet *fleet)
{
	return fleet->folder;
}

const char *
fleet_probe(const struct fleet *fleet)
{
	return fleet->probe;
}

const char *
fleet_cli(const struct fleet *fleet)
{
	return arena_printf(fleet->arena, "%s/flotilla", fleet->programs);
}

const char *
fleet_server(const struct fleet *fleet)
{
	return fleet->server_url;
}

static const char *
in(struct fleet *fleet, const char *name)
{
	return arena_printf(fleet->arena, "%s/%s", fleet->folder, name);
}

/* The harness lies in the build folder beside bin/. */
static void
find_build(struct fleet *fleet)
{
	char path[4096], *slash;
	ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

	if (size <= 0) {
		perror("/proc/self/exe");
		exit(EXIT_FAILURE);
	}
	path[size] = '\0';
	slash = strrchr(path, '/');
	*slash = '\0';
	fleet->build = arena_strdup(fleet->arena, path);
	fleet->programs = arena_printf(fleet->arena, "%s/bin", fleet->build);
	fleet->probe = arena_printf(fleet->arena, "%s/probe.so", fleet->build);
}

static const char *
read_port(const char *path)
{
	static char port[16];
	FILE *file = fopen(path, "re");

	if (file == NULL || fgets(port, sizeof port, file) == NULL) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	fclose(file);
	port[strcspn(port, "\n")] = '\0';
	return port;
}

static void
start_servers(struct fleet *fleet)
{
	const char *port_file = in(fleet, "port");

	fleet->redis =
	    child_start((const char *[]){ "redis-server", "--port", "0", "--unixsocket",
			    in(fleet, "redis"), "--save", "", "--maxmemory-policy",
			    "noeviction", "--supervised", "systemd", "--daemonize", "no",
			    "--logfile", in(fleet, "redis.log"), NULL },
		NULL);
	fleet->server = child_start(
	    (const char *[]){
		arena_printf(fleet->arena, "%s/scripted-server", fleet->build), "-f",
		port_file, NULL },
	    NULL);
	fleet->server_url =
	    arena_printf(fleet->arena, "http://127.0.0.1:%s", read_port(port_file));
	fleet->broker_process = child_start(
	    (const char *[]){ arena_printf(fleet->arena, "%s/broker", fleet->programs),
		"--bind", fleet->broker, "--status-bind",
		arena_printf(fleet->arena, "ipc://%s", in(fleet, "status")),
		"--log-level", "warn", NULL },
	    NULL);
}

static void
start_workers(struct fleet *fleet)
{
	const char *base =
	    arena_printf(fleet->arena, "OPENAI_BASE_URL=%s/v1", fleet->server_url);
	const char *log =
	    arena_printf(fleet->arena, PROBE_LOG_VARIABLE "=%s", fleet->log);

	fleet->model = child_start(
	    (const char *[]){
		arena_printf(fleet->arena, "%s/worker-model", fleet->programs),
		"--broker", fleet->broker, "--plugin", fleet->probe, "--log-level",
		"warn", NULL },
	    (const char *[]){ base, "OPENAI_API_KEY=test", log, NULL });
	fleet->coordinator = child_start(
	    (const char *[]){
		arena_printf(fleet->arena, "%s/coordinator", fleet->programs), "--broker",
		fleet->broker, "--redis", fleet->redis_url, "--plugin", fleet->probe,
		"--log-level", "error", NULL },
	    (const char *[]){ log, NULL });
}

struct fleet *
fleet_start(void)
{
	struct fleet *fleet = xcalloc(1, sizeof *fleet);

	fleet->arena = arena_new();
	find_build(fleet);
	fleet->folder = folder_new();
	fleet->broker = arena_printf(fleet->arena, "ipc://%s", in(fleet, "broker"));
	fleet->redis_url = arena_printf(fleet->arena, "unix://%s", in(fleet, "redis"));
	fleet->log = in(fleet, "probe.log");
	start_servers(fleet);
	start_workers(fleet);
	return fleet;
}

void
fleet_stop(struct fleet **fleet_p)
{
	struct fleet *fleet = *fleet_p;

	child_stop(&fleet->coordinator);
	child_stop(&fleet->model);
	child_stop(&fleet->tools);
	child_stop(&fleet->broker_process);
	child_stop(&fleet->server);
	child_stop(&fleet->redis);
	folder_remove(&fleet->folder);
	arena_destroy(&fleet->arena);
	free(fleet);
	*fleet_p = NULL;
}

static void
write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

void
fleet_play_tools(struct fleet *fleet, struct arena *arena, const struct value *offered,
    const struct value *hidden)
{
	const char *file = arena_printf(arena, "%s/outcomes.json", fleet->folder);
	const char *name = arena_printf(arena, "outcomes-%u", ++fleet->workers);

	write_text(file, json_text(arena, value_map(arena, "offered", offered, "hidden",
					      hidden, NULL)));
	child_stop(&fleet->tools);
	fleet->tools = child_start(
	    (const char *[]){ arena_printf(arena, "%s/outcome-worker", fleet->build),
		"--broker", fleet->broker, "--outcomes", file, "--plugin", fleet->probe,
		"--name", name, "--log-level", "warn", NULL },
	    (const char *[]){
		arena_printf(arena, PROBE_LOG_VARIABLE "=%s", fleet->log), NULL });
}

/* --- the probe's log ----------------------------------------------------------------------- */

long
fleet_log_end(const struct fleet *fleet)
{
	FILE *file = fopen(fleet->log, "re");
	long end = 0;

	if (file == NULL)
		return 0;
	if (fseek(file, 0, SEEK_END) == 0)
		end = ftell(file);
	fclose(file);
	return end;
}

const struct value *
fleet_log(const struct fleet *fleet, struct arena *arena, long from)
{
	struct value_list list = { .arena = arena };
	FILE *file = fopen(fleet->log, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t size;
	const char *error;

	if (file == NULL)
		return value_empty_array();
	if (fseek(file, from, SEEK_SET) == 0) {
		while ((size = getline(&line, &room, file)) > 0) {
			const struct value *one =
			    json_parse(arena, line, (size_t)size, &error);

			if (one != NULL)
				value_list_add(&list, one);
		}
	}
	free(line);
	fclose(file);
	return value_list_end(&list);
}
