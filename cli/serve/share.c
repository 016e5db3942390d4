#include "share.h"

#include <assert.h>
#include <string.h>

#include "bounds.h"

/* Half of what there is: who asks for more waits, and others do not. */
#define STATES_MAX (SERVE_STATES_MAX / 2)
#define LISTS_MAX (SERVE_LISTS_MAX / 2)

struct share *
shares_find(const struct shares *shares, const char *tenant)
{
	size_t i;

	for (i = 0; tenant != NULL && i < shares->count; i++)
		if (strcmp(shares->items[i].tenant, tenant) == 0)
			return &shares->items[i];
	return NULL;
}

void
shares_init(struct shares *shares, struct arena *arena, const struct value *keys,
    uint64_t requests_max)
{
	size_t i;

	*shares = (struct shares){ .items = arena_alloc(arena,
				       (value_size(keys) + 1) * sizeof *shares->items),
		.requests_max = requests_max };
	for (i = 0; i < value_size(keys); i++) {
		const char *tenant = value_get_text(value_at(keys, i), "tenant");
		struct share *share = &shares->items[shares->count];

		if (tenant == NULL || shares_find(shares, tenant) != NULL)
			continue;
		share->tenant = tenant;
		share->going_on = 0;
		gate_init(&share->states, STATES_MAX);
		gate_init(&share->lists, LISTS_MAX);
		shares->count++;
	}
}

bool
share_enter(const struct shares *shares, struct share *share, struct exchange *exchange)
{
	if (share == NULL)
		return true;
	if (share->going_on >= shares->requests_max)
		return false;
	share->going_on++;
	exchange_counts_for(exchange, share);
	return true;
}

void
share_leave(void *given)
{
	struct share *share = given;

	assert(share->going_on > 0);
	share->going_on--;
}
