/* check_blame: how many of a run's claims are taken for deaths of its owners, and who holds it without a lease (store/blame.lua),
 * counted once more by what Redis has answered. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define QUARANTINE_AFTER 5u
#define HOLD_DOUBLES 4u
#define HOLD_LAST 12u /* leases */

static bool
answers(const struct reply *reply, const char *word)
{
	return reply->count > 0 && reply->items[0].type == REPLY_TEXT &&
	       strcmp(reply->items[0].text, word) == 0;
}

static uint64_t
number(const char *text)
{
	return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static const char *
attempts_of(struct world *world, const struct run_fact *run)
{
	return redis_memory_field(world->redis.memory,
	    world_text(world, SIM_PREFIX "r:%s", run->id), "attempts");
}

/* For how long the present claim holds it at a time; 0: it does not. */
static uint64_t
hold_ms(const struct blame_fact *blame)
{
	uint64_t leases =
	    blame->slow == 0 ? 0
			     : UINT64_C(1) << (blame->slow < HOLD_DOUBLES ? blame->slow
									  : HOLD_DOUBLES);

	if (blame->number >= QUARANTINE_AFTER && leases < HOLD_LAST)
		leases = HOLD_LAST;
	return leases * LEASE_MS;
}

/* The claims that are lost by who lives are taken off; the last one can be lost from here on. */
static void
settle(struct blame_fact *blame, const struct thread_fact *thread)
{
	if (thread->owner != NULL && !blame->rests && blame->taken_count < BLAME_TAKEN)
		blame->taken[blame->taken_count++] = thread->epoch;
	if (blame->lost > 0)
		blame->claims =
		    blame->claims > blame->lost ? blame->claims - blame->lost : 1;
	blame->lost = 0;
}

/* A hold in a far future was written before the clock was set back. */
static void
check_hold(struct world *world, const struct thread_fact *thread,
    const struct run_fact *run, const char *owner)
{
	const struct blame_fact *blame = &run->blame;
	uint64_t now_ms = redis_clock_ms(world);

	if (thread->owner != NULL && strcmp(thread->owner, owner) != 0 &&
	    blame->held_until_ms > now_ms &&
	    blame->held_until_ms <= now_ms + 2 * blame->held_ms)
		violate(world, "5: %s was claimed by %.4s while %.4s holds it",
		    thread->id, owner, thread->owner);
}

void
blame_claimed(struct world *world, const struct thread_fact *thread, struct run_fact *run,
    const struct redis_request *request, bool is_recovered)
{
	struct blame_fact *blame = &run->blame;
	const char *attempts;

	if (is_recovered) {
		check_hold(world, thread, run, request->args[3]);
		settle(blame, thread);
	}
	blame->number = ++blame->claims;
	blame->held_ms = is_recovered ? hold_ms(blame) : 0;
	blame->held_until_ms =
	    blame->held_ms > 0 ? redis_clock_ms(world) + blame->held_ms : 0;
	blame->rests = false;
	attempts = attempts_of(world, run);
	if (number(attempts) != blame->claims)
		violate(world, "13: %s was claimed for the %s. time, and that is its %u.",
		    run->id, attempts, blame->claims);
}

void
blame_quarantined(
    struct world *world, const struct thread_fact *thread, struct run_fact *run)
{
	settle(&run->blame, thread);
	if (run->blame.claims < QUARANTINE_AFTER)
		violate(world, "13: %s was quarantined after %u claims", run->id,
		    run->blame.claims);
}

void
blame_progress(struct run_fact *run)
{
	run->blame = (struct blame_fact){ .claims = 1, .number = 1 };
}

void
blame_fenced(struct run_fact *run, uint64_t epoch)
{
	struct blame_fact *blame = &run->blame;
	unsigned i;

	for (i = 0; i < blame->taken_count && blame->taken[i] != epoch; i++)
		continue;
	if (run->over || i == blame->taken_count)
		return;
	blame->taken[i] = blame->taken[--blame->taken_count];
	blame->lost++;
	blame->slow++;
}

/* fl_attempts key; prefix, owner, epoch, run, number */
void
blame_counted(
    struct world *world, const struct redis_request *request, const struct reply *reply)
{
	struct run_fact *run = run_fact_of(world, request->args[4]);
	struct blame_fact *blame = &run->blame;

	if (answers(reply, "FENCED"))
		blame_fenced(run, number(request->args[3]));
	if (!answers(reply, "OK"))
		return;
	if (world->threads[run->thread].epoch != number(request->args[3]))
		violate(world, "4: the attempts of %s are counted by a former owner",
		    run->id);
	if (blame->number < 2)
		return;
	blame->claims = (unsigned)number(request->args[5]);
	blame->rests = blame->claims < blame->number;
	if (blame->held_until_ms != 0)
		blame->held_until_ms =
		    blame->rests ? 1 : redis_clock_ms(world) + blame->held_ms;
}

void
blame_released(struct world *world, struct run_fact *run)
{
	const char *attempts = attempts_of(world, run);

	run->blame.claims -= run->blame.rests ? 0 : 1;
	run->blame.held_until_ms = 0;
	if (number(attempts) > run->blame.claims)
		violate(
		    world, "13: %s was given back, and that counts as attempt", run->id);
}
