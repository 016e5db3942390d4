#include "up_settings.h"

#include <string.h>

#include "allow_list.h"
#include "trace.h"
#include "trace_target.h"
#include "wire.h"

#define SETTING(field) offsetof(struct up_settings, field)
const struct setting up_table[] = {
	KEY_SETTINGS,
	JSON_SETTINGS,
	{ "brokers", SETTING_INTEGER, SETTING(brokers), "1", 1, BROKERS_MAX, NULL,
	    "how many brokers; with two the fleet outlives one", 0 },
	{ "model-workers", SETTING_INTEGER, SETTING(model_workers), "1", 0, 64, NULL,
	    "how many worker-model processes", 0 },
	{ "tool-workers", SETTING_INTEGER, SETTING(tool_workers), "1", 0, 64, NULL,
	    "how many worker-tools processes", 0 },
	{ "coordinators", SETTING_INTEGER, SETTING(coordinators), "1", 0, 64, NULL,
	    "how many coordinator processes", 0 },
	{ "model-slots", SETTING_INTEGER, SETTING(model_slots), "256", 1, 100000, NULL,
	    "model calls at once, of each worker-model", 0 },
	{ "tool-slots", SETTING_INTEGER, SETTING(tool_slots), "64", 1, 10000, NULL,
	    "tool calls at once, of each worker-tools", 0 },
	{ "folder", SETTING_TEXT, SETTING(folder), ".", 0, 0, NULL,
	    "where .flotilla (Redis's data, fleet.json) is made", 'd' },
	{ "durability", SETTING_TEXT, SETTING(durability), "always", 0, 0, NULL,
	    "Redis's appendfsync: always, or everysec (faster, may lose a second)", 0 },
	{ "log-level", SETTING_TEXT, SETTING(log_level), "warn", 0, 0, NULL,
	    "of the children: error, warn, info, debug", 0 },
	{ "stuck-ms", SETTING_INTEGER, SETTING(stuck_ms), "15000", 0, 3600000, "ms",
	    "a child that stands still for so long ends itself, one that gives no sign "
	    "of life for twice that is killed; both start again; 0: never",
	    0 },
	{ "allow", SETTING_TEXT, SETTING(allow), NULL, 0, 0, NULL,
	    "the broker's allow list; goes with --key, the pair that all of this fleet "
	    "then have",
	    0 },
	{ "webhooks", SETTING_TEXT, SETTING(webhooks), NULL, 0, 0, NULL,
	    "whether tool workers post webhooks: off, public, or any address (default: "
	    "public; with --allow: off)",
	    0 },
	{ "serve", SETTING_TEXT, SETTING(serve), NULL, 0, 0, NULL,
	    "HOST:PORT to serve the fleet over HTTP at, by a `flotilla serve` of its own "
	    "(default: nobody does)",
	    0 },
	{ "api-keys", SETTING_TEXT, SETTING(api_keys), NULL, 0, 0, NULL,
	    "with --serve: a file with the keys that may ask", 0 },
	{ "cors-origin", SETTING_LIST, SETTING(origins), NULL, 0, 0, NULL,
	    "with --serve: whose pages may ask from a browser; may be given several "
	    "times",
	    0 },
	{ "tools", SETTING_LIST, SETTING(tools), NULL, 0, 0, NULL,
	    "a tool file or a folder of them; may be given several times", 0 },
	{ "agents", SETTING_LIST, SETTING(agents), NULL, 0, 0, NULL,
	    "an agent file to apply, or a folder of them; may be given several times",
	    0 },
	{ "plugin", SETTING_LIST, SETTING(plugins), NULL, 0, 0, NULL,
	    "a shared object with middleware, for every process", 0 },
	TRACE_SETTING(SETTING(trace_endpoint)),
	{ "trace-sample", SETTING_TEXT, SETTING(trace_sample), "1", 0, 0, NULL,
	    "the share of runs that is traced, 0 to 1", 0 },
	{ "models", SETTING_TEXT, SETTING(models), NULL, 0, 0, NULL,
	    "a YAML file with what models can do, hold and cost, for every process that "
	    "asks",
	    0 },
	{ "embed", SETTING_TEXT, SETTING(embed), NULL, 0, 0, NULL,
	    "the model that long-term memory is searched by meaning with, such as "
	    "openai:text-embedding-3-small (default: it is not)",
	    0 },
	{ "embed-field", SETTING_LIST, SETTING(embed_fields), NULL, 0, 0, NULL,
	    "with --embed: a field of a value that says what it means (default: all of "
	    "the value); may be given several times",
	    0 },
	SETTINGS_END,
};

