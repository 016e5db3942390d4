/* outcome_worker: a tool worker whose tools play scripted outcomes, for the conformance
 * scenarios (tests/conformance/scenarios/README.md, "tools"). It applies the wrap_tool_call
 * chain as the real one does; only the tools' bodies are scripted.
 *
 *	outcome_worker --broker ENDPOINT --outcomes FILE --plugin PROBE.so
 *
 * FILE holds {offered: [tool], hidden: [tool]}: hidden ones are played too, but not announced
 * (a middleware brings them). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "chain.h"
#include "fiber.h"
#include "json.h"
#include "log.h"
#include "memory.h"
#include "model_wish.h"
#include "probe_log.h"
#include "registry.h"
#include "seat.h"
#include "service.h"
#include "shell_session.h"
#include "worker.h"

struct outcome_settings {
	struct service_settings common;
	const char **brokers;
	const char *outcomes;
	const char **plugins;
};

static const struct setting table[] = {
	SERVICE_SETTINGS,
	{ "broker", SETTING_LIST, offsetof(struct outcome_settings, brokers), NULL, 0, 0,
	    NULL, "a broker's endpoint", 0 },
	{ "outcomes", SETTING_TEXT, offsetof(struct outcome_settings, outcomes), NULL, 0,
	    0, NULL, "the file with tools and outcomes", 0 },
	{ "plugin", SETTING_LIST, offsetof(struct outcome_settings, plugins), NULL, 0, 0,
	    NULL, "shared objects with middleware", 0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

struct outcomes {
	struct service *service;
	struct arena *arena;
	struct worker *worker;
	const struct value *tools;   /* [tool with outcomes] */
	const struct value *catalog; /* [tool] as announced */
	size_t *played;              /* calls of each tool so far */
	struct wire_service *services;
	struct seats *seats;
	char session[SESSION_BYTES + 1];
	char pin[sizeof SERVICE_WORKER_PREFIX + SESSION_BYTES];
};

#define MODEL_CALL_MS 60000u

/* One call. */
struct job {
	struct outcomes *outcomes;
	struct worker_call *call; /* NULL: its place is kept, or lost */
	struct seat *seat;
	unsigned model_calls;
};

static const struct value *
find_tool(const struct outcomes *outcomes, const char *name, size_t *index_r)
{
	size_t i;

	for (i = 0; i < value_size(outcomes->tools); i++) {
		if (value_text_is(
			value_get(value_at(outcomes->tools, i), "name"), name)) {
			*index_r = i;
			return value_at(outcomes->tools, i);
		}
	}
	return NULL;
}

/* --- playing -------------------------------------------------------------------------------- */

/* A command's update; its tool message answers the call that ran. */
static struct tool_result *
play_command(struct tool_request *request, const struct value *command)
{
	struct arena *arena = tool_arena(request);
	const struct value *update = value_get(command, "update");
	const struct value *messages = value_get(update, "messages");
	struct value_list list = { .arena = arena };
	const struct value *one;
	struct tool_result *result;
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (chat_is(message, "tool"))
			message = value_map_with(arena, message, "tool_call_id",
			    value_str(arena, tool_call_id(request)));
		value_list_add(&list, message);
	}
	if (messages != NULL)
		update = value_map_with(arena, update, "messages", value_list_end(&list));
	result = tool_command(request, update != NULL ? update : value_empty_map());
	if (value_has(command, "goto") && result->fault == NULL) {
		one = value_map_with(arena, value_at(result->commands, 0), "goto",
		    value_get(command, "goto"));
		result->commands = value_array(arena, &one, 1);
	}
	return result;
}

