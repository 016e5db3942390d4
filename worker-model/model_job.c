#include "model_job.h"

#include <string.h>

#include "bodies.h"
#include "bounds.h"
#include "log.h"
#include "model_profile.h"
#include "model_wish.h"
#include "models.h"
#include "request_span.h"
#include "store_wish.h"

/* How often this call was sent to one model. A fallback's model begins at one again. */
struct sends {
	struct sends *next;
	const char *model;
	bool internal; /* calls that a middleware makes by itself */
	unsigned count;
};

struct model_job {
	const struct model_world *world;
	struct worker_call *call;
	struct tokens tokens;
	bool streams;
	struct written *written; /* of the messages the call came with, or NULL */
	struct sends *sends;
	unsigned nested;   /* calls to workers of other providers */
	unsigned requests; /* to providers */
	uint64_t end_ms;
	unsigned store_calls;
};

/* --- tokens ------------------------------------------------------------------------ */

static void
publish(void *arg, const char *kind, const struct value *body)
{
	worker_progress(arg, kind, body);
}

static void
begin_tokens(struct model_job *job, const struct chain *chain)
{
	struct worker_call *call = job->call;
	unsigned flags = call->header->flags;

	job->streams = (flags & WIRE_STREAM) != 0 && (flags & WIRE_INTERNAL) == 0;
	job->tokens = (struct tokens){ .loop = job->world->loop,
		.publish = publish,
		.arg = call,
		.chain = chain,
		.about = value_map(call->arena, "run", value_get(call->request, "run"),
		    "thread", value_get(call->request, "thread"), "agent",
		    value_get(call->profile, "agent"), "step",
		    value_int(call->arena, (int64_t)call->header->step), NULL) };
}

/* --- the end of the chain ---------------------------------------------------------- */

/* Returns which send of this call to that model the next one is, from 1. */
static unsigned
count_send(struct model_job *job, const char *model, bool internal)
{
	struct sends *sends = job->sends;

	while (sends != NULL &&
	       (sends->internal != internal || strcmp(sends->model, model) != 0))
		sends = sends->next;
	if (sends == NULL) {
		sends = arena_alloc(job->call->arena, sizeof *sends);
		*sends = (struct sends){ job->sends, model, internal, 0 };
		job->sends = sends;
	}
	return ++sends->count;
}

/* What is known of the request's model. What the agent says of its own comes first. */
static const struct value *
known_of(const struct model_job *job, const struct model_request *request)
{
	const struct value *profile = job->call->profile;
	const char *name = model_name(request);
	const struct value *known = models_profile(model_arena(request), name);

	if (!value_text_is(value_get(profile, "model"), name))
		return known;
	return model_profile_over(
	    model_arena(request), value_get(profile, "model_profile"), known);
}

/* The JSON that is kept of the request's messages, if no middleware has put others in their place. */
static struct written *
written_of(const struct model_job *job, const struct model_request *request)
{
	const struct value *came = value_get(job->call->request, "messages");
	const struct value *sent = model_messages(request);

	return value_is(came, VALUE_ARRAY) && value_is(sent, VALUE_ARRAY) &&
		       sent->items == came->items && sent->size == came->size
		   ? job->written
		   : NULL;
}

static enum ask_task
task_of(const struct value *profile)
{
	const struct value *task = value_get(profile, "task");

	if (value_text_is(task, "moderation"))
		return TASK_MODERATION;
	return value_text_is(task, "embeddings") ? TASK_EMBEDDINGS : TASK_CHAT;
}

static struct ask
ask_of(struct model_job *job, const struct model_request *request, const char *model)
{
	return (struct ask){
		.arena = model_arena(request),
		.model = model,
		.system_prompt = model_system_prompt(request),
		.messages = model_messages(request),
		.written = written_of(job, request),
		.tools = model_tools(request),
		.tool_choice = model_tool_choice(request),
		.response_format = model_response_format(request),
		.settings = model_model_settings(request),
		.script = value_get(job->call->profile, "script"),
		.max_output_tokens =
		    value_get_int(known_of(job, request), "max_output_tokens", 0),
		.task = task_of(job->call->profile),
	};
}

static bool
is_for_the_log(const struct model_job *job)
{
	return !tokens_are_filtered(&job->tokens) &&
	       !value_get_bool(job->call->profile, "hides", false);
}

static struct model_response *
fail(
    const struct model_job *job, struct model_request *request, const struct fault *fault)
{
	const char *run = value_get_text(job->call->request, "run");

	/* What is kept from those who watch is kept from the log. */
	if (!fault->control)
		log_info("model call failed run=%s model=%s type=%s: %s",
		    run == NULL ? "-" : run, model_name(request), fault->type,
		    is_for_the_log(job) ? fault->message : "(see the run's record)");
	return model_fail(request, fault);
}

