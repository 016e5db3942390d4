#include "up_words.h"

#include <string.h>
#include <unistd.h>

#define OWN_WORDS_MAX 28u /* of a child, but its lists */

struct words {
	const char **list;
	size_t count;
};

static void
add(struct words *words, const char *flag, const char *value)
{
	words->list[words->count++] = flag;
	words->list[words->count++] = value;
}

static void
add_list(struct words *words, const char *flag, const char *const *list)
{
	for (; list != NULL && *list != NULL; list++)
		add(words, flag, *list);
}

static size_t
length(const char *const *list)
{
	size_t count = 0;

	while (list != NULL && list[count] != NULL)
		count++;
	return count;
}

static bool
is(const struct up_child *child, const char *kind)
{
	return strcmp(child->kind, kind) == 0;
}

static bool
is_broker(const struct up_child *child)
{
	return is(child, "broker") || is(child, "hub");
}

static bool
is_coordinator(const struct up_child *child)
{
	return is(child, "coordinator") || is(child, "hub");
}

/* build/bin/broker, or /usr/local/bin/flotilla-broker. */
static const char *
program(struct arena *arena, const char *programs, const char *kind)
{
	const char *path = arena_printf(arena, "%s/flotilla-%s", programs, kind);

	if (access(path, X_OK) == 0)
		return path;
	return arena_printf(arena, "%s/%s", programs, kind);
}

/* The broker's public key is in the pair that all have. */
static void
add_keys(struct words *words, const struct up_settings *settings,
    const struct fleet_file *fleet, const struct up_child *child)
{
	if (fleet->key == NULL)
		return;
	add(words, "--key", fleet->key);
	if (is_broker(child))
		add(words, "--allow", settings->allow);
	else
		add(words, "--broker-key", fleet->key);
}

static void
add_places(
    struct words *words, const struct fleet_file *fleet, const struct up_child *child)
{
	if (is_broker(child)) {
		add(words, "--bind", fleet->brokers[child->place]);
		add(words, "--status-bind", fleet->statuses[child->place]);
	} else {
		add_list(words, "--broker", fleet->brokers);
	}
	if (is_coordinator(child))
		add(words, "--redis", fleet->redis);
}

/* A user's allow list need not let tool workers serve `webhook`. */
static const char *
webhooks_of(const struct up_settings *settings)
{
	if (settings->webhooks != NULL)
		return settings->webhooks;
	return settings->allow != NULL ? "off" : "public";
}

static void
add_work(struct words *words, const struct up_settings *settings,
    const struct fleet_file *fleet, const struct up_child *child)
{
	if (!is(child, "broker"))
		add_list(words, "--plugin", (const char *const *)settings->plugins);
	if (!is(child, "broker") && settings->trace_endpoint != NULL)
		add(words, "--trace-endpoint", settings->trace_endpoint);
	if (is_coordinator(child)) {
		add(words, "--trace-sample", settings->trace_sample);
		if (settings->embed != NULL)
			add(words, "--embed", settings->embed);
		add_list(
		    words, "--embed-field", (const char *const *)settings->embed_fields);
	}
	if (child->slots != NULL)
		add(words, "--slots", child->slots);
	if (fleet->models != NULL && (is_coordinator(child) || is(child, "worker-model")))
		add(words, "--models", fleet->models);
	if (is(child, "worker-tools")) {
		add_list(words, "--tools", (const char *const *)settings->tools);
		add(words, "--webhooks", webhooks_of(settings));
	}
}

const char *const *
up_words(struct arena *arena, const char *programs, const struct up_settings *settings,
    const struct fleet_file *fleet, const struct up_child *child)
{
	size_t lists = length(fleet->brokers) +
		       length((const char *const *)settings->plugins) +
		       length((const char *const *)settings->embed_fields) +
		       length((const char *const *)settings->tools);
	struct words words = {
		arena_alloc(arena, (OWN_WORDS_MAX + 2 * lists) * sizeof(char *)), 0
	};

	words.list[words.count++] = program(arena, programs, child->kind);
	add(&words, "--name", child->name);
	add(&words, "--log-level", settings->log_level);
	add(&words, "--stuck-ms", arena_printf(arena, "%d", (int)settings->stuck_ms));
	add_keys(&words, settings, fleet, child);
	add_places(&words, fleet, child);
	add_work(&words, settings, fleet, child);
	words.list[words.count] = NULL;
	return words.list;
}

const char *const *
up_serve_words(struct arena *arena, const char *programs,
    const struct up_settings *settings, const struct fleet_file *fleet)
{
	size_t lists = length(fleet->brokers) + length(fleet->statuses) +
		       length((const char *const *)settings->plugins) +
		       length((const char *const *)settings->origins);
	struct words words = {
		arena_alloc(arena, (OWN_WORDS_MAX + 2 * lists) * sizeof(char *)), 0
	};

	words.list[words.count++] = arena_printf(arena, "%s/flotilla", programs);
	words.list[words.count++] = "serve";
	add(&words, "--listen", settings->serve);
	add(&words, "--redis", fleet->redis);
	add_list(&words, "--broker", fleet->brokers);
	add_list(&words, "--status", fleet->statuses);
	if (fleet->key != NULL) {
		add(&words, "--key", fleet->key);
		add(&words, "--broker-key", fleet->key);
	}
	if (fleet->models != NULL)
		add(&words, "--models", fleet->models);
	if (settings->api_keys != NULL)
		add(&words, "--api-keys", settings->api_keys);
	add_list(&words, "--plugin", (const char *const *)settings->plugins);
	add_list(&words, "--cors-origin", (const char *const *)settings->origins);
	words.list[words.count] = NULL;
	return words.list;
}
