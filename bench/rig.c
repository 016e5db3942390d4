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
#include "rig_agent.h"
#include "usage.h"

#define AGENT_FILE "bench/agent.yaml"
#define COORDINATOR_SLOTS 10000u /* that it has by itself */
#define TOOL_ARGUMENTS "{\"expression\": \"17 * 3\"}"
#define TASK_ARGUMENTS "{\"description\": \"Look it up.\", \"subagent_type\": \"aide\"}"

struct rig {
	struct arena *arena;
	char *folder;
	const char *build; /* where the programs are, in bin/ */
	struct rig_options options;
	const char *redis, *slots, *plugin;
	const char *brokers[RIG_COPIES_MAX + 1], *status[RIG_COPIES_MAX + 1];
	unsigned port;
	struct child *children[RIG_PARTS][RIG_COPIES_MAX];
	unsigned copies[RIG_PARTS];
	size_t server_files; /* open without a connection */
};

static const char *const part_names[RIG_PARTS] = { "redis", "hub", "broker",
	"coordinator", "worker-model", "worker-tools", "model-server" };

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

const char *const *
rig_brokers(const struct rig *rig)
{
	return (const char *const *)rig->brokers;
}

const char *const *
rig_status(const struct rig *rig)
{
	return (const char *const *)rig->status;
}

