#include "scenarios.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "model_replies.h"

#define EVERYSEC "everysec"
#define ALWAYS "always"
#define RUNS_PER_S                                                                       \
	1500.0         /* of two cores, at most: only to guess how many take a second */
#define SLOW_MS 120000 /* of a model that is waited for */
#define NAME_BYTES 48u

/* Throughput: all of these, by latency and fsync. */
static const size_t in_flights[] = { 1, 16, 64, 256, 1000 };
static const int64_t latencies[] = { 0, 50, 500 };
static const char *const fsyncs[] = { EVERYSEC, ALWAYS };

#define TOOLS "8 tool calls in each step; beside it 64 in flight with 1"
#define TASKS                                                                            \
	"each tool call is a task of an agent that makes one model call; beside it 64 "  \
	"in flight with a tool"
#define STREAM                                                                           \
	"streamed: each answer in 500 tokens (one write of the server; or one each 10 "  \
	"ms)"
#define WATCHED                                                                          \
	"every event of every run is listened to; beside it 64 in flight, ends alone"
#define BODIES "every message so large (8 messages a run)"
#define LAYERS "layers of middleware that do nothing"
#define APART                                                                            \
	"broker and coordinator in two processes; beside it runs-1, runs-64: one, a hub"
#define SCALE "processes of a kind (256 in flight, model latency 50 ms)"
#define MANY "10,000 runs in flight, 2 s a model call"
#define WAITING "memory of a run that waits for a model"

#define SCRIPT(...) .script = { __VA_ARGS__ }
#define RIG(...) .rig = { .fsync = EVERYSEC, __VA_ARGS__ }

