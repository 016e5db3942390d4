#include "model_bench.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "fiber.h"
#include "json.h"
#include "literal.h"
#include "scripted_bedrock.h"
#include "socket.h"

#define DEADLINE_MS 30000u
#define MARK_MS 10u

/* --- the caller's side ------------------------------------------------------------- */

static void
on_up(void *arg, uint32_t link)
{
	caller_up(((struct model_bench *)arg)->caller, link);
}

static void
on_down(void *arg, uint32_t link, const char *reason)
{
	(void)reason;
	caller_down(((struct model_bench *)arg)->caller, link);
}

static void
on_message(void *arg, uint32_t link, const struct header *header, struct parts *bodies)
{
	caller_message(((struct model_bench *)arg)->caller, link, header, bodies);
}

static void
on_status(void *arg, struct parts *parts, bool truncated)
{
	struct model_bench *bench = arg;
	const struct value *body;
	const char *error;

	ck_assert(!truncated);
	ck_assert_uint_eq(parts->count, 2);
	ck_assert_int_eq(value_unpack(bench->arena, parts_data(parts, 1),
			     parts_size(parts, 1), &body, &error),
	    0);
	if (value_text_is(value_get(body, "kind"), "mark"))
		bench->is_subscribed = true;
	else
		value_list_add(&bench->events, body);
}

static void
publish_mark(void *arg)
{
	struct model_bench *bench = arg;

	links_publish(bench->links, NULL, "run.r.mark",
	    value_map(bench->arena, "kind", value_str(bench->arena, "mark"), NULL));
}

static bool
is_marked(void *arg)
{
	return ((struct model_bench *)arg)->is_subscribed;
}

/* Publishes marks until one comes back: what was published before has come, too. */
static void
await_mark(struct model_bench *bench)
{
	struct timer *timer = timer_start(bench->loop, 1, MARK_MS, publish_mark, bench);

	bench->is_subscribed = false;
	loop_run_until(bench->loop, is_marked, bench);
	timer_stop(&timer);
}

static void
open_peer(struct model_bench *bench, const char *broker, const char *status)
{
	const char *const endpoints[] = { broker, NULL };
	const struct links_options options = { .endpoints = endpoints,
		.role = ROLE_COORDINATOR,
		.name = "bench",
		.on_up = on_up,
		.on_down = on_down,
		.on_message = on_message,
		.arg = bench };
	const char *error, *wrong, *allowed;

	bench->links = links_new(bench->loop, &options, &wrong, &allowed);
	bench->caller = caller_new(bench->loop, bench->links);
	bench->status = socket_sub(bench->loop, status, on_status, bench, &error);
	ck_assert_ptr_nonnull(bench->status);
	socket_subscribe(bench->status, "run.");
	await_mark(bench);
}

/* --- start and stop ---------------------------------------------------------------- */

static const char *
read_line(struct arena *arena, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[32] = "";

	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return arena_strdup(arena, line);
}

static void
start_provider(struct model_bench *bench)
{
	const char *file = arena_printf(bench->arena, "%s/port", bench->folder);

	bench->provider =
	    child_start((const char *[]){ "scripted-server", "-f", file, NULL }, NULL);
	bench->provider_url = arena_printf(
	    bench->arena, "http://127.0.0.1:%s", read_line(bench->arena, file));
}