unsigned
rig_port(const struct rig *rig)
{
	return rig->port;
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

/* The words of one program's command line. */
struct words {
	const char *list[64];
	size_t count;
};

static void
add_word(struct words *words, const char *word)
{
	if (words->count + 1 == sizeof words->list / sizeof *words->list)
		errx(EXIT_FAILURE, "a command line is too long");
	words->list[words->count++] = word;
}

static void
add_pair(struct words *words, const char *flag, const char *value)
{
	add_word(words, flag);
	add_word(words, value);
}

static void
start(struct rig *rig, enum rig_part part, const struct words *words,
    const char *const env[])
{
	rig->children[part][rig->copies[part]++] = child_start(words->list, env);
}

static const char *
number(const struct rig *rig, uint64_t value)
{
	return arena_printf(rig->arena, "%llu", (unsigned long long)value);
}

/* Unless it is asked for no rewrite of the append-only file falls into a measurement by
 * chance. */
static void
start_redis(struct rig *rig)
{
	struct words words = { { "redis-server", "--port", "0", "--save", "",
				   "--appendonly", "yes", "--maxmemory-policy",
				   "noeviction", "--supervised", "systemd", "--daemonize",
				   "no" },
		13 };

	add_pair(&words, "--stream-node-max-bytes", "512");
	add_pair(&words, "--unixsocket", in(rig, "redis"));
	add_pair(&words, "--dir", rig->folder);
	add_pair(&words, "--appendfsync", rig->options.fsync);
	add_pair(&words, "--logfile", in(rig, "redis.log"));
	add_pair(
	    &words, "--auto-aof-rewrite-percentage", rig->options.rewrites ? "100" : "0");
	add_pair(&words, "--auto-aof-rewrite-min-size", "256mb"); /* as `flotilla up` */
	start(rig, RIG_REDIS, &words, NULL);
}

/* Bodies come from a tool that is told how large they are to be. */
static void
start_server(struct rig *rig)
{
	const struct rig_script *script = &rig->options.script;
	struct words words = { { 0 }, 0 };

	add_pair(&words, arena_printf(rig->arena, "%s/model-server", rig->build), "-f");
	add_pair(&words, in(rig, "port"), "-n");
	if (script->bytes > 0)
		add_pair(&words, "recite", "-a");
	else
		add_pair(&words, script->tasks ? "task" : RIG_TOOL, "-a");
	add_word(&words, script->bytes > 0
			     ? arena_printf(rig->arena, "{\"bytes\": %zu}", script->bytes)
			 : script->tasks ? TASK_ARGUMENTS
					 : TOOL_ARGUMENTS);
	add_pair(&words, "-l", number(rig, (uint64_t)rig->options.latency_ms));
	add_pair(&words, "-r", number(rig, script->rounds));
	add_pair(&words, "-c", number(rig, script->parallel));
	add_pair(&words, "-b", number(rig, script->bytes));
	add_pair(&words, "-t", number(rig, script->tokens));
	add_pair(&words, "-g", number(rig, script->gap_ms));
	start(rig, RIG_SERVER, &words, NULL);
	rig->port = (unsigned)strtoul(read_line(rig, in(rig, "port")), NULL, 10);
}

/* The words that every one of our programs has. */
static struct words
program_words(const struct rig *rig, const char *name)
{
	struct words words = { { 0 }, 0 };

	add_word(&words, program(rig, name));
	add_pair(&words, "--log-level", "warn");
	return words;
}

static void
add_brokers(const struct rig *rig, struct words *words)
{
	const char *const *broker = (const char *const *)rig->brokers;

	for (; *broker != NULL; broker++)
		add_pair(words, "--broker", *broker);
	if (rig->plugin != NULL)
		add_pair(words, "--plugin", rig->plugin);
}

static void
start_broker(struct rig *rig, unsigned copy)
{
	struct words words = program_words(rig, "broker");

	add_pair(&words, "--bind", rig->brokers[copy]);
	add_pair(&words, "--status-bind", rig->status[copy]);
	start(rig, RIG_BROKER, &words, NULL);
}

static void
start_model(struct rig *rig)
{
	const char *const env[] = { arena_printf(rig->arena,
					"OPENAI_BASE_URL=http://127.0.0.1:%u/v1",
					rig->port),
		"OPENAI_API_KEY=bench", NULL };
	struct words words = program_words(rig, "worker-model");

	add_brokers(rig, &words);
	add_pair(&words, "--slots", rig->slots);
	start(rig, RIG_MODEL, &words, env);
}

static void
start_tools(struct rig *rig)
{
	struct words words = program_words(rig, "worker-tools");

	add_brokers(rig, &words);
	add_pair(&words, "--builtin", RIG_TOOL);
	add_pair(&words, "--slots", rig->slots);
	start(rig, RIG_TOOLS, &words, NULL);
}

static void
add_coordinator_words(const struct rig *rig, struct words *words)
{
	add_pair(words, "--redis", rig->redis);
	if (rig->options.calls > COORDINATOR_SLOTS)
		add_pair(words, "--slots", rig->slots);
	add_pair(words, "--thread-ttl-ms", number(rig, (uint64_t)rig->options.keep_ms));
}

static void
start_coordinator(struct rig *rig)
{
	struct words words = program_words(rig, "coordinator");

	add_brokers(rig, &words);
	add_coordinator_words(rig, &words);
	start(rig, RIG_COORDINATOR, &words, NULL);
}

static void
start_hub(struct rig *rig)
{
	struct words words = program_words(rig, "hub");

	add_pair(&words, "--bind", rig->brokers[0]);
	add_pair(&words, "--status-bind", rig->status[0]);
	if (rig->plugin != NULL)
		add_pair(&words, "--plugin", rig->plugin);
	add_coordinator_words(rig, &words);
	start(rig, RIG_HUB, &words, NULL);
}

/* As `flotilla up` does it. */
static bool
has_hub(const struct rig_options *options)
{
	return options->brokers == 1 && options->coordinators == 1 && !options->apart;
}

static void
start_fleet(struct rig *rig)
{
	const struct rig_options *options = &rig->options;
	unsigned i;

	if (has_hub(options))
		start_hub(rig);
	for (i = 0; i < options->brokers && !has_hub(options); i++)
		start_broker(rig, i);
	for (i = 0; i < options->models; i++)
		start_model(rig);
	for (i = 0; i < options->tools; i++)
		start_tools(rig);
	for (i = 0; i < options->coordinators && !has_hub(options); i++)
		start_coordinator(rig);
}

/* --- the agent ----------------------------------------------------------------------- */

/* Returns the agent's file: that of the bench, or one of the folder with what is asked for. */
static const char *
agent_file(const struct rig *rig)
{
	const char *path = in(rig, "agent.yaml");

	if (rig->plugin == NULL && !rig->options.script.tasks)
		return AGENT_FILE;
	rig_agent_write(path, &rig->options);
	return path;
}

static void
apply_agent(const struct rig *rig)
{
	const char *path = agent_file(rig);
	struct words words = program_words(rig, "flotilla");
	struct child *apply;
	int status;

	words.count = 1; /* no log level */
	add_word(&words, "agents");
	add_pair(&words, "--redis", rig->redis);
	if (rig->plugin != NULL)
		add_pair(&words, "--plugin", rig->plugin);
	add_word(&words, "--json");
	add_pair(&words, "apply", path);
	words.list[words.count] = NULL;
	apply = child_spawn(words.list, NULL);
	status = child_wait(&apply);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		errx(EXIT_FAILURE, "the agent of %s was not applied", path);
}

static unsigned
or_one(unsigned count)
{
	if (count > RIG_COPIES_MAX)
		errx(EXIT_FAILURE, "at most %u processes of a kind", RIG_COPIES_MAX);
	return count == 0 ? 1 : count;
}

static void
fill_in(struct rig *rig, const struct rig_options *asked)
{
	struct rig_options *options = &rig->options;
	unsigned i;

	*options = *asked;
	options->brokers = or_one(asked->brokers);
	options->coordinators = or_one(asked->coordinators);
	options->models = or_one(asked->models);
	options->tools = or_one(asked->tools);
	if (options->script.rounds == 0)
		options->script.rounds = RIG_ROUNDS;
	rig->redis = arena_printf(rig->arena, "unix://%s", in(rig, "redis"));
	for (i = 0; i < options->brokers; i++) {
		rig->brokers[i] =
		    arena_printf(rig->arena, "ipc://%s/broker%u", rig->folder, i);
		rig->status[i] =
		    arena_printf(rig->arena, "ipc://%s/status%u", rig->folder, i);
	}
	rig->slots = number(rig, options->calls);
	if (options->layers > 0 || options->script.bytes > 0)
		rig->plugin =
		    arena_printf(rig->arena, "%s/plugins/bench_layer.so", rig->build);
}

struct rig *
rig_start(const struct rig_options *options)
{
	struct rig *rig = xcalloc(1, sizeof *rig);
	char path[USAGE_PATH_BYTES];

	rig->arena = arena_new();
	rig->folder = folder_new();
	rig->build = arena_strdup(rig->arena, usage_build(path));
	fill_in(rig, options);
	start_redis(rig);
	start_server(rig);
	start_fleet(rig);
	apply_agent(rig);
	/* Only now: the socket it said READY=1 on is closed after that. */
	rig->server_files = usage_open_files(child_pid(rig->children[RIG_SERVER][0]));
	return rig;
}

/* --- ending -------------------------------------------------------------------------- */

/* No run is under way; who is connected to ends behind who would miss it. */
static const enum rig_part ending[] = { RIG_MODEL, RIG_TOOLS, RIG_COORDINATOR, RIG_HUB,
	RIG_BROKER, RIG_SERVER, RIG_REDIS };

static void
end(struct rig **rig_p, void end_child(struct child **child_p))
{
	struct rig *rig = *rig_p;
	unsigned i, copy;

	for (i = 0; i < sizeof ending / sizeof *ending; i++)
		for (copy = 0; copy < rig->copies[ending[i]]; copy++)
			end_child(&rig->children[ending[i]][copy]);
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
	double sum = 0;
	unsigned i;

	for (i = 0; i < rig->copies[part]; i++)
		sum += usage_cpu_us(child_pid(rig->children[part][i]));
	return sum;
}

static size_t
sum_bytes(const struct rig *rig, enum rig_part part, size_t bytes_of(pid_t pid))
{
	size_t sum = 0;
	unsigned i;

	for (i = 0; i < rig->copies[part]; i++)
		sum += bytes_of(child_pid(rig->children[part][i]));
	return sum;
}

size_t
rig_resident_bytes(const struct rig *rig, enum rig_part part)
{
	return sum_bytes(rig, part, usage_resident_bytes);
}

size_t
rig_peak_bytes(const struct rig *rig, enum rig_part part)
{
	return sum_bytes(rig, part, usage_peak_bytes);
}

void
rig_forget_peaks(const struct rig *rig)
{
	unsigned part, i;

	for (part = 0; part < RIG_FLEET; part++)
		for (i = 0; i < rig->copies[part]; i++)
			usage_forget_peak(child_pid(rig->children[part][i]));
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

	snprintf(path, sizeof path, "/proc/%d/io",
	    (int)child_pid(rig->children[RIG_SERVER][0]));
	file = fopen(path, "re");
	if (file == NULL || fscanf(file, "rchar: %llu", &bytes) != 1)
		err(EXIT_FAILURE, "%s", path);
	fclose(file);
	return bytes;
}

void
rig_await_connections(const struct rig *rig, size_t calls)
{
	usage_await_files(
	    child_pid(rig->children[RIG_SERVER][0]), rig->server_files + calls);
}