static const struct scenario others[] = {
	{ .name = "tools-8",
	    .group = TOOLS,
	    .in_flight = 64,
	    .is_short = true,
	    RIG(SCRIPT(.parallel = 8)) },
	{ .name = "tools-8-always",
	    .group = TOOLS,
	    .in_flight = 64,
	    .rig = { .fsync = ALWAYS, SCRIPT(.parallel = 8) } },
	{ .name = "tools-8-alone",
	    .group = TOOLS,
	    .in_flight = 1,
	    RIG(SCRIPT(.parallel = 8)) },

	{ .name = "tasks",
	    .group = TASKS,
	    .in_flight = 64,
	    .is_short = true,
	    RIG(SCRIPT(.tasks = true)) },
	{ .name = "tasks-8",
	    .group = TASKS,
	    .in_flight = 64,
	    RIG(SCRIPT(.tasks = true, .parallel = 8)) },
	{ .name = "tasks-alone",
	    .group = TASKS,
	    .in_flight = 1,
	    RIG(SCRIPT(.tasks = true)) },

	{ .name = "tokens-500",
	    .group = STREAM,
	    .in_flight = 64,
	    .stream = true,
	    .is_short = true,
	    RIG(SCRIPT(.bytes = 2500, .tokens = 500)) },
	{ .name = "tokens-500-not-streamed",
	    .group = STREAM,
	    .in_flight = 64,
	    RIG(SCRIPT(.bytes = 2500, .tokens = 500)) },
	{ .name = "tokens-500-alone",
	    .group = STREAM,
	    .in_flight = 1,
	    .stream = true,
	    RIG(SCRIPT(.bytes = 2500, .tokens = 500)) },
	{ .name = "tokens-500-each-10-ms",
	    .group = STREAM,
	    .in_flight = 64,
	    .runs = 64,
	    .stream = true,
	    RIG(SCRIPT(.bytes = 2500, .tokens = 500, .gap_ms = 10)) },

	{ .name = "watched",
	    .group = WATCHED,
	    .in_flight = 64,
	    .watched = true,
	    .is_short = true,
	    RIG(SCRIPT(0)) },

	{ .name = "apart-1",
	    .group = APART,
	    .in_flight = 1,
	    .is_short = true,
	    RIG(.apart = true) },
	{ .name = "apart-64",
	    .group = APART,
	    .in_flight = 64,
	    .is_short = true,
	    RIG(.apart = true) },

	{ .name = "bodies-300",
	    .group = BODIES,
	    .in_flight = 64,
	    RIG(SCRIPT(.bytes = 300)) },
	{ .name = "bodies-10k",
	    .group = BODIES,
	    .in_flight = 64,
	    .is_short = true,
	    RIG(SCRIPT(.bytes = 10000)) },
	{ .name = "bodies-200k",
	    .group = BODIES,
	    .in_flight = 16,
	    .is_short = true,
	    RIG(SCRIPT(.bytes = 200000)) },

	{ .name = "layers-0",
	    .group = LAYERS,
	    .in_flight = 64,
	    .is_short = true,
	    RIG(0) },
#define LAYER(kind, which, number, in_short)                                             \
	{                                                                                \
		.name = "layers-" kind "-" #number, .group = LAYERS, .in_flight = 64,    \
		.is_short = (in_short), .base = "layers-0",                              \
		RIG(.layer = (which), .layers = (number))                                \
	}
	LAYER("c-wrap", RIG_C_WRAP, 5, false),
	LAYER("c-wrap", RIG_C_WRAP, 20, true),
	LAYER("c-node", RIG_C_NODE, 5, false),
	LAYER("c-node", RIG_C_NODE, 20, true),
	LAYER("lua-wrap", RIG_LUA_WRAP, 5, false),
	LAYER("lua-wrap", RIG_LUA_WRAP, 20, false),
	LAYER("lua-node", RIG_LUA_NODE, 5, false),
	LAYER("lua-node", RIG_LUA_NODE, 20, false),

#define COPIES(which, ...)                                                               \
	{                                                                                \
		.name = "scale-" which, .group = SCALE, .in_flight = 256,                \
		RIG(.latency_ms = 50, __VA_ARGS__)                                       \
	}
	COPIES("1", 0),
	COPIES("2-models", .models = 2),
	COPIES("4-models", .models = 4),
	COPIES("2-tools", .tools = 2),
	COPIES("4-tools", .tools = 4),
	COPIES("2-coordinators", .coordinators = 2),
	COPIES("4-coordinators", .coordinators = 4),
	COPIES("2-brokers", .brokers = 2),
	COPIES("4-brokers", .brokers = 4),
	{ .name = "scale-2-of-each",
	    .group = SCALE,
	    .in_flight = 256,
	    .is_short = true,
	    RIG(.latency_ms = 50, .models = 2, .tools = 2, .coordinators = 2,
		.brokers = 2) },

	{ .name = "many-10000",
	    .group = MANY,
	    .in_flight = 10000,
	    .is_long = true,
	    .runs = 10000,
	    .is_short = true,
	    RIG(.latency_ms = 2000) },
	{ .name = "many-10000-always",
	    .group = MANY,
	    .in_flight = 10000,
	    .is_long = true,
	    .runs = 10000,
	    .rig = { .fsync = ALWAYS, .latency_ms = 2000 } },
	{ .name = "many-10000-2-of-each",
	    .group = MANY,
	    .in_flight = 10000,
	    .is_long = true,
	    .runs = 10000,
	    RIG(.latency_ms = 2000, .models = 2, .tools = 2, .coordinators = 2) },

	{ .name = "waiting-1000",
	    .group = WAITING,
	    .measure = MEASURE_WAITING,
	    .in_flight = 1000,
	    RIG(.latency_ms = SLOW_MS) },
	{ .name = "waiting-10000",
	    .group = WAITING,
	    .measure = MEASURE_WAITING,
	    .in_flight = 10000,
	    .is_long = true,
	    .is_short = true,
	    RIG(.latency_ms = SLOW_MS) },
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* --- throughput -------------------------------------------------------------------- */

/* The group's sentence and the row's name last as long as the process. */
static struct scenario
throughput(
    const char *fsync, int64_t latency_ms, size_t in_flight, char *name, char *group)
{
	bool is_always = strcmp(fsync, ALWAYS) == 0;
	const struct scenario scenario = {
		.name = name,
		.group = group,
		.in_flight = in_flight,
		.is_short = latency_ms == 0 && in_flight != 16 && in_flight != 256 &&
			    (!is_always || in_flight != 1000),
		.rig = { .fsync = fsync, .latency_ms = latency_ms },
	};

	snprintf(name, NAME_BYTES, "runs-%zu-%s-%lld", in_flight, fsync,
	    (long long)latency_ms);
	snprintf(group, NAME_BYTES, "appendfsync %s, model latency %lld ms", fsync,
	    (long long)latency_ms);
	return scenario;
}

struct scenario *
scenarios_new(size_t *count_r)
{
	static char names[LENGTH(fsyncs) * LENGTH(latencies) * LENGTH(in_flights)]
			 [NAME_BYTES];
	static char groups[LENGTH(names)][NAME_BYTES];
	struct scenario *list = xcalloc(LENGTH(names) + LENGTH(others) + 1, sizeof *list);
	size_t fsync, latency, i, count = 0;

	for (latency = 0; latency < LENGTH(latencies); latency++)
		for (fsync = 0; fsync < LENGTH(fsyncs); fsync++)
			for (i = 0; i < LENGTH(in_flights); i++, count++)
				list[count] =
				    throughput(fsyncs[fsync], latencies[latency],
					in_flights[i], names[count], groups[count]);
	memcpy(list + count, others, sizeof others);
	*count_r = count + LENGTH(others);
	return list;
}

/* --- what follows from a row --------------------------------------------------------- */

static unsigned
rounds_of(const struct scenario *scenario)
{
	unsigned rounds = scenario->rig.script.rounds;

	return rounds == 0 ? RIG_ROUNDS : rounds;
}

unsigned
scenario_calls(const struct scenario *scenario)
{
	return rounds_of(scenario) + 1;
}

struct load_kind
scenario_kind(const struct scenario *scenario)
{
	const struct rig_script *script = &scenario->rig.script;

	return (struct load_kind){
		.is_watched = scenario->stream || scenario->watched,
		.stream = scenario->stream,
		.input_bytes = script->bytes,
		.rounds = rounds_of(scenario),
		.parallel = script->parallel == 0 ? 1 : script->parallel,
		.content_bytes = script->bytes,
		.answer = script->bytes > 0 ? NULL
			  : script->tasks   ? FINAL_TEXT
					    : RIG_TOOL_ANSWER,
		.pace_ms = scenario_pace_ms(scenario),
	};
}

double
scenario_pace_ms(const struct scenario *scenario)
{
	const struct rig_script *script = &scenario->rig.script;
	double call_ms = (double)scenario->rig.latency_ms;

	if (scenario->stream)
		call_ms += (double)script->tokens * script->gap_ms;
	return call_ms * scenario_calls(scenario);
}

/* A hundred messages of the usual size cost about as much as one of 100 KB; eight tool calls
 * as much as two runs. */
size_t
scenario_runs(const struct scenario *scenario, double seconds)
{
	const struct rig_script *script = &scenario->rig.script;
	double tasks = script->tasks ? (script->parallel > 0 ? script->parallel : 1) : 0;
	double weight = 1 + 2 * tasks + (double)script->bytes / 5000 +
			script->parallel / 4.0 + (double)scenario->rig.layers / 20;
	double rate = RUNS_PER_S / weight, runs;
	double alone = (double)scenario->in_flight * 1000 /
		       (scenario_pace_ms(scenario) + 4 * weight);

	if (scenario->runs > 0)
		return scenario->runs;
	runs = seconds * (alone < rate ? alone : rate);
	if (runs < 2.0 * (double)scenario->in_flight)
		runs = 2.0 * (double)scenario->in_flight;
	return runs < 10 ? 10 : (size_t)runs;
}

static void
add(char *text, size_t size, const char *name, int64_t value)
{
	size_t length = strlen(text);

	if (value > 0)
		snprintf(
		    text + length, size - length, " %s=%lld", name, (long long)value);
}

void
scenario_describe(const struct scenario *scenario, char *text, size_t size)
{
	const struct rig_options *rig = &scenario->rig;

	snprintf(text, size, "fsync=%s", rig->fsync);
	add(text, size, "latency_ms", rig->latency_ms);
	add(text, size, "apart", rig->apart);
	add(text, size, "brokers", rig->brokers);
	add(text, size, "coordinators", rig->coordinators);
	add(text, size, "models", rig->models);
	add(text, size, "tools", rig->tools);
	add(text, size, "tasks", rig->script.tasks);
	add(text, size, "parallel", rig->script.parallel);
	add(text, size, "bytes", (int64_t)rig->script.bytes);
	add(text, size, "tokens", scenario->stream ? rig->script.tokens : 0);
	add(text, size, "gap_ms", rig->script.gap_ms);
	add(text, size, "layers", rig->layers);
}