static struct tool_result *
play(struct tool_request *request, const struct value *outcome)
{
	struct arena *arena = tool_arena(request);
	int64_t sleep_ms = value_get_int(outcome, "sleep_ms", 0);
	const char *type = value_get_text(outcome, "error_type");

	if (sleep_ms > 0 && hook_sleep((uint64_t)sleep_ms) == -1)
		return tool_fail(request, fault_cancelled(arena));
	if (value_has(outcome, "error"))
		return tool_fail(
		    request, fault_new(arena, type != NULL ? type : "Exception", "%s",
				 value_get_text(outcome, "error")));
	if (value_has(outcome, "command"))
		return play_command(request, value_get(outcome, "command"));
	if (value_get_bool(outcome, "echo", false))
		return tool_answer(
		    request, json_text(arena, tool_args(request)), "success");
	return tool_answer(request,
	    chat_text(
		arena, value_map(arena, "content", value_get(outcome, "return"), NULL)),
	    "success");
}

static int
run_tool(void *arg, struct tool_request *request, struct tool_result **result_r)
{
	struct outcomes *outcomes = ((const struct job *)arg)->outcomes;
	struct arena *arena = tool_arena(request);
	size_t index, count;
	const struct value *tool = find_tool(outcomes, tool_name(request), &index), *list;

	if (tool == NULL) {
		const struct tool *brought = chain_brought_tool(request);

		if (brought == NULL)
			return -1;
		*result_r = brought->run(request);
		return 0;
	}
	probe_log(arena, "trace", value_printf(arena, "tool:%s", tool_name(request)));
	probe_log(arena, "tool_call",
	    value_map(arena, "name", value_str(arena, tool_name(request)), "args",
		tool_args(request), NULL));
	list = value_get(tool, "outcomes");
	count = outcomes->played[index]++;
	if (count >= value_size(list))
		count = value_size(list) > 0 ? value_size(list) - 1 : 0;
	*result_r = play(request, value_at(list, count));
	return 0;
}

static const struct value *
find_definition(void *arg, const char *name)
{
	struct outcomes *outcomes = ((const struct job *)arg)->outcomes;
	size_t index;

	return find_tool(outcomes, name, &index);
}

/* A wrap's own model call (an emulator's): through the broker, as the real worker does. */
static const struct value *
call_model(void *arg, struct tool_request *request, const struct value *wish)
{
	struct job *job = arg;
	const struct value *body = model_wish_send(
	    job->call, wish, ++job->model_calls, MODEL_CALL_MS, WIRE_INTERNAL);

	return body != NULL ? value_copy(tool_arena(request), body) : NULL;
}

static const struct value *
on_await(void *arg, const struct value *ask, size_t index)
{
	return seat_await(((struct job *)arg)->seat, ask, index);
}

static const struct value *
run_in_seat(void *arg, struct seat *seat, struct arena *arena,
    const struct value *profile, const struct value *request)
{
	struct job *job = arg;
	struct tool_backend backend = { .run = run_tool,
		.find = find_definition,
		.call_model = call_model,
		.arg = job,
		.await_child = on_await };
	const char *error;
	struct chain *chain = chain_from_profile(arena, profile, &error);

	job->seat = seat;
	if (chain == NULL)
		return value_map(arena, "fault",
		    fault_to_value(arena, fault_new(arena, "ValueError", "%s", error)),
		    NULL);
	return chain_tool_call(arena, chain, profile, request,
	    arena_strdup(arena, job->call->header->idempotency_key), &backend);
}

static void
attach(void *arg, struct worker_call *call)
{
	((struct job *)arg)->call = call;
}

static const struct value *
answer(void *arg, struct worker_call *call)
{
	struct outcomes *outcomes = arg;
	const struct value *body = seat_go_on(outcomes->seats, call);
	struct job *job;

	if (body != NULL)
		return body;
	job = xcalloc(1, sizeof *job);
	job->outcomes = outcomes;
	return seat_begin(
	    outcomes->seats, call, &(struct seat_work){ job, run_in_seat, attach, free });
}

/* --- life ------------------------------------------------------------------------------------ */

