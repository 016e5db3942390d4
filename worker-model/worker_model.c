#include "worker_model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bodies.h"
#include "bounds.h"
#include "log.h"
#include "memory.h"
#include "model_job.h"
#include "models.h"
#include "providers.h"
#include "registry.h"

#define PROGRAM "worker-model"
#define TIMEOUT_MS_MAX 86400000
/* One slot of so many is out of reach for each provider of several. */
#define SPARE_SHARE 4u

struct worker_model {
	struct service *service;
	const struct worker_model_settings *settings;
	struct http *http;
	struct provider_table providers;
	struct arena *arena;           /* of the catalog */
	struct wire_service *services; /* of the providers, in their order */
	struct model_world world;
	struct worker *worker;
	struct trace *trace; /* or NULL */
	uint64_t drained_ms; /* when the drain must be over */
};

#define SETTING(field) offsetof(struct worker_model_settings, field)
const struct setting worker_model_table[] = {
	SERVICE_SETTINGS,
	{ "broker", SETTING_LIST, SETTING(brokers), "tcp://127.0.0.1:7700", 0, 0, NULL,
	    "a broker's endpoint; give each of several", 0 },
	{ "slots", SETTING_INTEGER, SETTING(slots), "256", 1, FIBERS_MAX, NULL,
	    "calls answered at the same time", 0 },
	{ "plugin", SETTING_LIST, SETTING(plugins), NULL, 0, 0, NULL,
	    "a shared object with middleware; may be given several times", 0 },
	{ "provider", SETTING_LIST, SETTING(providers), NULL, 0, 0, NULL,
	    "a server that speaks as OpenAI's does, or with anthropic+ in front of its "
	    "URL as Anthropic's: name=[anthropic+]base_url[,KEY_VARIABLE], where "
	    "KEY_VARIABLE names the environment variable with its key; may be given "
	    "several times. `openai` and `anthropic` themselves are set up by "
	    "OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, "
	    "`azure_openai` by AZURE_OPENAI_ENDPOINT, `bedrock_converse` by AWS_REGION "
	    "and AWS's keys, others "
	    "that are known (`groq`, `mistralai` ...: docs/models.md) by their keys",
	    0 },
	{ "models", SETTING_TEXT, SETTING(models), NULL, 0, 0, NULL,
	    "a YAML file with what models can do, hold and cost: \"name*\": "
	    "{structured_output: true, max_input_tokens: 32768}; it comes before the "
	    "built-in table",
	    0 },
	{ "connect-timeout-ms", SETTING_INTEGER, SETTING(connect_timeout_ms), "10000", 1,
	    TIMEOUT_MS_MAX, "ms", "until a provider is connected", 0 },
	{ "first-byte-timeout-ms", SETTING_INTEGER, SETTING(first_byte_timeout_ms),
	    "300000", 1, TIMEOUT_MS_MAX, "ms", "until a streamed answer begins", 0 },
	{ "idle-timeout-ms", SETTING_INTEGER, SETTING(idle_timeout_ms), "60000", 1,
	    TIMEOUT_MS_MAX, "ms", "between two pieces of a streamed answer", 0 },
	/* Less than a call has: who retries or asks another model is to have some of it left. */
	{ "answer-timeout-ms", SETTING_INTEGER, SETTING(answer_timeout_ms), "480000", 1,
	    TIMEOUT_MS_MAX, "ms",
	    "for a whole answer, unless the agent's model_settings have a timeout", 0 },
	{ "threads-bytes", SETTING_INTEGER, SETTING(threads_bytes), "67108864", 0,
	    INT64_C(1) << 40, "bytes",
	    "for messages of threads that call again and bring only what is new; 0: none",
	    0 },
	TRACE_SETTING(SETTING(trace_endpoint)),
	{ "drain-ms", SETTING_INTEGER, SETTING(drain_ms), "60000", 0, TIMEOUT_MS_MAX,
	    "ms", "what running calls get when the process is told to end", 0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};

/* --- life -------------------------------------------------------------------------- */

static void
load_plugins(const char *const *paths)
{
	const char *error;

	for (; paths != NULL && *paths != NULL; paths++)
		if (registry_load(*paths, &error) == -1)
			fatalx("plugin %s: %s", *paths, error);
}

/* What a variable with a provider's URL wants. */
static const char *
url_form(const char *variable)
{
	if (strcmp(variable, AZURE_URL_VARIABLE) == 0)
		return "the URL of a resource, https://<name>.openai.azure.com, without "
		       "a "
		       "deployment behind it";
	if (strcmp(variable, BEDROCK_URL_VARIABLE) == 0)
		return "an http(s):// URL, without a user, a model or a query in it";
	return "an http(s):// URL";
}

static void
set_up_providers(struct worker_model *model)
{
	const struct worker_model_settings *settings = model->settings;
	const struct endpoint defaults = {
		.http = model->http,
		.connect_timeout_ms = (uint64_t)settings->connect_timeout_ms,
		.first_byte_timeout_ms = (uint64_t)settings->first_byte_timeout_ms,
		.idle_timeout_ms = (uint64_t)settings->idle_timeout_ms,
		.answer_timeout_ms = (uint64_t)settings->answer_timeout_ms,
	};
	const char *source, *item;

	if (provider_table_init(
		&model->providers, &defaults, settings->providers, &source, &item) == 0)
		return;
	if (source != NULL)
		settings_refuse(PROGRAM, source, item, url_form(source));
	settings_refuse(PROGRAM, "--provider", item, PROVIDER_FORM);
}

static void
load_models(const char *file)
{
	struct arena *arena = arena_new();
	const char *error;

	if (models_load(file, arena, &error) == -1)
		fatalx("--models %s", error);
	arena_destroy(&arena);
}

/* One that says nothing holds each call for minutes: however many ask it, by whichever brokers, the others keep some slots. Who is
 * alone has them all. */
static uint32_t
provider_slots(const struct worker_model *model)
{
	const struct provider_table *providers = &model->providers;
	uint32_t slots = (uint32_t)model->settings->slots;
	size_t servers = 0, i;

	for (i = 0; i < providers->count; i++)
		servers += providers->endpoints[i].url != NULL;
	if (servers < 2)
		return slots;
	slots -= slots > 1 ? (slots + SPARE_SHARE - 1) / SPARE_SHARE : 0;
	return worker_part((const char *const *)model->settings->brokers, slots);
}

/* Fills the services, and says once what this worker can do. */
static void
list_services(struct worker_model *model)
{
	struct provider_table *providers = &model->providers;
	uint32_t slots = (uint32_t)model->settings->slots, share = provider_slots(model);

	model->services = xcalloc(providers->count, sizeof *model->services);
	for (size_t i = 0; i < providers->count; i++) {
		const struct endpoint *endpoint = &providers->endpoints[i];

		model->services[i] = (struct wire_service){
			.name = arena_printf(
			    providers->arena, SERVICE_MODEL_PREFIX "%s", endpoint->name),
			.credit = endpoint->url == NULL ? slots : share,
		};
		log_info("serves %s provider=%s key=%s", model->services[i].name,
		    endpoint->provider->name, endpoint->key == NULL ? "no" : "yes");
	}
}

/* What HELLO says besides the services: whether threads are kept. */
static const struct value *
catalog(struct worker_model *model)
{
	const struct value *threads =
	    value_map(model->arena, "threads", value_bool(true), NULL);

	return model->settings->threads_bytes == 0
		   ? NULL
		   : value_array(model->arena, &threads, 1);
}

static struct kept_threads *
start_threads(const struct worker_model *model)
{
	uint64_t seed = 0;

	if (getentropy(&seed, sizeof seed) == -1)
		seed = loop_now_us();
	return kept_threads_new((size_t)model->settings->threads_bytes, seed);
}

static void
start_worker(struct worker_model *model)
{
	const struct worker_options options = {
		.endpoints = (const char *const *)model->settings->brokers,
		.name = model->settings->common.name,
		.services = model->services,
		.service_count = model->providers.count,
		.capacity = (uint32_t)model->settings->slots,
		.catalog = catalog(model),
		.trace = model->trace,
		.answer = model_job_answer,
		.arg = &model->world,
	};
	const char *wrong, *allowed;

	model->worker = worker_new(model->world.loop, &options, &wrong, &allowed);
	if (model->worker == NULL)
		settings_refuse(PROGRAM, "--broker", wrong, allowed);
}

struct worker_model *
worker_model_new(struct service *service, const struct worker_model_settings *settings)
{
	struct worker_model *model = xcalloc(1, sizeof *model);
	struct loop *loop = service_loop(service);

	model->service = service;
	model->settings = settings;
	model->arena = arena_new();
	model->trace = trace_new(loop, &(struct trace_options){ .program = PROGRAM,
					   .instance = settings->common.name,
					   .endpoint = settings->trace_endpoint });
	load_plugins(settings->plugins);
	load_models(settings->models);
	model->http = http_new(loop);
	set_up_providers(model);
	list_services(model);
	model->world = (struct model_world){
		.loop = loop,
		.providers = &model->providers,
		.chains = chains_new(),
		.threads = start_threads(model),
	};
	start_worker(model);
	return model;
}

void
worker_model_destroy(struct worker_model **model_p)
{
	struct worker_model *model = *model_p;

	if (model == NULL)
		return;
	worker_destroy(&model->worker);
	chains_destroy(&model->world.chains);
	kept_threads_destroy(&model->world.threads);
	trace_destroy(&model->trace);
	http_destroy(&model->http);
	provider_table_release(&model->providers);
	models_unload();
	free(model->services);
	arena_destroy(&model->arena);
	free(model);
	*model_p = NULL;
}

static void
on_told(void *arg)
{
	struct worker_model *model = arg;

	service_end(model->service);
}

static void
on_drained(void *arg)
{
	struct worker_model *model = arg;

	trace_finish(model->trace, trace_flush_ms(model->world.loop, model->drained_ms),
	    on_told, model);
}

void
worker_model_drain(void *arg)
{
	struct worker_model *model = arg;

	model->drained_ms =
	    loop_now_ms(model->world.loop) + (uint64_t)model->settings->drain_ms;
	worker_drain(
	    model->worker, (uint64_t)model->settings->drain_ms, on_drained, model);
}
