/* small-worker: a worker for the wire's tests. What to do stands in the request:
 *
 *	do: "answer"      the answer is {id, worker, attempt, says}
 *	    "wait"        the same, once the file `path` exists
 *	    "first_hangs" hangs on the first attempt, answers on others
 *	    "ask"         calls `service` with {do: "answer"} and answers with its answer
 *	                  (or, with `path`, {do: "wait", path})
 *	    "ask_first"   as "ask" without a path, then waits for the file
 *	    "tell"        publishes three PROGRESS, then answers
 *	    "hog"         on the first attempt takes all fibers there are and keeps them: from
 *	                  then on no call can start; answers on others
 *
 * Each beginning and each interruption is a line in the log: "began c1 <worker> <attempt>". */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caller.h"
#include "fault.h"
#include "fiber.h"
#include "memory.h"
#include "service.h"
#include "worker.h"

struct small_settings {
	struct service_settings common;
	const char **brokers, *log;
	const char **serves;
	int64_t slots, drain_ms;
};

#define OFFSET(member) offsetof(struct small_settings, member)
static const struct setting table[] = {
	SERVICE_SETTINGS,
	{ "broker", SETTING_LIST, OFFSET(brokers), NULL, 0, 0, NULL, "an endpoint", 0 },
	{ "log", SETTING_TEXT, OFFSET(log), NULL, 0, 0, NULL, "file of began lines", 0 },
	{ "serves", SETTING_LIST, OFFSET(serves), NULL, 0, 0, NULL, "services", 0 },
	{ "slots", SETTING_INTEGER, OFFSET(slots), "4", 1, 1000, NULL, "at once", 0 },
	{ "drain-ms", SETTING_INTEGER, OFFSET(drain_ms), "10000", 0, 60000, "ms", "drain",
	    0 },
	{ .name = NULL },
};

static struct small_settings settings;

static void
note(const char *what, const struct header *header)
{
	char line[256];
	int size = snprintf(line, sizeof line, "%s %s %s %u\n", what, header->call_id,
	    settings.common.name, (unsigned)header->attempt);
	int fd = open(settings.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	/* One write: lines of two workers do not mix. */
	if (fd == -1 || write(fd, line, (size_t)size) != size)
		abort();
	close(fd);
}

static const struct value *
say(struct worker_call *call)
{
	struct arena *arena = call->arena;

	return value_map(arena, "id", value_str(arena, call->header->call_id), "worker",
	    value_str(arena, settings.common.name), "attempt",
	    value_int(arena, (int64_t)call->header->attempt), "profile",
	    value_get(call->profile, "name"), "says", value_get(call->request, "says"),
	    NULL);
}

/* Returns NULL when it was interrupted. */
static const struct value *
wait_for_file(struct worker_call *call)
{
	const char *path = value_get_text(call->request, "path");

	while (access(path, F_OK) == -1)
		if (fiber_sleep(10) == -1)
			return NULL;
	return say(call);
}

static const struct value *
first_hangs(struct worker_call *call)
{
	if (call->header->attempt > 1)
		return say(call);
	while (fiber_sleep(1000) == 0)
		;
	return NULL;
}

static struct loop *loop;

static void
wait_for_ever(void *arg)
{
	(void)arg;
	while (fiber_wait() == 0)
		;
}

static const struct value *
hog(struct worker_call *call)
{
	unsigned count = 0;

	if (call->header->attempt > 1)
		return say(call);
	/* Its heart beats on meanwhile. */
	for (; fiber_start(loop, "hog", wait_for_ever, NULL) != NULL; count++)
		if (count % 100 == 0)
			fiber_yield();
	note("hogs", call->header);
	/* What ends meanwhile, a probe's answer, leaves room for one more. */
	while (fiber_sleep(10) == 0)
		while (fiber_start(loop, "hog", wait_for_ever, NULL) != NULL)
			;
	return NULL;
}

static const struct value *
ask_for(struct worker_call *call, const struct value *what)
{
	struct arena *arena = call->arena;
	const struct call_request request = {
		.id = arena_printf(arena, "%s/1", call->header->call_id),
		.run = call->header->run,
		.service = value_get_text(call->request, "service"),
		.deadline_ms = 20000,
		.profile = call->profile,
		.request = what,
	};
	struct call_outcome outcome;

	if (worker_nested_call(call, &request, &outcome) == -1)
		return NULL;
	return outcome.body;
}

static const struct value *
ask(struct worker_call *call)
{
	const struct value *path = value_get(call->request, "path");

	return ask_for(call, value_map(call->arena, "do",
				 value_str(call->arena, path == NULL ? "answer" : "wait"),
				 "path", path, NULL));
}

static const struct value *
ask_first(struct worker_call *call)
{
	const struct value *answer = ask_for(
	    call, value_map(call->arena, "do", value_str(call->arena, "answer"), NULL));

	return wait_for_file(call) == NULL ? NULL : answer;
}

static const struct value *
tell(struct worker_call *call)
{
	struct arena *arena = call->arena;
	int i;

	for (i = 1; i <= 3; i++)
		worker_progress(call, "token",
		    value_map(arena, "kind", value_str(arena, "token"), "part",
			value_int(arena, i), NULL));
	return say(call);
}

static const struct value *
answer(void *arg, struct worker_call *call)
{
	static const struct {
		const char *name;
		const struct value *(*act)(struct worker_call *call);
	} acts[] = {
		{ "answer", say },
		{ "wait", wait_for_file },
		{ "first_hangs", first_hangs },
		{ "ask", ask },
		{ "ask_first", ask_first },
		{ "tell", tell },
		{ "hog", hog },
	};
	const struct value *body = NULL;
	size_t i;

	(void)arg;
	note("began", call->header);
	for (i = 0; i < sizeof acts / sizeof acts[0]; i++)
		if (value_text_is(value_get(call->request, "do"), acts[i].name))
			body = acts[i].act(call);
	if (body == NULL)
		note("stopped", call->header);
	return body != NULL
		   ? body
		   : value_map(call->arena, "fault",
			 fault_to_value(call->arena, fault_cancelled(call->arena)), NULL);
}

struct program {
	struct service *service;
	struct worker *worker;
};

static void
on_drained(void *arg)
{
	service_end(arg);
}

static void
drain(void *arg)
{
	struct program *program = arg;

	worker_drain(
	    program->worker, (uint64_t)settings.drain_ms, on_drained, program->service);
}

static struct worker *
start(void)
{
	struct wire_service services[16];
	const char *wrong, *allowed;
	struct worker *worker;
	struct worker_options options = {
		.endpoints = (const char *const *)settings.brokers,
		.name = settings.common.name,
		.services = services,
		.capacity = (uint32_t)settings.slots,
		.answer = answer,
	};

	while (settings.serves[options.service_count] != NULL) {
		services[options.service_count] =
		    (struct wire_service){ .name =
					       settings.serves[options.service_count] };
		options.service_count++;
	}
	worker = worker_new(loop, &options, &wrong, &allowed);
	if (worker == NULL)
		settings_refuse("small-worker", "--broker", wrong, allowed);
	return worker;
}

int
main(int argc, char *argv[])
{
	struct program program;

	program.service = service_start("small-worker", table, &settings, argc, argv);
	loop = service_loop(program.service);
	program.worker = start();
	if (program.worker == NULL)
		return EXIT_FAILURE;
	service_run(program.service, drain, &program);
	worker_destroy(&program.worker);
	return service_stop(&program.service);
}
