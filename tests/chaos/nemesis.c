#include "nemesis.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fiber.h"
#include "memory.h"
#include "parts/shim.h"

/* A time so long before or after one when Redis's clock was wrong may be of that. */
#define WRONG_BEHIND_MS 15000
#define WRONG_BEFORE_MS 15000

/* One fault, while it lasts. */
struct blow {
	struct nemesis *nemesis;
	const struct fault *fault;
};

/* --- targets ------------------------------------------------------------------------------- */

static void
add_links(
    struct fleet *fleet, const struct party *party, const char **links, size_t *count)
{
	unsigned i;

	for (i = 0; i < fleet->plan->counts[PARTY_BROKER]; i++)
		links[(*count)++] =
		    arena_printf(fleet->arena, "%s>broker-%u", party->name, i);
	if (party->kind == PARTY_COORDINATOR || party->kind == PARTY_SERVE)
		links[(*count)++] = arena_printf(fleet->arena, "%s>redis", party->name);
	for (i = 0; party->kind == PARTY_SERVE && i < fleet->plan->counts[PARTY_BROKER];
	     i++)
		links[(*count)++] =
		    arena_printf(fleet->arena, "%s>status-%u", party->name, i);
	if (party->kind == PARTY_SERVE)
		links[(*count)++] = arena_printf(fleet->arena, "client>%s", party->name);
	if (party->kind == PARTY_MODEL)
		links[(*count)++] =
		    arena_printf(fleet->arena, "%s>provider", party->name);
}

void
nemesis_targets(struct fleet *fleet, struct schedule_targets *targets_r)
{
	size_t room = (size_t)8 * PARTIES_MAX, killable_count = 0, stoppable_count = 0,
	       link_count = 0;
	const char **killable = arena_alloc(fleet->arena, room * sizeof *killable),
		   **stoppable = arena_alloc(fleet->arena, room * sizeof *stoppable),
		   **links = arena_alloc(fleet->arena, room * sizeof *links);
	unsigned i;

	/* The client's way to Redis is one of many, and the only one that submissions take. */
	for (i = 0; i < 3; i++)
		links[link_count++] = "client>redis";
	for (i = 0; i < fleet->plan->counts[PARTY_BROKER]; i++)
		links[link_count++] = arena_printf(fleet->arena, "client>status-%u", i);
	for (i = 0; i < fleet->count; i++) {
		const struct party *party = &fleet->parties[i];

		if (party->kind < PARTY_BROKER)
			continue;
		if (!party->long_lived)
			killable[killable_count++] = party->name;
		stoppable[stoppable_count++] = party->name;
		if (party->kind > PARTY_BROKER)
			add_links(fleet, party, links, &link_count);
	}
	*targets_r = (struct schedule_targets){
		.killable = killable,
		.stoppable = stoppable,
		.links = links,
	};
}

/* --- processes -------------------------------------------------------------------------------- */

int64_t
nemesis_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool
nemesis_kill(struct nemesis *nemesis, struct party *party, uint64_t down_ms)
{
	if (party->child == NULL)
		return false;
	if (nemesis->death_count == nemesis->death_room) {
		nemesis->death_room = nemesis->death_room * 2 + 64;
		nemesis->deaths = xreallocarray(
		    nemesis->deaths, nemesis->death_room, sizeof *nemesis->deaths);
	}
	nemesis->deaths[nemesis->death_count++] =
	    (struct death){ party->name, party_pid(party), nemesis_wall_ms() };
	party_kill(party, down_ms);
	return true;
}

static bool
massacre(struct nemesis *nemesis, uint64_t down_ms)
{
	struct fleet *fleet = nemesis->fleet;
	unsigned i;

	for (i = 0; i < fleet->count; i++)
		if (!fleet->parties[i].long_lived)
			nemesis_kill(nemesis, &fleet->parties[i], down_ms);
	return true;
}

static bool
stop_and_continue(struct party *party, uint64_t ms)
{
	pid_t pid = party_pid(party);

	if (party->child == NULL || party->stopped)
		return false;
	party_stop(party);
	fiber_sleep(ms);
	if (party_pid(party) == pid)
		party_continue(party);
	return true;
}

bool
nemesis_clock_was_right(const struct nemesis *nemesis, long long from_ms, long long to_ms)
{
	size_t i;

	for (i = 0; i < nemesis->wrong_count; i++)
		if (to_ms > nemesis->wrong_times[i].from_ms - WRONG_BEHIND_MS &&
		    from_ms < nemesis->wrong_times[i].to_ms + WRONG_BEFORE_MS)
			return false;
	return true;
}

/* --- disks and clocks --------------------------------------------------------------------------- */

static bool
with_shim(_Atomic int64_t *field, int64_t value, uint64_t ms)
{
	*field = value;
	fiber_sleep(ms);
	*field = 0;
	return true;
}

static bool
wrong_redis_clock(
    struct nemesis *nemesis, const struct fault *fault, _Atomic int64_t *clock)
{
	struct wrong_time *wrong = &nemesis->wrong_times[nemesis->wrong_count++];

