#include "turn_options.h"

#define FIELD(field) offsetof(struct turn_options, field)
const struct setting turn_options[] = {
	{ "fsync", SETTING_TEXT, FIELD(fsync), "everysec", 0, 0, NULL,
	    "Redis's appendfsync", 0 },
	{ "in-flight", SETTING_INTEGER, FIELD(in_flight), "64", 1, 10000, NULL,
	    "runs in flight", 0 },
	{ "runs", SETTING_INTEGER, FIELD(runs), "4000", 1, 1000000, NULL, "runs", 0 },
	{ "waiting", SETTING_INTEGER, FIELD(waiting), "0", 0, 10000, NULL,
	    "runs that wait for a slow model while memory is measured; 0: none", 0 },
	{ "apart", SETTING_BOOL, FIELD(apart), NULL, 0, 0, NULL,
	    "broker and coordinator in two processes, as the floor's always are", 0 },
	{ NULL, SETTING_TEXT, 0, NULL, 0, 0, NULL, NULL, 0 },
};
