/* hub: a broker and a coordinator in one process. */
#include "hub.h"

static const struct settings_help help = {
	.program = "hub",
	.summary =
	    "A broker and a coordinator in one process: what a run alone waits for most "
	    "is "
	    "messages between the two. Workers, more coordinators and the command line "
	    "connect to it as to any broker. For fleets with one broker.",
};

int
main(int argc, char *argv[])
{
	static struct hub_settings settings;
	struct service *service =
	    service_start_as(&help, hub_table(), &settings, argc, argv);
	struct hub *hub = hub_new(service, &settings);

	service_run(service, hub_drain, hub);
	hub_destroy(&hub);
	return service_stop(&service);
}