	wrong->from_ms = nemesis_wall_ms();
	wrong->to_ms = wrong->from_ms + (int64_t)fault->lasts_ms;
	return with_shim(clock, fault->up, fault->lasts_ms);
}

static bool
full_disk(struct nemesis *nemesis, uint64_t ms)
{
	disk_fill(nemesis->disk);
	fiber_sleep(ms);
	disk_free(nemesis->disk);
	return true;
}

/* --- network ------------------------------------------------------------------------------------ */

static bool
hurt_link(struct nemesis *nemesis, const struct fault *fault, const char *command)
{
	fleet_link(nemesis->fleet, fault->target, command);
	if (fault->lasts_ms == 0)
		return true;
	fiber_sleep(fault->lasts_ms);
	fleet_link(nemesis->fleet, fault->target, "heal");
	return true;
}

static const char *
link_verb(struct arena *arena, const struct fault *fault)
{
	int up = (int)fault->up, down = (int)fault->down;

	switch (fault->kind) {
	case FAULT_DELAY:
	case FAULT_SPLIT:
	case FAULT_RATE:
		return arena_printf(arena, "%s %d %d", fault_name(fault->kind), up, down);
	case FAULT_HOLE_UP:
		return "hole 1 0";
	case FAULT_HOLE_DOWN:
		return "hole 0 1";
	case FAULT_HOLE:
		return "hole 1 1";
	default:
		return fault_name(fault->kind);
	}
}

static bool
cut_space(struct nemesis *nemesis, const struct fault *fault)
{
	space_cut(nemesis->space, fault->kind);
	fiber_sleep(fault->lasts_ms);
	space_heal(nemesis->space);
	return true;
}

/* --- the attack ---------------------------------------------------------------------------------- */

static bool
strike(struct nemesis *nemesis, const struct fault *fault)
{
	struct fleet *fleet = nemesis->fleet;
	struct party *redis = fleet_party(fleet, "redis-0"),
		     *party = fleet_party(fleet, fault->target);

	switch (fault->kind) {
	case FAULT_KILL:
		return nemesis_kill(nemesis, party, fault->lasts_ms);
	case FAULT_STOP:
	case FAULT_LONG_STOP:
		return stop_and_continue(party, fault->lasts_ms);
	case FAULT_DRAIN:
		party_drain(party);
		return party->ending;
	case FAULT_MASSACRE:
		return massacre(nemesis, fault->lasts_ms);
	case FAULT_REDIS_KILL:
		return nemesis_kill(nemesis, redis, fault->lasts_ms);
	case FAULT_REDIS_STOP:
		return stop_and_continue(redis, fault->lasts_ms);
	case FAULT_SLOW_FSYNC:
		return with_shim(&redis->shim->fsync_ms, fault->up, fault->lasts_ms);
	case FAULT_FULL_DISK:
		return full_disk(nemesis, fault->lasts_ms);
	case FAULT_REDIS_CLOCK:
		return wrong_redis_clock(nemesis, fault, &redis->shim->clock_ms);
	case FAULT_CLOCK:
		return party->shim != NULL &&
		       with_shim(&party->shim->clock_ms, fault->up, fault->lasts_ms);
	case FAULT_PARTITION:
	case FAULT_PARTITION_IN:
	case FAULT_PARTITION_OUT:
	case FAULT_PARTITION_REJECT:
		return cut_space(nemesis, fault);
	default:
		return hurt_link(nemesis, fault, link_verb(nemesis->arena, fault));
	}
}

static void
blow_main(void *arg)
{
	struct blow *blow = arg;
	struct nemesis *nemesis = blow->nemesis;

	fleet_say(nemesis->fleet, "%s", fault_line(nemesis->arena, blow->fault));
	if (strike(nemesis, blow->fault))
		nemesis->done[blow->fault->kind]++;
	else
		nemesis->passed_over[blow->fault->kind]++;
	nemesis->busy--;
}

void
nemesis_attack(struct nemesis *nemesis)
{
	struct loop *loop = nemesis->fleet->loop;
	uint64_t begin_ms = loop_now_ms(loop);
	struct blow *blows =
	    arena_alloc(nemesis->arena, (nemesis->count + 1) * sizeof *blows);
	size_t i;

	nemesis->wrong_times =
	    arena_alloc(nemesis->arena, (nemesis->count + 1) * sizeof(struct wrong_time));
	for (i = 0; i < nemesis->count; i++) {
		uint64_t due_ms = begin_ms + nemesis->faults[i].at_ms;

		if (due_ms > loop_now_ms(loop))
			fiber_sleep(due_ms - loop_now_ms(loop));
		blows[i] = (struct blow){ nemesis, &nemesis->faults[i] };
		nemesis->busy++;
		if (fiber_start(loop, "blow", blow_main, &blows[i]) == NULL)
			abort();
	}
	while (nemesis->busy > 0)
		fiber_sleep(100);
	fleet_heal(nemesis->fleet);
}

void
nemesis_release(struct nemesis *nemesis)
{
	free(nemesis->deaths);
	nemesis->deaths = NULL;
}
