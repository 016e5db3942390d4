#include "model_job.h"

#include <string.h>

#include "bodies.h"
#include "log.h"

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
	struct sends *sends;
};

/* --- tokens ------------------------------------------------------------------------ */

static void
publish(void *arg, const char *kind, const struct value *body)
{
	worker_progress(arg, kind, body);
}

static void
begin_tokens(struct model_job *job)
{
	struct worker_call *call = job->call;
	unsigned flags = call->header->flags;

	job->streams = (flags & WIRE_STREAM) != 0 && (flags & WIRE_INTERNAL) == 0;
	job->tokens = (struct tokens){ .loop = job->world->loop,
		.publish = publish,
		.arg = call,
		.about = value_map(call->arena, "run", value_get(call->request, "run"),
		    "thread", value_get(call->request, "thread"), "agent",
		    value_get(call->profile, "agent"), NULL) };
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

static struct ask
ask_of(struct model_job *job, const struct model_request *request, const char *model)
{
	return (struct ask){
		.arena = model_arena(request),
		.model = model,
		.system_prompt = model_system_prompt(request),
		.messages = model_messages(request),
		.tools = model_tools(request),
		.tool_choice = model_tool_choice(request),
		.response_format = model_response_format(request),
		.settings = model_model_settings(request),
		.script = value_get(job->call->profile, "script"),
	};
}

static struct model_response *
fail(
    const struct model_job *job, struct model_request *request, const struct fault *fault)
{
	const char *run = value_get_text(job->call->request, "run");

	if (!fault->control)
		log_info("model call failed run=%s model=%s type=%s: %s",
		    run == NULL ? "-" : run, model_name(request), fault->type,
		    fault->message);
	return model_fail(request, fault);
}

static struct model_response *
send_ask(struct model_job *job, struct model_request *request,
    const struct endpoint *endpoint, const struct ask *ask)
{
	struct fault *fault = NULL;
	const struct value *message;

	if (ask->tokens != NULL)
		tokens_begin(ask->tokens, model_name(request));
	message = endpoint->provider->send(endpoint, ask, &fault);
	if (message == NULL)
		return fail(job, request, fault);
	if (ask->tokens != NULL)
		tokens_flush(ask->tokens);
	return model_answer(request, message);
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
	if (endpoint == NULL)
		return fail(job, request, fault);
	ask = ask_of(job, request, model);
	ask.attempt = count_send(job, model_name(request), tag != NULL);
	ask.tokens = job->streams && tag == NULL ? &job->tokens : NULL;
	return send_ask(job, request, endpoint, &ask);
}

/* --- the whole --------------------------------------------------------------------- */

static const struct value *
fault_body(struct arena *arena, const char *reason)
{
	struct fault *fault = fault_new(arena, "RuntimeError", "%s", reason);

	fault->retryable = false;
	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

const struct value *
model_job_answer(void *world_arg, struct worker_call *call)
{
	const struct model_world *world = world_arg;
	struct model_job job = { .world = world, .call = call };
	struct model_backend backend = { .send = on_send, .arg = &job };
	const struct value *body;
	struct kept_chain *kept;
	const char *reason;

	kept = chains_hold(world->chains, call->profile, call->arena, &reason);
	if (kept == NULL)
		return fault_body(call->arena, reason);
	begin_tokens(&job);
	body = chain_model_call(
	    call->arena, kept->chain, call->profile, call->request, &backend);
	tokens_release(&job.tokens);
	chains_release(world->chains, &kept);
	return body;
}