static const struct value *
read_file(struct arena *arena, const char *path)
{
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	struct packet packet = { 0 };
	char buffer[65536];
	const struct value *value;
	const char *error;
	size_t size;

	if (file == NULL)
		fatal("--outcomes %s", path != NULL ? path : "is missing");
	while ((size = fread(buffer, 1, sizeof buffer, file)) > 0)
		packet_append(&packet, buffer, size);
	fclose(file);
	value = json_parse(
	    arena, packet.data != NULL ? packet.data : "", packet.size, &error);
	if (value == NULL)
		fatalx("%s: %s", path, error);
	packet_release(&packet);
	return value;
}

static void
load(struct outcomes *outcomes, const char *path)
{
	struct arena *arena = outcomes->arena;
	const struct value *file = read_file(arena, path);
	const struct value *offered = value_get(file, "offered");
	struct value_list catalog = { .arena = arena };
	size_t i;

	outcomes->tools = value_array_concat(arena, offered, value_get(file, "hidden"));
	outcomes->played =
	    arena_alloc(arena, (value_size(outcomes->tools) + 1) * sizeof(size_t));
	outcomes->services =
	    arena_alloc(arena, (value_size(offered) + 2) * sizeof *outcomes->services);
	for (i = 0; i < value_size(offered); i++) {
		const struct value *tool =
		    value_map_with(arena, value_at(offered, i), "outcomes", NULL);

		value_list_add(&catalog, tool);
		outcomes->services[i] =
		    (struct wire_service){ arena_printf(arena, SERVICE_TOOL_PREFIX "%s",
					       value_get_text(tool, "name")),
			    64 };
	}
	outcomes->services[value_size(offered)] =
	    (struct wire_service){ SERVICE_TOOLS, 64 };
	outcomes->services[value_size(offered) + 1] =
	    (struct wire_service){ outcomes->pin, 0 };
	outcomes->catalog = value_list_end(&catalog);
}

static void
on_ended(void *arg)
{
	struct outcomes *outcomes = arg;

	service_end(outcomes->service);
}

static void
on_drained(void *arg)
{
	struct outcomes *outcomes = arg;

	seats_end(outcomes->seats, on_ended, outcomes);
}

static void
drain(void *arg)
{
	struct outcomes *outcomes = arg;

	seats_close(outcomes->seats);
	worker_drain(outcomes->worker, 1000, on_drained, outcomes);
}

int
main(int argc, char *argv[])
{
	static struct outcome_settings settings;
	struct outcomes outcomes = { 0 };
	const char *const *plugin;
	const char *error, *wrong, *allowed;

	outcomes.service = service_start("outcome_worker", table, &settings, argc, argv);
	for (plugin = (const char *const *)settings.plugins;
	     plugin != NULL && *plugin != NULL; plugin++)
		if (registry_load(*plugin, &error) == -1)
			fatalx("%s: %s", *plugin, error);
	outcomes.arena = arena_new();
	service_session(outcomes.session);
	snprintf(outcomes.pin, sizeof outcomes.pin, SERVICE_WORKER_PREFIX "%s",
	    outcomes.session);
	outcomes.seats = seats_new(service_loop(outcomes.service), outcomes.session);
	load(&outcomes, settings.outcomes);
	outcomes.worker = worker_new(service_loop(outcomes.service),
	    &(struct worker_options){ .endpoints = (const char *const *)settings.brokers,
		.name = settings.common.name,
		.session = outcomes.session,
		.services = outcomes.services,
		.service_count = value_size(outcomes.catalog) + 2,
		.capacity = 64,
		.catalog = outcomes.catalog,
		.answer = answer,
		.arg = &outcomes },
	    &wrong, &allowed);
	if (outcomes.worker == NULL)
		settings_refuse("outcome_worker", "--broker", wrong, allowed);
	service_run(outcomes.service, drain, &outcomes);
	worker_destroy(&outcomes.worker);
	seats_destroy(&outcomes.seats);
	shell_sessions_close(service_loop(outcomes.service));
	arena_destroy(&outcomes.arena);
	settings_release(table, &settings);
	return service_stop(&outcomes.service);
}
