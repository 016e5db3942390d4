/* What workers make of a CALL's bodies, up to the provider's request or the tool: the input is a service,
 * "model" or "tools", and two lines of JSON, profile and request. What bodies_wrong lets pass is
 * answered, with a body that a coordinator takes. */
#include <stdlib.h>
#include <string.h>

#include "../../worker-model/anthropic_request.h"
#include "../../worker-model/model_job.h"
#include "../../worker-model/openai_request.h"
#include "../../worker-tools/job.h"
#include "bodies.h"
#include "chat.h"
#include "json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_hook_sleep(uint64_t ms);
const struct endpoint *__wrap_provider_table_find(const struct provider_table *table,
    struct arena *arena, const char *name, const char **model_r, struct fault **fault_r);

static struct loop *loop;
static uint64_t profiles;

static void
require(bool fact)
{
	if (!fact)
		abort();
}

/* It runs on no fiber: a sleep ends at once. */
int
__wrap_hook_sleep(uint64_t ms)
{
	(void)ms;
	return 0;
}

/* --- the provider ----------------------------------------------------------------------- */

/* Both dialects' requests are made; no server is asked. */
static const struct value *
on_send(const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	const struct value *request;
	const char *error = NULL;

	(void)endpoint;
	request = openai_request(ask, false, &error);
	require(request != NULL ? json_text(ask->arena, request) != NULL : error != NULL);
	error = NULL;
	request = anthropic_request(ask, false, &error);
	require(request != NULL ? json_text(ask->arena, request) != NULL : error != NULL);
	*fault_r = NULL;
	if (value_size(ask->messages) % 5 == 4) {
		*fault_r = fault_new(ask->arena, "RateLimitError", "slow down");
		return NULL;
	}
	return chat_ai(ask->arena, "{\"tools\":[\"calculate\"]}");
}

const struct endpoint *
__wrap_provider_table_find(const struct provider_table *table, struct arena *arena,
    const char *name, const char **model_r, struct fault **fault_r)
{
	static const struct provider provider = {
		.name = "openai", .moderates = true, .embeds = true, .send = on_send
	};
	static const struct endpoint endpoint = { .name = "fuzz", .provider = &provider };

	(void)table;
	*model_r = name;
	if (strncmp(name, "none:", strlen("none:")) != 0)
		return &endpoint;
	*fault_r = fault_new(arena, "ValueError", "no provider is called none");
	return NULL;
}

/* --- the call --------------------------------------------------------------------------- */

/* The next line, or what is left. */
static const struct value *
take_line(struct arena *arena, const char **at, const char *end)
{
	const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
	const struct value *value;
	const char *error;

	*at = stop != NULL ? stop + 1 : end;
	value =
	    json_parse(arena, line, (size_t)((stop != NULL ? stop : end) - line), &error);
	return value != NULL ? value : value_empty_map();
}

static const struct value *
answer_model(struct worker_call *call)
{
	struct model_world world = { .loop = loop,
		.chains = chains_new(),
		.threads = kept_threads_new(1 << 20, 1) };
	const struct value *body = model_job_answer(&world, call);

	kept_threads_destroy(&world.threads);
	chains_destroy(&world.chains);
	return body;
}

static const struct value *
answer_tool(struct worker_call *call)
{
	static const char *const names[] = { "calculate", "now", NULL };
	static const char *const files[] = { NULL };
	const char *error = NULL;
	struct tool_source *source = tool_source_load(files, call->arena, &error);
	struct job_world world = { .loop = loop,
		.chains = chains_new(),
		.table = tool_table_new(names, source, NULL, call->arena, &error),
		.worker = "0123456789abcdef0123456789abcdef" };
	const struct value *body;

	require(world.table != NULL);
	body = job_answer(&world, call);
	tool_table_release(&world.table);
	tool_source_release(&source);
	chains_destroy(&world.chains);
	return body;
}

/* What would leave this process. */
static bool
is_for_others(const char *text, size_t size)
{
	static const char *const names[] = { "shell", "search" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (memmem(text, size, names[i], strlen(names[i])) != NULL)
			return true;
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *at = arena_copy(arena, data, size), *end = at + size;
	bool is_model = size > 0 && data[0] == 'm';
	const struct header header = { .type = MSG_CALL,
		.call_id = "r.1.0",
		.run = "r",
		.attempt = 1,
		.service = is_model ? "model:fuzz" : "tools",
		.deadline_ms = 60000 };
	struct worker_call call = { .header = &header, .arena = arena };
	const struct value *body;

	if (loop == NULL)
		loop = loop_new();
	if (is_for_others(at, size)) {
		arena_destroy(&arena);
		return -1;
	}
	take_line(arena, &at, end);
	call.profile = take_line(arena, &at, end);
	call.profile_number = ++profiles;
	call.request = take_line(arena, &at, end);
	if (bodies_wrong(header.service, call.profile, call.request) == NULL) {
		body = is_model ? answer_model(&call) : answer_tool(&call);
		require(bodies_answer(arena, &body) == NULL);
	}
	arena_destroy(&arena);
	return 0;
}
