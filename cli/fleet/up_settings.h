/* up_settings: what `flotilla up` is told, and what of it cannot be. */
#ifndef UP_SETTINGS_H
#define UP_SETTINGS_H

#include "command.h"

struct up_settings {
	struct common_settings common;
	int64_t brokers, model_workers, tool_workers, coordinators;
	int64_t tool_slots, model_slots;
	int64_t stuck_ms;
	const char *folder;
	const char *durability;
	const char *log_level;
	const char *allow;
	const char *webhooks;
	const char *trace_endpoint, *trace_sample;
	const char *models, *embed;
	const char **embed_fields;
	const char *serve, *api_keys; /* as `flotilla serve` has them: listen, api-keys */
	const char **origins;
	const char **tools, **agents, **plugins;
};

extern const struct setting up_table[];

/* Says what children would refuse one after the other, with less clear words; else
 * STATUS_OK. */
enum status up_settings_check(struct arena *arena, const struct up_settings *settings);

#endif
