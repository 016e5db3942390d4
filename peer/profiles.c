#include "profiles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "id_table.h"
#include "memory.h"

struct profile {
	struct id_key key; /* its bytes lie in arena */
	struct arena *arena;
	const struct value *value;
	uint64_t number;
	unsigned users;
	TAILQ_ENTRY(profile) link;
};

struct profiles {
	struct id_table *table;
	TAILQ_HEAD(profile_list, profile) recent; /* last used first */
	size_t max;
	uint64_t made;
};

struct profiles *
profiles_new(uint64_t seed, size_t max)
{
	struct profiles *profiles = xcalloc(1, sizeof *profiles);

	profiles->table = id_table_new(seed);
	profiles->max = max;
	TAILQ_INIT(&profiles->recent);
	return profiles;
}

static void
profile_free(struct profiles *profiles, struct profile *profile)
{
	assert(profile->users == 0);
	TAILQ_REMOVE(&profiles->recent, profile, link);
	id_table_remove(profiles->table, &profile->key);
	arena_destroy(&profile->arena);
	free(profile);
}

void
profiles_destroy(struct profiles **profiles_p)
{
	struct profiles *profiles = *profiles_p;
	struct profile *profile, *next;

	if (profiles == NULL)
		return;
	for (profile = TAILQ_FIRST(&profiles->recent); profile != NULL; profile = next) {
		next = TAILQ_NEXT(profile, link);
		profile_free(profiles, profile);
	}
	id_table_destroy(&profiles->table);
	free(profiles);
	*profiles_p = NULL;
}

/* Down to max, longest unused first; those in use stay. */
static void
shrink(struct profiles *profiles)
{
	struct profile *profile = TAILQ_LAST(&profiles->recent, profile_list), *before;

	for (; profile != NULL && id_table_size(profiles->table) > profiles->max;
	     profile = before) {
		before = TAILQ_PREV(profile, profile_list, link);
		if (profile->users == 0)
			profile_free(profiles, profile);
	}
}

static struct profile *
profile_new(
    struct profiles *profiles, const void *bytes, size_t size, const char **error_r)
{
	struct profile *profile = xcalloc(1, sizeof *profile);

	profile->arena = arena_new();
	if (value_unpack(profile->arena, bytes, size, &profile->value, error_r) == -1) {
		arena_destroy(&profile->arena);
		free(profile);
		return NULL;
	}
	profile->number = ++profiles->made;
	id_table_put_bytes(profiles->table, &profile->key,
	    arena_copy(profile->arena, bytes, size), size, profile);
	TAILQ_INSERT_HEAD(&profiles->recent, profile, link);
	return profile;
}

/* Most calls are of the agent of the call before: comparing is a tenth of hashing. */
static struct profile *
find(const struct profiles *profiles, const void *bytes, size_t size)
{
	struct profile *last = TAILQ_FIRST(&profiles->recent);

	if (last != NULL && last->key.size == size &&
	    memcmp(last->key.bytes, bytes, size) == 0)
		return last;
	return id_table_get_bytes(profiles->table, bytes, size);
}

struct profile *
profile_get(
    struct profiles *profiles, const void *bytes, size_t size, const char **error_r)
{
	struct profile *profile = find(profiles, bytes, size);

	if (profile == NULL) {
		profile = profile_new(profiles, bytes, size, error_r);
		if (profile == NULL)
			return NULL;
	} else {
		TAILQ_REMOVE(&profiles->recent, profile, link);
		TAILQ_INSERT_HEAD(&profiles->recent, profile, link);
	}
	profile->users++;
	shrink(profiles);
	return profile;
}

const struct value *
profile_value(const struct profile *profile)
{
	return profile->value;
}

uint64_t
profile_number(const struct profile *profile)
{
	return profile->number;
}

void
profile_release(struct profiles *profiles, struct profile **profile_p)
{
	if (*profile_p == NULL)
		return;
	assert((*profile_p)->users > 0);
	(*profile_p)->users--;
	*profile_p = NULL;
	shrink(profiles);
}

size_t
profiles_count(const struct profiles *profiles)
{
	return id_table_size(profiles->table);
}
