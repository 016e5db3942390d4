#include "redis_lookup.h"

#include <stdlib.h>
#include <uv.h>

#include "memory.h"

struct lookup {
	uv_getaddrinfo_t uv;
	struct redis_lookups *lookups; /* NULL: gone */
	size_t index;
};

struct redis_lookups {
	struct loop *loop;
	redis_found_fn *found;
	void *arg;
	size_t count;
	struct lookup *under_way[]; /* NULL: none */
};

struct redis_lookups *
redis_lookups_new(struct loop *loop, size_t count, redis_found_fn *found, void *arg)
{
	struct redis_lookups *lookups =
	    xcalloc(1, sizeof *lookups + count * sizeof(struct lookup *));

	lookups->loop = loop;
	lookups->count = count;
	lookups->found = found;
	lookups->arg = arg;
	return lookups;
}

void
redis_lookups_destroy(struct redis_lookups **lookups_p)
{
	struct redis_lookups *lookups = *lookups_p;
	size_t i;

	if (lookups == NULL)
		return;
	*lookups_p = NULL;
	for (i = 0; i < lookups->count; i++) {
		if (lookups->under_way[i] == NULL)
			continue;
		lookups->under_way[i]->lookups = NULL;
		uv_cancel((uv_req_t *)&lookups->under_way[i]->uv);
	}
	free(lookups);
}

static void
on_lookup(uv_getaddrinfo_t *uv, int status, struct addrinfo *info)
{
	struct lookup *lookup = uv->data;
	struct redis_lookups *lookups = lookup->lookups;

	if (lookups != NULL) {
		lookups->under_way[lookup->index] = NULL;
		lookups->found(lookups->arg, lookup->index, status, info);
	}
	uv_freeaddrinfo(info);
	free(lookup);
}

int
redis_lookup(struct redis_lookups *lookups, size_t index, const char *host)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct lookup *lookup;
	int status;

	if (lookups->under_way[index] != NULL)
		return 0;
	lookup = xcalloc(1, sizeof *lookup);
	lookup->uv.data = lookup;
	lookup->lookups = lookups;
	lookup->index = index;
	status = uv_getaddrinfo(
	    loop_uv(lookups->loop), &lookup->uv, on_lookup, host, NULL, &hints);
	if (status == 0)
		lookups->under_way[index] = lookup;
	else
		free(lookup);
	return status;
}
