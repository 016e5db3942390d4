/* Schedules and zones: the first line is a schedule, the second a zone, the third a time in s. One is refused with a
 * reason, or it is due again and again, each time later than the one before, at a minute that it names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

#define TIMES 20
#define SECONDS_MAX INT64_C(4102444800) /* the year 2100 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool fact)
{
	if (!fact)
		abort();
}

/* Takes the next line of *at_p, "" when there is none. */
static const char *
take_line(char **at_p)
{
	char *line = *at_p, *end = strchr(line, '\n');

	*at_p = end != NULL ? end + 1 : line + strlen(line);
	if (end != NULL)
		*end = '\0';
	return line;
}

static void
check_times(const struct schedule *schedule, const struct zone *zone, int64_t from)
{
	int64_t before = from * 1000, at;
	unsigned i;

	for (i = 0; i < TIMES; i++) {
		int64_t local;

		at = schedule_next(schedule, zone, before);
		require(at > before);
		local = at / 1000 + zone_offset(zone, at / 1000);
		/* With a zone it may be the first time behind one that is left out. */
		require(zone != NULL || (schedule->minutes >> local / 60 % 60 & 1) == 1);
		require(zone != NULL || (schedule->hours >> local / 3600 % 24 & 1) == 1);
		before = at;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	char *at = arena_copy(arena, data, size);
	const char *text = take_line(&at), *name = take_line(&at), *error = NULL;
	int64_t from = strtoll(take_line(&at), NULL, 10);
	const struct zone *zone = NULL;
	struct schedule schedule;

	if (zone_open(arena, name, &zone, &error) == -1)
		require(error != NULL && *error != '\0');
	error = NULL;
	if (schedule_parse(arena, text, &schedule, &error) == -1)
		require(error != NULL && *error != '\0');
	else
		check_times(&schedule, zone, from >= 0 && from < SECONDS_MAX ? from : 0);
	arena_destroy(&arena);
	return 0;
}