static void
start_worker(struct model_bench *bench, const char *broker, const char *const flags[])
{
	const char *argv[16] = { "worker-model", "--broker", broker, "--log-level",
		"warn" };
	const char *base =
	    arena_printf(bench->arena, "OPENAI_BASE_URL=%s/v1", bench->provider_url);

	for (size_t i = 0; flags != NULL && flags[i] != NULL; i++)
		argv[5 + i] = flags[i];
	bench->worker = child_start(argv,
	    (const char *[]){ base, "OPENAI_API_KEY=" MODEL_BENCH_KEY,
		arena_printf(bench->arena, "ANTHROPIC_BASE_URL=%s", bench->provider_url),
		"ANTHROPIC_API_KEY=" MODEL_BENCH_KEY,
		arena_printf(
		    bench->arena, "AZURE_OPENAI_ENDPOINT=%s/", bench->provider_url),
		"AZURE_OPENAI_API_KEY=" MODEL_BENCH_KEY, "OPENAI_API_VERSION=2024-10-21",
		arena_printf(bench->arena, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME=%s/gate",
		    bench->provider_url),
		"AWS_REGION=" SCRIPTED_AWS_REGION, "AWS_ACCESS_KEY_ID=" SCRIPTED_AWS_ID,
		"AWS_SECRET_ACCESS_KEY=" SCRIPTED_AWS_SECRET,
		"AWS_SESSION_TOKEN=" SCRIPTED_AWS_SESSION, NULL });
}

void
model_bench_start(struct model_bench *bench, const char *const flags[])
{
	const char *broker, *status;

	*bench = (struct model_bench){
		.loop = loop_new(), .arena = arena_new(), .folder = folder_new()
	};
	bench->events.arena = bench->arena;
	bench->http = http_new(bench->loop);
	broker = arena_printf(bench->arena, "ipc://%s/broker", bench->folder);
	status = arena_printf(bench->arena, "ipc://%s/status", bench->folder);
	bench->broker =
	    child_start((const char *[]){ "broker", "--bind", broker, "--status-bind",
			    status, "--log-level", "warn", NULL },
		NULL);
	start_provider(bench);
	start_worker(bench, broker, flags);
	open_peer(bench, broker, status);
}

void
model_bench_stop(struct model_bench *bench)
{
	caller_destroy(&bench->caller);
	links_destroy(&bench->links);
	socket_close(&bench->status, 0);
	socket_shutdown(); /* while its peer lives (socket.c) */
	http_destroy(&bench->http);
	child_stop(&bench->worker);
	child_stop(&bench->provider);
	child_stop(&bench->broker);
	loop_destroy(&bench->loop);
	folder_remove(&bench->folder);
	arena_destroy(&bench->arena);
}

/* --- the provider ------------------------------------------------------------------ */

struct control {
	struct model_bench *bench;
	struct http_request request;
	struct http_response response;
	bool ended;
};

static void
run_control(void *arg)
{
	struct control *control = arg;

	http_send(control->bench->http, control->bench->arena, &control->request,
	    &control->response);
	control->ended = true;
}

static bool
control_ended(void *arg)
{
	return ((struct control *)arg)->ended;
}

/* Returns the body of the provider's answer. */
static const char *
control(struct model_bench *bench, const char *method, const char *path, const char *body)
{
	struct control control = { .bench = bench,
		.request = { .method = method,
		    .url = arena_printf(bench->arena, "%s%s", bench->provider_url, path),
		    .body = body,
		    .body_size = body == NULL ? 0 : strlen(body),
		    .timeout_ms = DEADLINE_MS } };

	fiber_start(bench->loop, "control", run_control, &control);
	loop_run_until(bench->loop, control_ended, &control);
	ck_assert_msg(
	    control.response.failure == HTTP_OK && control.response.status == 200,
	    "%s %s: %s", method, path, control.response.reason);
	return control.response.body;
}

void
model_bench_script(struct model_bench *bench, const char *script)
{
	control(bench, "PUT", "/script",
	    json_text(bench->arena, literal(bench->arena, script)));
}

const struct value *
model_bench_requests(struct model_bench *bench)
{
	const char *text = control(bench, "GET", "/requests", NULL);
	const char *error;

	return json_parse(bench->arena, text, strlen(text), &error);
}

void
model_bench_await_requests(struct model_bench *bench, size_t count)
{
	while (value_size(model_bench_requests(bench)) < count)
		;
}

/* --- calls ------------------------------------------------------------------------- */

