/* coordinator: claims runs and executes their graphs. */
#include "coordinator.h"

static const struct settings_help help = {
	.program = "coordinator",
	.summary = "Takes runs from the inbox in Redis and advances them, step by step, "
		   "each step stored "
		   "before the next. Start as many as you like.",
};

int
main(int argc, char *argv[])
{
	static struct coordinator_settings settings;
	struct service *service =
	    service_start_as(&help, coordinator_table, &settings, argc, argv);
	struct coordinator *coordinator = coordinator_new(service, &settings);

	service_run(service, coordinator_drain, coordinator);
	coordinator_destroy(&coordinator);
	settings_release(coordinator_table, &settings);
	return service_stop(&service);
}
