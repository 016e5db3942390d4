/* hub_settings: the settings of broker and coordinator, as those of one program.
 *
 * Every row of their tables is one here, by the same name, but:
 *
 *	--broker, --broker-key   are not there: the broker inside is meant
 *	--drain-ms               is for both together: half of it is each one's */
#ifndef HUB_SETTINGS_H
#define HUB_SETTINGS_H

#include "broker.h"
#include "coordinator.h"

#define HUB_NAME_BYTES_MAX 128u

struct hub_settings {
	struct service_settings common; /* first */
	struct broker_settings broker;
	struct coordinator_settings coordinator;
	int64_t drain_ms;
	/* Of the two, for people: "<name>-broker", "<name>-coordinator"; a name too long for that is cut. */
	char broker_name[HUB_NAME_BYTES_MAX], coordinator_name[HUB_NAME_BYTES_MAX];
};

/* Lends the table, for ever. */
const struct setting *hub_table(void);

/* Gives broker and coordinator what they share, once the settings are parsed and the process has its name. Keeps
 * settings. */
void hub_settings_share(struct hub_settings *settings);

#endif
