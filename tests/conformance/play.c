#include "play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "json.h"
#include "process.h"
#include "round.h"
#include "store_agents.h"

#define STEP_MS 20000u
#define KNOWN_MS 10000u

/* --- before a scenario ------------------------------------------------------------------------ */

static void
control(struct player *player, struct arena *arena, const char *method, const char *path,
    const char *body, struct http_response *response)
{
	struct http_request request = { .method = method,
		.url = arena_printf(arena, "%s%s", fleet_server(player->fleet), path),
		.body = body,
		.body_size = body != NULL ? strlen(body) : 0,
		.timeout_ms = 5000 };

	http_send(player->http, arena, &request, response);
	if (response->failure != HTTP_OK || response->status / 100 != 2) {
		fprintf(stderr, "scripted server: %s %s: %s %ld %s\n", method, path,
		    response->reason != NULL ? response->reason : "", response->status,
		    response->body != NULL ? response->body : "");
		exit(EXIT_FAILURE);
	}
}

/* The tools that probes bring, with their outcomes. */
static const struct value *
probe_tools(struct arena *arena, const struct value *agent)
{
	const struct value *middleware = value_get(agent, "middleware");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(middleware); i++)
		value_list_add_all(&list,
		    value_get(value_get(value_at(middleware, i), "probe"), "tools"));
	return value_list_end(&list);
}

static bool
knows(const struct value *known, const struct value *tools)
{
	size_t i;

	for (i = 0; i < value_size(tools); i++) {
		const struct value *tool = value_at(tools, i);
		const struct value *other =
		    value_get(known, value_get_text(tool, "name"));

		if (!value_equal(
			value_get(other, "parameters"), value_get(tool, "parameters")) ||
		    value_get_bool(other, "return_direct", false) !=
			value_get_bool(tool, "return_direct", false))
			return false;
	}
	return true;
}

/* Waits until the coordinator has heard of the scenario's tools: it stores what is new. */
static void
wait_known(struct player *player, const struct value *tools)
{
	uint64_t deadline = loop_now_ms(player->client->loop) + KNOWN_MS;
	bool done = false;

	while (!done && loop_now_ms(player->client->loop) < deadline) {
		struct arena *arena = arena_new();
		const struct value *known;

		done = store_tools(player->client->store, arena, &known) == STORE_OK &&
		       knows(known, tools);
		arena_destroy(&arena);
		if (!done)
			fiber_sleep(2);
	}
}

/* Applies the agent as a user would. Returns NULL, or what the command line said. */
static const char *
apply_agent(struct player *player, struct arena *arena, const struct value *agent,
    const char *name)
{
	const char *path =
	    arena_printf(arena, "%s/%s.json", fleet_folder(player->fleet), name);
	const char *argv[] = { fleet_cli(player->fleet), "agents", "apply", "--redis",
		fleet_redis(player->fleet), "--plugin", fleet_probe(player->fleet), path,
		NULL };
	struct process_options options = { .argv = argv,
		.env = (const char *const[]){ "PATH=/usr/bin:/bin", NULL },
		.output_bytes_max = 65536,
		.error_bytes_max = 65536,
		.timeout_ms = 30000 };
	struct process_result result;
	FILE *file = fopen(path, "we");

	if (file == NULL) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	fputs(json_text(arena, agent), file);
	fclose(file);
	process_run(player->client->loop, arena, &options, &result);
	if (result.end == PROCESS_EXITED && result.status == 0)
		return NULL;
	return result.error_size > 0 ? result.error
				     : "agents apply failed without a word";
}

/* --- a step --------------------------------------------------------------------------------------- */

static void
submit(struct player *player, struct arena *arena, const char *agent, const char *run,
    const char *thread, const struct value *scenario, const struct value *step)
{
	const struct value *context = value_get(scenario, "context");
	bool resumes = value_has(step, "resume") && !value_has(step, "input");
	const char *field = resumes ? "resume" : "input";

	client_submit(player->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread", value_str(arena, thread), field,
		value_str(arena, json_text(arena, value_get(step, field))), "context",
		context != NULL ? value_str(arena, json_text(arena, context)) : NULL,
		NULL));
}

/* --- what happened ---------------------------------------------------------------------------------- */

/* {id, name, args} of a call as it stands in a request body: args parsed where they are JSON. */
static const struct value *
request_calls(struct arena *arena, const struct value *calls)
{
	struct value_list list = { .arena = arena };
	size_t i;

	if (value_size(calls) == 0)
		return NULL;
	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);
		const struct value *function = value_get(call, "function");
		const struct value *text = value_get(function, "arguments"), *args = NULL;
		const char *error;

		if (value_is(text, VALUE_STR))
			args = json_parse(arena, text->text, text->size, &error);
		value_list_add(&list, value_map(arena, "id", value_get(call, "id"),
					  "name", value_get(function, "name"), "args",
					  args != NULL ? args : text, NULL));
	}
	return value_list_end(&list);
}

static const struct value *
request_messages(struct arena *arena, const struct value *messages)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		value_list_add(
		    &list, value_map(arena, "role", value_get(message, "role"), "content",
			       value_get(message, "content"), "tool_calls",
			       request_calls(arena, value_get(message, "tool_calls")),
			       "tool_call_id", value_get(message, "tool_call_id"), NULL));
	}
	return value_list_end(&list);
}

