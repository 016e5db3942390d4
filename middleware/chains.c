#include "chains.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "bounds.h"
#include "memory.h"

struct entry {
	struct kept_chain kept; /* first: an entry is found from it */
	struct arena *arena;
	uint64_t number; /* of its profile, by our own count: what a peer calls a version
			    is only its word */
	unsigned users;
	TAILQ_ENTRY(entry) link;
};
TAILQ_HEAD(entries, entry);

struct chains {
	struct entries entries; /* used last first */
	size_t count;
};

static void
entry_destroy(struct entry *entry)
{
	arena_destroy(&entry->arena);
	free(entry);
}

struct chains *
chains_new(void)
{
	struct chains *chains = xcalloc(1, sizeof *chains);

	TAILQ_INIT(&chains->entries);
	return chains;
}

void
chains_destroy(struct chains **chains_p)
{
	struct chains *chains = *chains_p;
	struct entry *entry, *next;

	*chains_p = NULL;
	if (chains == NULL)
		return;
	for (entry = TAILQ_FIRST(&chains->entries); entry != NULL; entry = next) {
		next = TAILQ_NEXT(entry, link);
		assert(entry->users == 0);
		entry_destroy(entry);
	}
	free(chains);
}

static struct entry *
find(struct chains *chains, uint64_t number)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &chains->entries, link)
		if (entry->number == number && number != 0)
			return entry;
	return NULL;
}

/* What a chain is made of: an agent's tools and script may be large. */
static const struct value *
chain_part(struct arena *arena, const struct value *profile)
{
	return value_copy(
	    arena, value_map(arena, "middleware", value_get(profile, "middleware"),
		       "model", value_get(profile, "model"), "model_profile",
		       value_get(profile, "model_profile"), NULL));
}

static struct entry *
entry_new(uint64_t number, const struct value *profile, struct arena *arena,
    const char **error_r)
{
	struct entry *entry = xcalloc(1, sizeof *entry);
	const char *error;

	entry->number = number;
	entry->arena = arena_new();
	entry->kept.chain =
	    chain_from_profile(entry->arena, chain_part(entry->arena, profile), &error);
	if (entry->kept.chain != NULL)
		return entry;
	*error_r = arena_strdup(arena, error);
	entry_destroy(entry);
	return NULL;
}

/* The version used longest ago goes, unless a call still uses it. */
static void
shrink(struct chains *chains)
{
	struct entry *entry = TAILQ_LAST(&chains->entries, entries), *before;

	for (; entry != NULL && chains->count > PROFILES_MAX; entry = before) {
		before = TAILQ_PREV(entry, entries, link);
		if (entry->users > 0)
			continue;
		TAILQ_REMOVE(&chains->entries, entry, link);
		chains->count--;
		entry_destroy(entry);
	}
}

struct kept_chain *
chains_hold(struct chains *chains, uint64_t number, const struct value *profile,
    struct arena *arena, const char **error_r)
{
	struct entry *entry = find(chains, number);

	if (entry != NULL) {
		TAILQ_REMOVE(&chains->entries, entry, link);
	} else {
		entry = entry_new(number, profile, arena, error_r);
		if (entry == NULL)
			return NULL;
		chains->count++;
	}
	TAILQ_INSERT_HEAD(&chains->entries, entry, link);
	entry->users++;
	shrink(chains);
	return &entry->kept;
}

void
chains_release(struct chains *chains, struct kept_chain **kept_p)
{
	struct entry *entry = (struct entry *)*kept_p;

	*kept_p = NULL;
	assert(entry->users > 0);
	entry->users--;
	shrink(chains);
}
