/* bench-http: what runs cost by LangGraph's API, as a line (../line.h): of a fleet with `flotilla serve` before it, or of
 * another server that is there (../peer/langgraph.mjs).
 *
 *	bench-http [--fsync everysec] [--in-flight 64] [--runs 3000] [--tokens 0]
 *	    [--url URL --pid PID --name NAME] */
#include <err.h>
#include <stdlib.h>
#include <unistd.h>

#include "children.h"
#include "http_load.h"
#include "../line.h"
#include "memory.h"
#include "../rig.h"
#include "settings.h"
#include "socket.h"
#include "../dispatch/stream.h"
#include "../usage.h"

#define WARM_UP_RUNS 100u
#define SLOTS_MIN 64
#define TOKENS_MAX 10000

struct options {
	const char *fsync, *url, *name;
	int64_t in_flight, runs, tokens, gap_ms, pid;
};

#define FIELD(field) offsetof(struct options, field)
static const struct setting table[] = {
	{ "fsync", SETTING_TEXT, FIELD(fsync), "everysec", 0, 0, NULL,
	    "Redis's appendfsync, of a fleet", 0 },
	{ "in-flight", SETTING_INTEGER, FIELD(in_flight), "64", 1, 10000, NULL,
	    "runs in flight", 0 },
	{ "runs", SETTING_INTEGER, FIELD(runs), "3000", 1, 1000000, NULL, "runs", 0 },
	{ "tokens", SETTING_INTEGER, FIELD(tokens), "0", 0, TOKENS_MAX, NULL,
	    "that each answer is streamed in, by runs/stream; 0: by runs/wait", 0 },
	{ "gap-ms", SETTING_INTEGER, FIELD(gap_ms), "0", 0, 1000, "ms",
	    "between two of them", 0 },
	{ "url", SETTING_TEXT, FIELD(url), NULL, 0, 0, NULL,
	    "another server, which has the assistant \"bench\"; without: a fleet", 0 },
	{ "pid", SETTING_INTEGER, FIELD(pid), "0", 0, INT32_MAX, NULL,
	    "that server's process, whose CPU time counts", 0 },
	{ "name", SETTING_TEXT, FIELD(name), "langgraph", 0, 0, NULL,
	    "that server's name", 0 },
	{ .name = NULL },
};

/* --- the fleet ---------------------------------------------------------------------------- */

struct served {
	struct rig *rig;
	struct child *serve;
	struct arena *arena;
};

/* What it says of where it listens is none of our lines. */
static struct child *
start_aside(const char *const argv[])
{
	int out = dup(STDOUT_FILENO);
	struct child *child;

	if (out == -1 || dup2(STDERR_FILENO, STDOUT_FILENO) == -1)
		err(EXIT_FAILURE, "stdout");
	child = child_start(argv, NULL);
	if (dup2(out, STDOUT_FILENO) == -1)
		err(EXIT_FAILURE, "stdout");
	close(out);
	return child;
}

static const char *
start_served(struct served *served, const struct options *options)
{
	const struct rig_options rig_options = { .fsync = options->fsync,
		.calls =
		    (size_t)(options->in_flight < SLOTS_MIN ? SLOTS_MIN
							    : options->in_flight + 1),
		.script = { .tokens = (unsigned)options->tokens,
		    .gap_ms = (unsigned)options->gap_ms,
		    .bytes = (size_t)options->tokens * HTTP_LOAD_TOKEN_BYTES } };
	char path[USAGE_PATH_BYTES];
	const char *address;

	served->arena = arena_new();
	served->rig = rig_start(&rig_options);
	address = arena_printf(served->arena, "127.0.0.1:%u", stream_free_port());
	served->serve = start_aside((const char *[]){
	    arena_printf(served->arena, "%s/bin/flotilla", usage_build(path)), "serve",
	    "--listen", address, "--redis", rig_redis(served->rig), "--broker",
	    rig_brokers(served->rig)[0], "--status", rig_status(served->rig)[0], NULL });
	return arena_printf(served->arena, "http://%s", address);
}

static void
stop_served(struct served *served)
{
	child_stop(&served->serve);
	rig_stop(&served->rig);
	arena_destroy(&served->arena);
}

/* --- measuring ---------------------------------------------------------------------------- */

/* Behind the fleet's parts, the server. */
static void
read_cpu(const struct served *served, const struct options *options,
    double cpu_us[RIG_FLEET + 1])
{
	int part;

	for (part = 0; part < RIG_FLEET; part++)
		cpu_us[part] = served->rig == NULL
				   ? 0
				   : rig_cpu_us(served->rig, (enum rig_part)part);
	cpu_us[RIG_FLEET] = usage_cpu_us(
	    served->rig == NULL ? (pid_t)options->pid : child_pid(served->serve));
}

static void
add_parts(struct line *line, char parts[LINE_PARTS_BYTES], bool is_fleet,
    const double before[], const double after[])
{
	double used;
	int part;

	for (part = 0; part <= RIG_FLEET; part++) {
		used = (after[part] - before[part]) / (double)line->count;
		line->cpu_us += used;
		if (used > 0)
			line_add_part(parts,
			    part < RIG_FLEET ? rig_part_name((enum rig_part)part)
			    : is_fleet       ? "serve"
					     : "node",
			    used);
	}
	line->parts = parts;
}

static void
measure(const struct options *options, struct loop *loop)
{
	struct served served = { 0 };
	bool is_fleet = options->url == NULL;
	const char *url = is_fleet ? start_served(&served, options) : options->url;
	const struct http_load_kind kind = { url, (size_t)options->in_flight,
		(size_t)options->tokens };
	size_t runs = (size_t)options->runs;
	double *latencies_ms = xcalloc(runs, sizeof *latencies_ms), before[RIG_FLEET + 1],
	       after[RIG_FLEET + 1];
	char parts[LINE_PARTS_BYTES] = "";
	struct line line = { .measure = options->tokens > 0 ? "http-stream" : "http",
		.system = is_fleet ? "fleet" : options->name,
		.stored = is_fleet ? options->fsync : NULL,
		.in_flight = kind.in_flight,
		.count = runs };

	http_load_run(loop, &kind, runs < WARM_UP_RUNS ? runs : WARM_UP_RUNS, NULL);
	read_cpu(&served, options, before);
	line.per_s = (double)runs / http_load_run(loop, &kind, runs, latencies_ms);
	read_cpu(&served, options, after);
	add_parts(&line, parts, is_fleet, before, after);
	qsort(latencies_ms, runs, sizeof *latencies_ms, line_by_size);
	line.p50_ms = line_percentile(latencies_ms, runs, 0.50);
	line.p99_ms = line_percentile(latencies_ms, runs, 0.99);
	if (is_fleet)
		stop_served(&served);
	line_print(&line);
	free(latencies_ms);
}

int
main(int argc, char *argv[])
{
	static const struct settings_help help = { "bench-http", "",
		"Measures once what a run of 4 model calls and 3 tool calls costs by "
		"LangGraph's API." };
	struct options options;
	struct loop *loop;

	settings_parse(table, &options, &help, argc, argv, NULL);
	usage_raise_file_limit();
	loop = loop_new();
	measure(&options, loop);
	loop_destroy(&loop);
	settings_release(table, &options);
	socket_shutdown();
	return EXIT_SUCCESS;
}
