/* run_age: how long runs take, for who watches the fleet. */
#include <stdlib.h>

#include "run.h"
#include "tally.h"

static int64_t
number_of(const struct run *run, const char *name)
{
	const char *text = run_record_text(run, name);

	return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* From when it was submitted, or was to start, by Redis's clock, whose microseconds a claim's epoch is (but for a while behind a
 * clock that was set back: then it is more). What is claimed in the step that submits it has no time of its own. From then on by
 * our monotonic one. */
void
run_age_begin(struct run *run)
{
	int64_t created = number_of(run, "created"), at = number_of(run, "at");
	int64_t since = at > created ? at : created, now = (int64_t)(run->epoch / 1000);
	int64_t age_ms = since > 0 && now > since ? now - since : 0;

	run->born_ms = (int64_t)loop_now_ms(run->coordinator->loop) - age_ms;
}

void
run_age_end(const struct run *run, const char *status)
{
	int64_t age_ms = (int64_t)loop_now_ms(run->coordinator->loop) - run->born_ms;

	tally_run(run->coordinator->tally, status, (uint64_t)age_ms);
}
