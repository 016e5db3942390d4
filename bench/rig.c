#include "rig.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "children.h"
#include "memory.h"
#include "process.h"

#define AGENT_FILE "bench/agent.yaml"
#define TOOL "calculate"
#define TOOL_ARGUMENTS "{\"expression\": \"17 * 3\"}"

struct rig {
	struct arena *arena;
	char *folder;
	const char *build; /* where the programs are, in bin/ */
	const char *redis, *broker, *status, *slots;
	struct child *parts[RIG_PARTS];
	size_t server_files; /* open without a connection */
};

static const char *const part_names[RIG_PARTS] = { "redis", "broker", "coordinator",
	"worker-model", "worker-tools", "model-server" };

const char *
rig_part_name(enum rig_part part)
{
	return part_names[part];
}

const char *
rig_redis(const struct rig *rig)
{
	return rig->redis;
}

const char *
rig_status(const struct rig *rig)
{
	return rig->status;
}

/* --- starting ------------------------------------------------------------------------ */

static const char *
in(const struct rig *rig, const char *name)
{
	return arena_printf(rig->arena, "%s/%s", rig->folder, name);
}

static const char *
program(const struct rig *rig, const char *name)
{
	return arena_printf(rig->arena, "%s/bin/%s", rig->build, name);
}

static void
find_build(struct rig *rig)
{
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

	if (size <= 0)
		err(EXIT_FAILURE, "/proc/self/exe");
	path[size] = '\0';
	*strrchr(path, '/') = '\0';
	rig->build = arena_strdup(rig->arena, path);
}

static const char *
read_line(const struct rig *rig, const char *path)
{
	char line[64];
	FILE *file = fopen(path, "re");

	if (file == NULL || fgets(line, sizeof line, file) == NULL)
		err(EXIT_FAILURE, "%s", path);
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return arena_strdup(rig->arena, line);
}

/* No rewrite of the append-only file falls into a measurement by chance. */
static void
start_redis(struct rig *rig, const char *fsync)
{
	rig->parts[RIG_REDIS] = child_start(
	    (const char *[]){ "redis-server", "--port", "0", "--unixsocket",
		in(rig, "redis"), "--dir", rig->folder, "--save", "", "--appendonly",
		"yes", "--appendfsync", fsync, "--auto-aof-rewrite-percentage", "0",
		"--maxmemory-policy", "noeviction", "--supervised", "systemd",
		"--daemonize", "no", "--logfile", in(rig, "redis.log"), NULL },
	    NULL);
}

static void
start_server(struct rig *rig, int64_t latency_ms)
{
	rig->parts[RIG_SERVER] = child_start(
	    (const char *[]){ arena_printf(rig->arena, "%s/model-server", rig->build),
		"-f", in(rig, "port"), "-l",
		arena_printf(rig->arena, "%lld", (long long)latency_ms), "-n", TOOL, "-a",
		TOOL_ARGUMENTS, NULL },
	    NULL);
}

static void
start_fleet(struct rig *rig)
{
	const char *base = arena_printf(rig->arena,
	    "OPENAI_BASE_URL=http://127.0.0.1:%s/v1", read_line(rig, in(rig, "port")));

	rig->parts[RIG_BROKER] =
	    child_start((const char *[]){ program(rig, "broker"), "--bind", rig->broker,
			    "--status-bind", rig->status, "--log-level", "warn", NULL },
		NULL);
	rig->parts[RIG_MODEL] = child_start(
	    (const char *[]){ program(rig, "worker-model"), "--broker", rig->broker,
		"--slots", rig->slots, "--log-level", "warn", NULL },
	    (const char *[]){ base, "OPENAI_API_KEY=bench", NULL });
	rig->parts[RIG_TOOLS] = child_start(
	    (const char *[]){ program(rig, "worker-tools"), "--broker", rig->broker,
		"--builtin", TOOL, "--slots", rig->slots, "--log-level", "warn", NULL },
	    NULL);
	rig->parts[RIG_COORDINATOR] = child_start(
	    (const char *[]){ program(rig, "coordinator"), "--broker", rig->broker,
		"--redis", rig->redis, "--log-level", "warn", NULL },
	    NULL);
}

static void
apply_agent(const struct rig *rig)
{
	struct child *apply =
	    child_spawn((const char *[]){ program(rig, "flotilla"), "agents", "--redis",
			    rig->redis, "--json", "apply", AGENT_FILE, NULL },
		NULL);
	int status = child_wait(&apply);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		errx(EXIT_FAILURE, "the agent of %s was not applied", AGENT_FILE);
}

/* Files the part has open. */
static size_t
open_files(const struct rig *rig, enum rig_part part)
{
	return process_open_files(child_pid(rig->parts[part]));
}

struct rig *
rig_start(const struct rig_options *options)
{
	struct rig *rig = xcalloc(1, sizeof *rig);

	rig->arena = arena_new();
	rig->folder = folder_new();
	rig->redis = arena_printf(rig->arena, "unix://%s", in(rig, "redis"));
	rig->broker = arena_printf(rig->arena, "ipc://%s", in(rig, "broker"));
	rig->status = arena_printf(rig->arena, "ipc://%s", in(rig, "status"));
	rig->slots = arena_printf(rig->arena, "%zu", options->calls);
	find_build(rig);
	start_redis(rig, options->fsync);
	start_server(rig, options->latency_ms);
	start_fleet(rig);
	apply_agent(rig);
	/* Only now: the socket it said READY=1 on is closed after that. */
	rig->server_files = open_files(rig, RIG_SERVER);
	return rig;
}

/* --- ending -------------------------------------------------------------------------- */

/* Those that ask end before those that are asked. */
static const enum rig_part ending[] = { RIG_COORDINATOR, RIG_MODEL, RIG_TOOLS, RIG_BROKER,
	RIG_SERVER, RIG_REDIS };

static void
end(struct rig **rig_p, void end_child(struct child **child_p))
{
	struct rig *rig = *rig_p;
	size_t i;

	for (i = 0; i < sizeof ending / sizeof *ending; i++)
		end_child(&rig->parts[ending[i]]);
	folder_remove(&rig->folder);
	arena_destroy(&rig->arena);
	free(rig);
	*rig_p = NULL;
}

void
rig_stop(struct rig **rig_p)
{
	end(rig_p, child_stop);
}

void
rig_kill(struct rig **rig_p)
{
	end(rig_p, child_kill);
}

/* --- measuring ----------------------------------------------------------------------- */

double
rig_cpu_us(const struct rig *rig, enum rig_part part)
{
	return process_cpu_us(child_pid(rig->parts[part]));
}

size_t
rig_resident_bytes(const struct rig *rig, enum rig_part part)
{
	return process_resident_bytes(child_pid(rig->parts[part]));
}

const char *
rig_log(const struct rig *rig)
{
	return in(rig, "appendonlydir/appendonly.aof.1.incr.aof");
}

uint64_t
rig_asked_bytes(const struct rig *rig)
{
	char path[64];
	unsigned long long bytes;
	FILE *file;

	snprintf(
	    path, sizeof path, "/proc/%d/io", (int)child_pid(rig->parts[RIG_SERVER]));
	file = fopen(path, "re");
	if (file == NULL || fscanf(file, "rchar: %llu", &bytes) != 1)
		err(EXIT_FAILURE, "%s", path);
	fclose(file);
	return bytes;
}

size_t
rig_connections(const struct rig *rig)
{
	return open_files(rig, RIG_SERVER) - rig->server_files;
}
