#include "tally.h"

#include <stdarg.h>
#include <stdio.h>

#define SAID_MAX 12u /* of one invariant */

static const struct {
	unsigned number;
	const char *text;
} invariants[INVARIANTS] = {
#define INVARIANT(NAME, number, text) { number, text },
#include "invariants.def"
#undef INVARIANT
};

unsigned
tally_number(enum invariant invariant)
{
	return invariants[invariant].number;
}

const char *
tally_text(enum invariant invariant)
{
	return invariants[invariant].text;
}

bool
tally(struct tally *tally, enum invariant invariant, bool holds, const char *format, ...)
{
	char line[480];
	va_list args;

	if (holds) {
		tally->held[invariant]++;
		return true;
	}
	if (++tally->broken[invariant] > SAID_MAX)
		return false;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	fleet_say(tally->fleet, "BROKEN %u: %s", invariants[invariant].number, line);
	return false;
}

unsigned long
tally_broken(const struct tally *tally)
{
	unsigned long broken = 0;
	unsigned i;

	for (i = 0; i < INVARIANTS; i++)
		broken += tally->broken[i];
	return broken;
}
