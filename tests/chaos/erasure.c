#include "erasure.h"

#include "fiber.h"

#define AGAIN_MS 200u

static bool
has_ended_well(struct load *load, const struct load_run *run)
{
	struct arena *arena = arena_new();
	const struct value *record = NULL;
	bool well =
	    store_run(load->direct, arena, run->thread, run->id, &record) == STORE_OK &&
	    value_text_is(value_get(record, "status"), "success") &&
	    value_is_nil(value_get(record, "rolled_back"));

	arena_destroy(&arena);
	return well;
}

void
erasure_give(struct load *load, struct load_run *run)
{
	const char *path =
	    arena_printf(load->arena, "/threads/%s/runs/%s", run->thread, run->id);
	long status;

	if (run->tries > 1 || run->told->cuts > 0 || !has_ended_well(load, run))
		return;
	run->is_erased = true;
	do {
		status = client_ask(load->client, "DELETE", path);
		if (status != 204)
			fiber_sleep(AGAIN_MS);
	} while (status == 0 || status == 409);
	if (status != 204 && status != 404)
		fleet_say(load->fleet, "REFUSED by HTTP: DELETE %s: %ld", path, status);
}