static const struct value *
request_tools(struct arena *arena, const struct value *tools)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		value_list_add(
		    &list, value_get(value_get(value_at(tools, i), "function"), "name"));
	return value_list_end(&list);
}

static const struct value *
requests(struct player *player, struct arena *arena)
{
	struct value_list list = { .arena = arena };
	struct http_response response;
	const struct value *all;
	const char *error;
	size_t i;

	control(player, arena, "GET", "/requests", NULL, &response);
	all = json_parse(arena, response.body, response.body_size, &error);
	for (i = 0; i < value_size(all); i++) {
		const struct value *body = value_get(value_at(all, i), "body");

		value_list_add(
		    &list, value_map(arena, "model", value_get(body, "model"), "messages",
			       request_messages(arena, value_get(body, "messages")),
			       "tools", request_tools(arena, value_get(body, "tools")),
			       "tool_choice", value_get(body, "tool_choice"),
			       "response_format", value_get(body, "response_format"),
			       "temperature", value_get(body, "temperature"), "top_p",
			       value_get(body, "top_p"), NULL));
	}
	control(player, arena, "DELETE", "/requests", NULL, &response);
	return value_list_end(&list);
}

/* The values of one kind in the probe's log. */
static const struct value *
logged(struct arena *arena, const struct value *log, const char *kind)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(log); i++)
		if (value_has(value_at(log, i), kind))
			value_list_add(&list, value_get(value_at(log, i), kind));
	return value_list_end(&list);
}

/* The values of the interrupts that wait. */
static const struct value *
asked(struct arena *arena, const struct value *interrupts)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(interrupts); i++)
		value_list_add(&list, value_get(value_at(interrupts, i), "value"));
	return value_list_end(&list);
}

static const struct value *
play_step(struct player *player, struct arena *arena, const char *name, const char *agent,
    const struct value *scenario, size_t index)
{
	const char *run = arena_printf(arena, "%s-run%zu", name, index);
	const char *thread = arena_printf(arena, "%s-thread", name);
	long log_from = fleet_log_end(player->fleet);
	const struct value *record = NULL, *state = NULL, *log, *output, *fault;
	bool ended;

	submit(player, arena, agent, run, thread, scenario,
	    value_at(value_get(scenario, "steps"), index));
	ended = client_wait_end(player->client, thread, run, STEP_MS);
	store_run(player->client->store, arena, thread, run, &record);
	store_thread(player->client->store, arena, thread, &state);
	log = fleet_log(player->fleet, arena, log_from);
	output = value_get(record, "output");
	fault = value_get(record, "fault");
	return value_map(arena, "status",
	    ended ? value_get(record, "status") : value_str(arena, "timeout"), "error",
	    value_get(fault, "message"), "messages",
	    round_messages(arena, value_get(state, "head"),
		value_get(state, "messages") != NULL ? value_get(state, "messages")
						     : value_empty_array()),
	    "state", value_map_with(arena, output, "structured_response", NULL),
	    "structured_response", value_get(output, "structured_response"), "interrupts",
	    asked(arena, value_get(record, "interrupts")), "requests",
	    requests(player, arena), "trace", logged(arena, log, "trace"), "tool_calls",
	    logged(arena, log, "tool_call"), "seen", logged(arena, log, "seen"), NULL);
}

/* A run refused or failed before it did anything, in a scenario that expects the agent to be
 * refused: its error is the create_error. */
static bool
refused_at_run(const struct value *scenario, const struct value *step)
{
	const struct value *expected =
	    value_get(value_at(value_get(scenario, "steps"), 0), "expect");

	return (value_has(scenario, "create_error") ||
		   value_has(value_get(scenario, "expect"), "create_error") ||
		   value_has(expected, "create_error")) &&
	       value_size(value_get(step, "requests")) == 0 && value_has(step, "error");
}

const struct value *
play_scenario(struct player *player, struct arena *arena, const struct value *scenario)
{
	const char *name = arena_printf(arena, "scenario-%u", ++player->number);
	const struct value *agent = value_get(scenario, "agent");
	const struct value *tools = value_get(scenario, "tools");
	const struct value *script = value_get(scenario, "script");
	struct value_list steps = { .arena = arena };
	struct http_response response;
	const char *called = name, *error;
	size_t i;

	control(player, arena, "PUT", "/script",
	    json_text(arena, script != NULL ? script : value_empty_map()), &response);
	control(player, arena, "DELETE", "/requests", NULL, &response);
	error = apply_agent(player, arena, agent, name);
	if (error != NULL)
		return value_map(arena, "create_error", value_str(arena, error), NULL);
	fleet_play_tools(player->fleet, arena,
	    tools != NULL ? tools : value_empty_array(), probe_tools(arena, agent));
	wait_known(player, tools);
	if (value_get_text(agent, "name") != NULL)
		called = value_get_text(agent, "name");
	for (i = 0; i < value_size(value_get(scenario, "steps")); i++) {
		const struct value *step =
		    play_step(player, arena, name, called, scenario, i);

		if (refused_at_run(scenario, step))
			return value_map(
			    arena, "create_error", value_get(step, "error"), NULL);
		value_list_add(&steps, step);
	}
	return value_map(arena, "steps", value_list_end(&steps), NULL);
}