static void
run_call(void *arg)
{
	struct model_call *call = arg;

	call->result = caller_call(
	    call->bench->caller, call->bench->arena, &call->request, &call->outcome);
	call->fiber = NULL;
}

static bool
call_ended(void *arg)
{
	return ((struct model_call *)arg)->fiber == NULL;
}

static void
begin(struct model_bench *bench, struct model_call *call, unsigned flags,
    const char *profile, const struct value *request)
{
	struct arena *arena = bench->arena;
	const struct value *base =
	    literal(arena, "{'agent':'a','version':'1','model':'openai:main','tools':[],'"
			   "middleware':[]}");

	*call = (struct model_call){ .bench = bench,
		.request = { .id = arena_printf(arena, "r/%u", ++bench->calls),
		    .run = "r",
		    .service = "model:openai",
		    .deadline_ms = DEADLINE_MS,
		    .flags = flags,
		    .profile = value_map_merge(arena, base, literal(arena, profile)),
		    .request = request } };
	call->fiber = fiber_start(bench->loop, "call", run_call, call);
}

void
model_bench_begin(struct model_bench *bench, struct model_call *call, unsigned flags,
    const char *profile, const char *request)
{
	struct arena *arena = bench->arena;
	const struct value *ask = literal(arena,
	    "{'run':'r','thread':'t','messages':[{'type':'human','content':'hi'}]}");

	begin(bench, call, flags, profile,
	    value_map_merge(arena, ask, literal(arena, request)));
}

void
model_bench_end(struct model_bench *bench, struct model_call *call)
{
	loop_run_until(bench->loop, call_ended, call);
	if (call->result == 0)
		caller_stored(bench->caller, call->request.id);
}

static const struct value *
result_of(struct model_bench *bench, struct model_call *call)
{
	model_bench_end(bench, call);
	ck_assert_int_eq(call->result, 0);
	ck_assert_msg(call->outcome.code == CODE_OK, "%s: %s",
	    wire_code_name(call->outcome.code), call->outcome.reason);
	return call->outcome.body;
}

const struct value *
model_bench_call(
    struct model_bench *bench, unsigned flags, const char *profile, const char *request)
{
	struct model_call call;

	model_bench_begin(bench, &call, flags, profile, request);
	return result_of(bench, &call);
}

const struct value *
model_bench_call_with(
    struct model_bench *bench, const char *profile, const struct value *request)
{
	struct model_call call;

	begin(bench, &call, 0, profile, request);
	return result_of(bench, &call);
}

const struct value *
model_bench_events(struct model_bench *bench, const char *kind)
{
	struct value_list list = { .arena = bench->arena };

	await_mark(bench);
	for (size_t i = 0; i < bench->events.count; i++)
		if (value_text_is(value_get(bench->events.items[i], "kind"), kind))
			value_list_add(&list, bench->events.items[i]);
	return value_list_end(&list);
}

const char *
model_bench_shown(struct model_bench *bench)
{
	const struct value *tokens = model_bench_events(bench, "token");
	const char *text = "";

	for (size_t i = 0; i < value_size(tokens); i++)
		text = arena_printf(bench->arena, "%s%s", text,
		    value_get_text(value_at(tokens, i), "content"));
	return text;
}

const struct value *
model_bench_digest(struct model_bench *bench, const struct value *messages, size_t count)
{
	struct digest *digest = digest_new();
	uint8_t bytes[DIGEST_BYTES];

	digest_add(digest, messages, 0, count);
	digest_get(digest, bytes);
	digest_destroy(&digest);
	return digest_value(bench->arena, bytes);
}

const struct value *
model_bench_request(struct model_bench *bench, const char *key,
    const struct value *messages, const struct value *base, const struct value *digest)
{
	return value_map(bench->arena, "run", value_str(bench->arena, "r"), "thread",
	    value_str(bench->arena, "t"), key, messages, "base", base, "digest", digest,
	    NULL);
}
