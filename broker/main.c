/* broker: routes calls to workers by capability, carries the status channel. */
#include "broker.h"

static const struct settings_help help = {
	.program = "broker",
	.summary = "Routes the calls of coordinators to the workers that serve them, and "
		   "carries the status "
		   "channel. Keeps nothing on disk: start it again at any time.",
};

int
main(int argc, char *argv[])
{
	static struct broker_settings settings; /* what is in no table is none */
	struct service *service =
	    service_start_as(&help, broker_table, &settings, argc, argv);
	struct broker *broker = broker_new(service, &settings);

	service_run(service, broker_drain, broker);
	broker_destroy(&broker);
	return service_stop(&service);
}
