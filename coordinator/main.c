/* coordinator: claims runs and executes their graphs. */
#include "coordinator.h"

int
main(int argc, char *argv[])
{
	static struct coordinator_settings settings;
	struct service *service =
	    service_start("coordinator", coordinator_table, &settings, argc, argv);
	struct coordinator *coordinator = coordinator_new(service, &settings);

	service_run(service, coordinator_drain, coordinator);
	coordinator_destroy(&coordinator);
	settings_release(coordinator_table, &settings);
	return service_stop(&service);
}
