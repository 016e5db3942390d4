/* worker-model: answers model calls. */
#include "worker_model.h"

static const struct settings_help help = {
	.program = "worker-model",
	.summary = "Answers model calls: the agent's middleware, then the provider over "
		   "HTTP. Provider keys "
		   "(OPENAI_API_KEY, ANTHROPIC_API_KEY) belong into the environment of "
		   "this process alone.",
};

int
main(int argc, char *argv[])
{
	static struct worker_model_settings settings;
	struct service *service =
	    service_start_as(&help, worker_model_table, &settings, argc, argv);
	struct worker_model *model = worker_model_new(service, &settings);

	service_run(service, worker_model_drain, model);
	worker_model_destroy(&model);
	settings_release(worker_model_table, &settings);
	return service_stop(&service);
}
