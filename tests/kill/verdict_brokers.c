#include <check.h>
#include <string.h>

#include "json.h"
#include "links.h"
#include "verdict.h"

struct look {
	struct storm *storm;
	struct links *links;
	bool is_empty[KIT_INDEX_MAX]; /* said the last answer */
	const struct value *last[KIT_INDEX_MAX];
};

static void
on_message(void *arg, uint32_t link, const struct header *header, struct parts *bodies)
{
	struct look *look = arg;
	const struct value *stats, *calls;
	const char *error;
	int64_t known = 0;
	size_t i;

	if (header->type != MSG_STATS ||
	    value_unpack(look->storm->arena, parts_data(bodies, 0), parts_size(bodies, 0),
		&stats, &error) == -1)
		return;
	calls = value_get(stats, "calls");
	for (i = 0; i < value_size(calls); i++)
		known += calls->pairs[i].value->integer;
	look->is_empty[link] = known == 0;
	look->last[link] = calls;
}

static bool
all_are_empty(void *arg)
{
	const struct header ask = { .type = MSG_STATS };
	struct look *look = arg;
	bool empty = true;
	uint32_t i;

	for (i = 0; i < links_count(look->links); i++) {
		empty = empty && look->is_empty[i];
		links_send(look->links, i, &ask, NULL);
	}
	return empty;
}

void
verdict_brokers(struct storm *storm)
{
	unsigned count = storm->plan->brokers > 0 ? storm->plan->brokers : 1, i, n = 0;
	const char *endpoints[KIT_INDEX_MAX + 1] = { NULL }, *wrong, *allowed;
	struct look look = { .storm = storm };
	const struct links_options options = {
		.endpoints = endpoints,
		.role = ROLE_CLIENT,
		.name = "verdict",
		.on_message = on_message,
		.arg = &look,
	};

	for (i = 0; i < count; i++)
		if (kit_runs(storm->kit, KIT_BROKER, i))
			endpoints[n++] = kit_broker_at(storm->kit, i);
	look.links = links_new(storm->client->loop, &options, &wrong, &allowed);
	ck_assert_ptr_nonnull(look.links);
	if (!client_wait(storm->client, all_are_empty, &look, STORM_WAIT_MS))
		for (i = 0; i < n; i++)
			ck_assert_msg(look.is_empty[i], "broker %u still has calls: %s",
			    i,
			    look.last[i] == NULL ? "no answer"
						 : json_text(storm->arena, look.last[i]));
	links_destroy(&look.links);
}
