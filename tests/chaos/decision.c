#include "decision.h"

#include <stdlib.h>

#include "fiber.h"
#include "submission.h"

#define POLL_MS 200u

/* Waits until run's work is over. Returns whether it asks. */
static bool
is_asked(struct load *load, const struct load_run *run)
{
	bool has_ended = false, asks = false;

	while (!has_ended) {
		struct arena *arena = arena_new();
		const struct value *record = NULL, *status;

		fiber_sleep(POLL_MS);
		if (store_run(load->direct, arena, run->thread, run->id, &record) ==
		    STORE_OK) {
			/* One that was put back meanwhile asks nobody any more. */
			status = value_get(record, "status");
			asks = value_text_is(status, "interrupted") &&
			       value_is_nil(value_get(record, "rolled_back"));
			has_ended = asks || !value_is_nil(value_get(record, "ended"));
		}
		arena_destroy(&arena);
	}
	return asks;
}

struct asker {
	struct load *load;
	struct client_run *decided;
	unsigned *left;
};

static void
asker_main(void *arg)
{
	const struct asker *asker = arg;
	const char *refused = client_begin(asker->load->client, asker->decided);

	if (refused != NULL)
		fleet_say(asker->load->fleet, "REFUSED by HTTP: %s: %s",
		    asker->decided->key, refused);
	--*asker->left;
}

/* Each at another server. */
static void
decide_by_http(struct load *load, struct load_run *run, const char *command)
{
	struct asker askers[2];
	unsigned left = 2, i;

	for (i = 0; i < 2; i++) {
		run->decided[i] = arena_alloc(load->arena, sizeof *run->decided[i]);
		client_run_init(run->decided[i], run->thread, run->sort->agent,
		    run->decision, arena_printf(load->arena, "\"command\": %s", command),
		    false);
		askers[i] = (struct asker){ load, run->decided[i], &left };
		if (fiber_start(load->fleet->loop, "asker", asker_main, &askers[i]) ==
		    NULL)
			abort();
	}
	while (left > 0)
		fiber_sleep(POLL_MS);
	if (run->decided[0]->id != NULL)
		run->last = run->decided[0]->id;
}

void
decision_give(struct load *load, struct load_run *run)
{
	const char *command;

	if (!is_asked(load, run))
		return;
	run->answers++;
	run->decision = arena_printf(load->arena, "%s+1", run->input);
	command = arena_printf(load->arena,
	    "{\"resume\": {\"decisions\": [{\"type\": \"approve\"}]}, "
	    "\"update\": {\"seen\": [\"%s\"]}}",
	    run->decision);
	if (run->told != NULL) {
		decide_by_http(load, run, command);
		return;
	}
	submission_insist_all(load->redis,
	    &(struct submission){ .agent = run->sort->agent,
		.thread = run->thread,
		.run = run->decision,
		.field = "command",
		.value = command },
	    SUBMISSION_WAIT_MS, 2);
	run->last = run->decision;
}

void
decision_release(struct load_run *run)
{
	unsigned i;

	for (i = 0; i < 2; i++)
		if (run->decided[i] != NULL)
			client_run_release(run->decided[i]);
}
