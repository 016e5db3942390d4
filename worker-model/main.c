/* worker-model: answers model calls. */
#include "worker_model.h"

int
main(int argc, char *argv[])
{
	static struct worker_model_settings settings;
	struct service *service =
	    service_start("worker-model", worker_model_table, &settings, argc, argv);
	struct worker_model *model = worker_model_new(service, &settings);

	service_run(service, worker_model_drain, model);
	worker_model_destroy(&model);
	settings_release(worker_model_table, &settings);
	return service_stop(&service);
}