/* Asks endpoint, and tells of it where the call is traced. */
static const struct value *
ask_provider(struct model_job *job, const char *model, const struct endpoint *endpoint,
    const struct ask *ask, struct fault **fault_r)
{
	const struct worker_call *call = job->call;
	const struct value *message;
	struct span span;

	if (call->span == NULL)
		return endpoint->provider->send(endpoint, ask, fault_r);
	request_span_begin(call, &span, ask, model, ++job->requests);
	message = endpoint->provider->send(endpoint, ask, fault_r);
	request_span_end(call, &span, message, message == NULL ? *fault_r : NULL);
	return message;
}

static bool
takes(const struct provider *provider, enum ask_task task)
{
	return task == TASK_CHAT ||
	       (task == TASK_MODERATION ? provider->moderates : provider->embeds);
}

static struct model_response *
send_ask(struct model_job *job, struct model_request *request,
    const struct endpoint *endpoint, const struct ask *ask)
{
	struct fault *fault = NULL;
	const struct value *message;

	if (!takes(endpoint->provider, ask->task))
		return fail(job, request,
		    fault_new(ask->arena, "ValueError", "the provider %s has no %s",
			endpoint->name,
			ask->task == TASK_MODERATION ? "moderation" : "embeddings"));
	if (ask->tokens != NULL)
		tokens_begin(ask->tokens, model_name(request));
	message = ask_provider(job, model_name(request), endpoint, ask, &fault);
	if (message == NULL) {
		/* Who is cancelled may have a successor, whose tokens count. */
		if (ask->tokens != NULL && !fault->control)
			tokens_broke_off(ask->tokens);
		return fail(job, request, fault);
	}
	if (ask->tokens != NULL)
		tokens_end(ask->tokens);
	return model_answer(request, message);
}

/* --- models of other workers ------------------------------------------------------- */

static bool
is_served_elsewhere(const struct model_job *job, const char *model)
{
	const char *provider = arena_copy(job->call->arena, model, strcspn(model, ":"));

	return strchr(model, ':') != NULL &&
	       value_contains(value_get(job->call->request, "providers"), provider);
}

/* Says of a provider that is not here whom else the fleet has. */
static const struct fault *
with_providers(const struct model_job *job, struct fault *fault)
{
	const struct value *names = value_get(job->call->request, "providers");
	size_t i;

	if (value_size(names) == 0)
		return fault;
	fault->message = arena_printf(
	    job->call->arena, "%s. The fleet's workers have: ", fault->message);
	for (i = 0; i < value_size(names); i++)
		fault->message = arena_printf(job->call->arena, "%s%s%s", fault->message,
		    i == 0 ? "" : ", ", value_text(value_at(names, i)));
	return fault;
}

/* Output tools are among the tools already, and their calls are read here. What is shown of the answer
 * is shown by the other worker, and filtered there. */
static const struct value *
wish_of(const struct model_job *job, const struct model_request *request)
{
	struct arena *arena = model_arena(request);
	const struct value *format = model_response_format(request);
	const char *system = model_system_prompt(request);

	if (value_text_is(value_get(format, "strategy"), "tool"))
		format = NULL;
	return value_map(arena, "model", value_str(arena, model_name(request)),
	    "system_prompt", system == NULL ? NULL : value_str(arena, system), "messages",
	    model_messages(request), "tools", model_tools(request), "tool_choice",
	    model_tool_choice(request), "response_format", format, "model_settings",
	    model_model_settings(request), "middleware",
	    chain_filters(arena, job->tokens.chain, job->call->profile), NULL);
}

static uint64_t
on_left(void *arg)
{
	const struct model_job *job = arg;
	uint64_t now_ms = loop_now_ms(job->world->loop);

	return now_ms < job->end_ms ? job->end_ms - now_ms : 1;
}

static struct model_response *
send_elsewhere(struct model_job *job, struct model_request *request, const char *tag)
{
	struct arena *arena = model_arena(request);
	bool shows = job->streams && tag == NULL;
	struct model_response *response;
	const struct value *body;

	if (shows)
		tokens_begin(&job->tokens, model_name(request));
	body = model_wish_send(job->call, wish_of(job, request), ++job->nested,
	    on_left(job), shows ? WIRE_STREAM : WIRE_INTERNAL);
	if (shows)
		tokens_shown_elsewhere(&job->tokens);
	if (body == NULL)
		return model_fail(request, fault_cancelled(arena));
	if (value_has(body, "fault")) {
		if (shows)
			tokens_broke_off(&job->tokens);
		return fail(
		    job, request, fault_from_value(arena, value_get(body, "fault")));
	}
	if (value_size(value_get(body, "messages")) == 0)
		return fail(job, request,
		    fault_new(arena, "APIResponseError",
			"the worker of %s gave no messages", model_name(request)));
	response = model_answer(request, value_str(arena, ""));
	response->messages = value_get(body, "messages");
	return response;
}

