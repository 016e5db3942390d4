#include "schedule.h"

#include <inttypes.h>

#include "random.h"

enum aim { AIM_PEER, AIM_NOBODY, AIM_DISK, AIM_LINK, AIM_SPACE };

static const struct {
	const char *name;
	enum aim aim;
	unsigned weight;
	uint64_t low_ms, high_ms;
	const char *text;
} kinds[FAULT_KINDS] = {
#define FAULT(NAME, name, aim, weight, low, high, text)                                  \
	{ name, AIM_##aim, weight, low, high, text },
#include "faults.def"
#undef FAULT
};

const char *
fault_name(enum fault_kind kind)
{
	return kinds[kind].name;
}

const char *
fault_text(enum fault_kind kind)
{
	return kinds[kind].text;
}

const char *
fault_line(struct arena *arena, const struct fault *fault)
{
	return arena_printf(arena, "%7.2f s  %-16s %-22s %5.2f s  %" PRId64 " %" PRId64,
	    (double)fault->at_ms / 1000, kinds[fault->kind].name, fault->target,
	    (double)fault->lasts_ms / 1000, fault->up, fault->down);
}

static bool
is_possible(enum fault_kind kind, const struct schedule_targets *targets)
{
	switch (kinds[kind].aim) {
	case AIM_DISK:
		return targets->has_disk;
	case AIM_SPACE:
		return targets->has_space;
	case AIM_LINK:
		return targets->links[0] != NULL;
	default:
		return true;
	}
}

static enum fault_kind
choose_kind(struct random *random, const struct schedule_targets *targets)
{
	uint64_t sum = 0, at;
	unsigned kind;

	for (kind = 0; kind < FAULT_KINDS; kind++)
		sum += is_possible(kind, targets) ? kinds[kind].weight : 0;
	at = random_between(random, 0, sum - 1);
	for (kind = 0; kind + 1 < FAULT_KINDS; kind++) {
		uint64_t weight = is_possible(kind, targets) ? kinds[kind].weight : 0;

		if (at < weight)
			break;
		at -= weight;
	}
	return (enum fault_kind)kind;
}

static const char *
choose(struct random *random, const char *const *names)
{
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	return count > 0 ? names[random_between(random, 0, count - 1)] : "";
}

static const char *
choose_target(
    struct random *random, enum fault_kind kind, const struct schedule_targets *targets)
{
	switch (kind) {
	case FAULT_KILL:
	case FAULT_DRAIN:
		return choose(random, targets->killable);
	case FAULT_STOP:
	case FAULT_LONG_STOP:
	case FAULT_CLOCK:
		return choose(random, targets->stoppable);
	default:
		return kinds[kind].aim == AIM_LINK ? choose(random, targets->links) : "";
	}
}

/* A clock is wrong by anything from a second to an hour: small errors are as bad as large
 * ones, so each size is as likely. */
static int64_t
wrong_by_ms(struct random *random)
{
	int64_t limit = 1000ll << random_between(random, 0, 12);
	int64_t ms =
	    (int64_t)random_between(random, (uint64_t)limit / 2, (uint64_t)limit);

	return random_chance(random, 500) ? ms : -ms;
}

static int64_t
choose_strength(struct random *random, enum fault_kind kind)
{
	switch (kind) {
	case FAULT_SLOW_FSYNC:
		return (int64_t)random_between(random, 20, 1500);
	case FAULT_REDIS_CLOCK:
	case FAULT_CLOCK:
		return wrong_by_ms(random);
	case FAULT_DELAY:
		return (int64_t)random_between(random, 0, 400);
	case FAULT_SPLIT:
		return (int64_t)random_between(random, 1, 200);
	case FAULT_RATE:
		return (int64_t)random_between(random, 2000, 60000);
	default:
		return 0;
	}
}

const struct fault *
schedule_make(struct arena *arena, uint64_t seed, uint64_t length_ms,
    uint64_t interval_ms, const struct schedule_targets *targets, size_t *count_r)
{
	size_t room = (size_t)(length_ms / (interval_ms / 2 + 1)) * 4 + 16;
	struct fault *faults = arena_alloc(arena, room * sizeof *faults);
	struct random random;
	uint64_t at = 0;
	size_t count = 0;

	random_seed(&random, seed);
	for (;;) {
		struct fault *fault = &faults[count];

		at += random_between(&random, 0, 2 * interval_ms);
		if (at >= length_ms || count == room)
			break;
		fault->at_ms = at;
		fault->kind = choose_kind(&random, targets);
		fault->lasts_ms = random_between(
		    &random, kinds[fault->kind].low_ms, kinds[fault->kind].high_ms);
		fault->target = choose_target(&random, fault->kind, targets);
		fault->up = choose_strength(&random, fault->kind);
		fault->down = choose_strength(&random, fault->kind);
		count++;
	}
	*count_r = count;
	return faults;
}
