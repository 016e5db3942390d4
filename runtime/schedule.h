/* schedule: when something that recurs is due: five fields as in crontab(5), or a word.
 *
 *	minute (0-59)  hour (0-23)  day of month (1-31)  month (1-12)  day of week (0-7, 0 and 7: Sunday)
 *	@hourly @daily @weekly @monthly @yearly
 *
 * A field is a list with commas of *, a number, a range a-b; behind * and a range a step, /n; months and weekdays have
 * their names, too (jan, SUN). When both day fields are restricted (do not begin with *) a day of either counts, else
 * one of both.
 *
 * Times are those of a zone's clocks. Where these are set forward, what is due at a time that is left out is due at the
 * first that is not; where they are set back, what is due at a time that comes twice is due the first time. What is due
 * in every hour is due as hours go by: no hour of the clocks' is made up for, and none is left out. Pure. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "zone.h"

#define SCHEDULE_BYTES_MAX 256u

struct schedule {
	uint64_t minutes; /* a bit for each that counts, the lowest for 0 */
	uint64_t hours, days, months,
	    weekdays;    /* likewise; of days and months from 1 on */
	bool needs_both; /* days: one that is of days and of weekdays, not of either */
};

/* Returns 0, or -1 with what is wrong, and where, in arena; one that no day ever fits is wrong. */
int schedule_parse(struct arena *arena, const char *text, struct schedule *schedule_r,
    const char **error_r);

/* The first time behind after_ms (0 or later) at which it is due, in ms since 1970; -1: there is none in 48 years. */
int64_t schedule_next(
    const struct schedule *schedule, const struct zone *zone, int64_t after_ms);

#endif