static struct model_response *
on_send(void *arg, struct model_request *request, unsigned attempt, const char *tag)
{
	struct model_job *job = arg;
	const struct endpoint *endpoint;
	struct fault *fault = NULL;
	const char *model = NULL;
	struct ask ask;

	(void)attempt; /* counts over all models: see struct sends */
	endpoint = provider_table_find(job->world->providers, model_arena(request),
	    model_name(request), &model, &fault);
	if (endpoint == NULL && is_served_elsewhere(job, model_name(request)))
		return send_elsewhere(job, request, tag);
	if (endpoint == NULL)
		return fail(job, request, with_providers(job, fault));
	ask = ask_of(job, request, model);
	ask.provider = endpoint->name;
	ask.attempt = count_send(job, model_name(request), tag != NULL);
	ask.tokens =
	    job->streams && tag == NULL && ask.task == TASK_CHAT ? &job->tokens : NULL;
	return send_ask(job, request, endpoint, &ask);
}

static bool
on_gives_structured_output(void *arg, const char *model, bool with_tools)
{
	struct model_job *job = arg;

	return model_profile_gives_output(
	    models_profile(job->call->arena, model), with_tools);
}

/* Of a provider that another worker has only its name is known, which is that of its dialect unless
 * somebody chose another. */
static const char *
on_dialect(void *arg, const char *model)
{
	struct model_job *job = arg;
	struct arena *arena = job->call->arena;
	const char *bare;
	struct fault *fault;
	const struct endpoint *endpoint =
	    provider_table_find(job->world->providers, arena, model, &bare, &fault);

	if (endpoint != NULL)
		return endpoint->provider->name;
	return is_served_elsewhere(job, model)
		   ? provider_kind(arena_copy(arena, model, strcspn(model, ":")))
		   : NULL;
}

/* --- the whole --------------------------------------------------------------------- */

static const struct value *
fault_body(struct arena *arena, const char *reason)
{
	struct fault *fault = fault_new(arena, "RuntimeError", "%s", reason);

	fault->retryable = false;
	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

static const struct value *
on_store(void *arg, const struct value *op)
{
	struct model_job *job = arg;

	return store_wish_send(job->call, op, ++job->store_calls, on_left(job));
}

static bool
on_streams(void *arg)
{
	return worker_streams(((struct model_job *)arg)->call);
}

static void
on_stream(void *arg, const char *middleware, const struct value *value)
{
	worker_stream(((struct model_job *)arg)->call, middleware, value);
}

/* What the request is based on is not here. The fault is for who does not know what that means. */
static const struct value *
whole_body(struct arena *arena)
{
	return value_map_with(arena,
	    fault_body(arena, "this worker does not have the messages before these"),
	    "whole", value_bool(true));
}

/* The call, its request being whole. */
static const struct value *
run_chain(const struct model_world *world, struct worker_call *call)
{
	struct model_job job = { .world = world,
		.call = call,
		.written = kept_threads_written(world->threads, call->request) };
	struct model_backend backend = { .send = on_send,
		.gives_structured_output = on_gives_structured_output,
		.dialect = on_dialect,
		.store = on_store,
		.left_ms = on_left,
		.streams = on_streams,
		.stream = on_stream,
		.arg = &job };
	const struct value *body;
	struct kept_chain *kept;
	const char *reason;

	if (value_get_text(call->profile, "model") == NULL)
		return fault_body(call->arena, "the call's profile names no model");
	job.end_ms = loop_now_ms(world->loop) + (call->header->deadline_ms == 0
							? CALL_DEADLINE_MS
							: call->header->deadline_ms);
	kept = chains_hold(
	    world->chains, call->profile_number, call->profile, call->arena, &reason);
	if (kept == NULL)
		return fault_body(call->arena, reason);
	begin_tokens(&job, kept->chain);
	body = chain_model_call(
	    call->arena, kept->chain, call->profile, call->request, &backend);
	tokens_release(&job.tokens);
	chains_release(world->chains, &kept);
	return body;
}

const struct value *
model_job_answer(void *world_arg, struct worker_call *call)
{
	const struct model_world *world = world_arg;
	const struct value *kept, *body;
	const struct value *request =
	    kept_threads_open(world->threads, call->arena, call->request, &kept);

	if (request == NULL)
		return whole_body(call->arena);
	call->request = request;
	body = run_chain(world, call);
	return kept == NULL ? body : value_map_with(call->arena, body, "kept", kept);
}
