/* broker: routes calls to workers by capability, carries the status channel. */
#include "broker.h"

int
main(int argc, char *argv[])
{
	struct broker_settings settings;
	struct service *service =
	    service_start("broker", broker_table, &settings, argc, argv);
	struct broker *broker = broker_new(service, &settings);

	service_run(service, broker_drain, broker);
	broker_destroy(&broker);
	return service_stop(&service);
}
