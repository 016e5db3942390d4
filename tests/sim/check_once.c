/* check_once: what must not run twice, and what is said of it: who sends it as new, who is told that nobody knows. */
#include <string.h>

#include "owner_private.h"

/* Behind a release the next one knows; the same claim, sent again, was never answered. */
void
once_claimed(const struct thread_fact *thread, struct run_fact *run,
    const struct redis_request *request)
{
	bool is_same = thread->owner != NULL && run->floor != NULL &&
		       strcmp(thread->owner, request->args[3]) == 0 &&
		       strcmp(run->floor, request->args[5]) == 0;

	if (thread->owner != NULL && !is_same)
		run->unsaid = true;
	run->floor = request->args[5];
}

/* What an owner does whom nobody has deposed, in a Redis that has lost nothing. */
static bool
is_sure(const struct held_call *call)
{
	return call->fact->once && !world_of(call->run)->failed_over &&
	       thread_of(call->run)->epoch == call->run->epoch;
}

void
once_sent(const struct held_call *call, bool is_new)
{
	struct call_fact *fact = call->fact;

	if (is_new && fact->asked && is_sure(call))
		violate(world_of(call->run), "6: %s was sent before, and is sent as new",
		    fact->id);
	fact->asked = true;
	fact->was_new = fact->was_new || is_new;
}

void
once_told(const struct held_call *call)
{
	if (call->code == CODE_WORKER_LOST && is_sure(call) && !call->fact->was_new &&
	    !call->run->fact->unsaid)
		violate(world_of(call->run),
		    "6: %s is told as uncertain, and has never been sent to be begun",
		    call->fact->id);
}
