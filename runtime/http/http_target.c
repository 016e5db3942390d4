#include "http_target.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "memory.h"

#define TARGETS_KEPT 32u

struct entry {
	struct http_target target; /* first: an entry is found from it */
	struct arena *arena;
	unsigned users;
	TAILQ_ENTRY(entry) link;
};
TAILQ_HEAD(entries, entry);

struct http_targets {
	struct entries entries; /* used last first */
	size_t count;
};

/* --- one ----------------------------------------------------------------------------- */

static void
entry_destroy(struct entry *entry)
{
	curl_url_cleanup(entry->target.curl);
	arena_destroy(&entry->arena);
	free(entry);
}

static bool
is_http(const struct url *url)
{
	return strcmp(url->scheme, "http") == 0 || strcmp(url->scheme, "https") == 0;
}

/* Reads text as curl would by itself. Returns why it cannot, or NULL. */
static const char *
read_for_curl(CURLU *curl, const char *text)
{
	CURLUcode code = curl_url_set(
	    curl, CURLUPART_URL, text, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME);

	return code == CURLUE_OK ? NULL : curl_url_strerror(code);
}

/* Returns why text is no target, in entry's arena, or NULL. */
static const char *
fill(struct entry *entry, const char *text)
{
	struct http_target *target = &entry->target;
	struct arena *arena = entry->arena;
	const char *error;

	if (url_parse(arena, text, &target->url, &error) == -1)
		return arena_printf(arena, "bad URL: %s", error);
	if (!is_http(&target->url))
		return "not an http or https URL";
	error = read_for_curl(target->curl, text);
	if (error != NULL)
		return arena_printf(arena, "bad URL: %s", error);
	target->text = arena_strdup(arena, text);
	target->origin = arena_printf(
	    arena, "%s://%s:%u", target->url.scheme, target->url.host, target->url.port);
	return NULL;
}

static struct entry *
entry_new(struct arena *arena, const char *text, const char **error_r)
{
	struct entry *entry = xcalloc(1, sizeof *entry);
	const char *error;

	entry->arena = arena_new();
	entry->target.curl = curl_url();
	if (entry->target.curl == NULL)
		arena_exhausted();
	error = fill(entry, text);
	if (error == NULL)
		return entry;
	*error_r = arena_strdup(arena, error);
	entry_destroy(entry);
	return NULL;
}

/* --- all ----------------------------------------------------------------------------- */

struct http_targets *
http_targets_new(void)
{
	struct http_targets *targets = xcalloc(1, sizeof *targets);

	TAILQ_INIT(&targets->entries);
	return targets;
}

static void
remove_entry(struct http_targets *targets, struct entry *entry)
{
	TAILQ_REMOVE(&targets->entries, entry, link);
	targets->count--;
	entry_destroy(entry);
}

void
http_targets_destroy(struct http_targets **targets_p)
{
	struct http_targets *targets = *targets_p;
	struct entry *entry, *next;

	*targets_p = NULL;
	if (targets == NULL)
		return;
	for (entry = TAILQ_FIRST(&targets->entries); entry != NULL; entry = next) {
		next = TAILQ_NEXT(entry, link);
		assert(entry->users == 0);
		entry_destroy(entry);
	}
	free(targets);
}

/* The longest unused go, but those in use. */
static void
shrink(struct http_targets *targets)
{
	struct entry *entry = TAILQ_LAST(&targets->entries, entries), *before;

	for (; entry != NULL && targets->count > TARGETS_KEPT; entry = before) {
		before = TAILQ_PREV(entry, entries, link);
		if (entry->users == 0)
			remove_entry(targets, entry);
	}
}

static struct entry *
find(struct http_targets *targets, const char *text)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &targets->entries, link)
		if (strcmp(entry->target.text, text) == 0)
			return entry;
	return NULL;
}

const struct http_target *
http_target_hold(struct http_targets *targets, struct arena *arena, const char *text,
    const char **error_r)
{
	struct entry *entry = find(targets, text);

	if (entry != NULL) {
		TAILQ_REMOVE(&targets->entries, entry, link);
	} else {
		entry = entry_new(arena, text, error_r);
		if (entry == NULL)
			return NULL;
		targets->count++;
	}
	TAILQ_INSERT_HEAD(&targets->entries, entry, link);
	entry->users++;
	shrink(targets);
	return &entry->target;
}

void
http_target_release(struct http_targets *targets, const struct http_target **target_p)
{
	struct entry *entry = (struct entry *)(void *)*target_p;

	*target_p = NULL;
	if (entry == NULL)
		return;
	entry->users--;
	shrink(targets);
}