/* --- checks --------------------------------------------------------------------------- */

static const struct allow_entry *
entry_of(const struct allow_list *list, const char *key)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (strcmp(list->entries[i].key, key) == 0)
			return &list->entries[i];
	return NULL;
}

/* All processes have the same pair: if the broker does not let it in, they are ready, and try
 * for ever. */
static enum status
check_allowed(struct arena *arena, const struct up_settings *settings)
{
	unsigned needed =
	    (settings->coordinators > 0 ? 1u << ROLE_COORDINATOR : 0) |
	    (settings->model_workers + settings->tool_workers > 0 ? 1u << ROLE_WORKER
								  : 0);
	const struct allow_list *list;
	const struct allow_entry *entry;
	char key[KEY_TEXT_BYTES];
	struct key_pair pair;
	const char *error;

	/* All of them load it; and what is none may be a secret key itself. */
	if (key_file_load(settings->common.key, &pair, &error) == -1) {
		complain("--key %s", error);
		return STATUS_FAILED;
	}
	memcpy(key, pair.public_key, sizeof key);
	explicit_bzero(&pair, sizeof pair);
	list = allow_list_load(arena, settings->allow, &error);
	if (list == NULL) {
		complain("--allow %s", error);
		return STATUS_FAILED;
	}
	entry = entry_of(list, key);
	if (entry != NULL && (entry->roles & needed) == needed)
		return STATUS_OK;
	complain("%s %s the key of %s, which all of this fleet have; `flotilla keys "
		 "allow %s --allow %s --role worker,coordinator,client --service '*'` "
		 "lets it in",
	    settings->allow,
	    entry == NULL ? "does not have"
			  : "has not the roles worker and coordinator for",
	    settings->common.key, settings->common.key, settings->allow);
	return STATUS_FAILED;
}

static enum status
check_trace(struct arena *arena, const struct up_settings *settings)
{
	const char *endpoint = settings->trace_endpoint, *url;
	double ratio;

	if (trace_ratio_read(settings->trace_sample, &ratio) == -1) {
		complain("--trace-sample '%s': must be a number from 0 to 1",
		    settings->trace_sample);
		return STATUS_USAGE;
	}
	/* It may have a password in it. */
	if (endpoint != NULL && trace_target_url(arena, endpoint, &url) == -1) {
		complain("--trace-endpoint: must be " TRACE_ENDPOINT_FORM);
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

enum status
up_settings_check(struct arena *arena, const struct up_settings *settings)
{
	static const char *const levels[] = { "error", "warn", "info", "debug" };
	size_t i = 0;

	if (strcmp(settings->durability, "always") != 0 &&
	    strcmp(settings->durability, "everysec") != 0) {
		complain("--durability '%s': must be always or everysec",
		    settings->durability);
		return STATUS_USAGE;
	}
	while (i < 4 && strcmp(settings->log_level, levels[i]) != 0)
		i++;
	if ((settings->common.key == NULL) != (settings->allow == NULL)) {
		complain("--key, the pair of all this fleet's processes, goes together "
			 "with --allow, the broker's list");
		return STATUS_USAGE;
	}
	if (settings->serve == NULL &&
	    (settings->api_keys != NULL || settings->origins[0] != NULL)) {
		complain(
		    "--api-keys and --cors-origin go together with --serve HOST:PORT");
		return STATUS_USAGE;
	}
	if (settings->embed == NULL && settings->embed_fields[0] != NULL) {
		complain("--embed-field goes together with --embed MODEL");
		return STATUS_USAGE;
	}
	if (i == 4) {
		complain("--log-level '%s': must be error, warn, info or debug",
		    settings->log_level);
		return STATUS_USAGE;
	}
	if (check_trace(arena, settings) != STATUS_OK)
		return STATUS_USAGE;
	return settings->allow == NULL ? STATUS_OK : check_allowed(arena, settings);
}
