#include "schedule.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "utf8.h"

#define DAY_MINUTES INT64_C(1440)
#define DAYS_LOOKED_AT (INT64_C(48) * 366) /* 29 February, on a Sunday, across 2100 */
#define SHOWN_BYTES 64u

static const char *const month_names[] = { "jan", "feb", "mar", "apr", "may", "jun",
	"jul", "aug", "sep", "oct", "nov", "dec", NULL };
static const char *const weekday_names[] = { "sun", "mon", "tue", "wed", "thu", "fri",
	"sat", NULL };

static const struct field {
	const char *name;
	unsigned min, max;
	const char *const *names; /* of min and on, or NULL */
} fields[] = {
	{ "minute", 0, 59, NULL },
	{ "hour", 0, 23, NULL },
	{ "day of month", 1, 31, NULL },
	{ "month", 1, 12, month_names },
	{ "day of week", 0, 7, weekday_names },
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

/* --- reading ------------------------------------------------------------------------ */

/* One field under reading: at is where it goes on, end behind its last byte. */
struct reading {
	struct arena *arena;
	const struct field *field;
	const char *at, *end;
	const char *error;
};

static int
refuse(struct reading *reading, const char *remedy)
{
	const char *size = reading->at;

	while (size < reading->end && *size != ',')
		size++;
	reading->error = arena_printf(reading->arena, "%s '%s': %s", reading->field->name,
	    utf8_shown(reading->arena,
		arena_copy(reading->arena, reading->at, (size_t)(size - reading->at)),
		SHOWN_BYTES),
	    remedy);
	return -1;
}

static int
refuse_value(struct reading *reading)
{
	const struct field *field = reading->field;

	return refuse(reading,
	    arena_printf(reading->arena,
		"must be *, a number from %u to %u%s, a range as %u-%u, a list of them "
		"with commas",
		field->min, field->max, field->names != NULL ? " or a name" : "",
		field->min, field->min + 2));
}

/* Takes the number that stands at *at_p. Returns false where there is none below 1000. */
static bool
take_digits(const char **at_p, const char *end, unsigned *number_r)
{
	const char *at = *at_p;
	unsigned number = 0;

	while (at < end && isdigit((unsigned char)*at) && at - *at_p < 3)
		number = 10 * number + (unsigned)(*at++ - '0');
	if (at == *at_p || (at < end && isdigit((unsigned char)*at)))
		return false;
	*at_p = at;
	*number_r = number;
	return true;
}

static bool
take_name(
    const struct field *field, const char **at_p, const char *end, unsigned *value_r)
{
	unsigned i;

	if (field->names == NULL || end - *at_p < 3)
		return false;
	for (i = 0; field->names[i] != NULL; i++)
		if (strncasecmp(*at_p, field->names[i], 3) == 0) {
			*at_p += 3;
			*value_r = field->min + i;
			return true;
		}
	return false;
}

static bool
take_value(
    const struct field *field, const char **at_p, const char *end, unsigned *value_r)
{
	return (take_name(field, at_p, end, value_r) ||
		   take_digits(at_p, end, value_r)) &&
	       *value_r >= field->min && *value_r <= field->max;
}

/* What stands before a step. *is_one_r: a value alone. */
static int
take_range(
    struct reading *reading, const char **at_p, unsigned range_r[2], bool *is_one_r)
{
	const struct field *field = reading->field;

	*is_one_r = false;
	if (*at_p < reading->end && **at_p == '*') {
		(*at_p)++;
		range_r[0] = field->min;
		range_r[1] = field->names == weekday_names ? 6 : field->max;
		return 0;
	}
	if (!take_value(field, at_p, reading->end, &range_r[0]))
		return refuse_value(reading);
	range_r[1] = range_r[0];
	*is_one_r = *at_p == reading->end || **at_p != '-';
	if (*is_one_r)
		return 0;
	(*at_p)++;
	if (!take_value(field, at_p, reading->end, &range_r[1]))
		return refuse_value(reading);
	/* "fri-sun" */
	if (field->names == weekday_names && range_r[1] == 0 && range_r[0] > 0)
		range_r[1] = 7;
	return range_r[0] <= range_r[1]
		   ? 0
		   : refuse(reading, "a range goes up; write what is around its end as "
				     "two, with a comma");
}

/* One item of the list; its bits are added. */
static int
take_item(struct reading *reading, uint64_t *bits)
{
	const struct field *field = reading->field;
	const char *at = reading->at;
	unsigned range[2] = { 0 }, step = 1, value;
	bool is_one;

	if (take_range(reading, &at, range, &is_one) == -1)
		return -1;
	if (at < reading->end && *at == '/') {
		at++;
		if (is_one)
			return refuse(
			    reading, arena_printf(reading->arena,
					 "a step goes with * or a range: %u-%u/n",
					 range[0], field->max));
		if (!take_digits(&at, reading->end, &step) || step == 0 ||
		    step > field->max)
			return refuse(reading, arena_printf(reading->arena,
						   "a step is from 1 to %u", field->max));
	}
	if (at < reading->end && *at != ',')
		return refuse_value(reading);
	for (value = range[0]; value <= range[1]; value += step)
		*bits |= UINT64_C(1)
			 << (field->names == weekday_names ? value % 7 : value);
	reading->at = at;
	return 0;
}

/* Reads a field of size bytes. */
static int
read_field(struct reading *reading, size_t size, uint64_t *bits_r)
{
	*bits_r = 0;
	reading->end = reading->at + size;
	for (;;) {
		if (take_item(reading, bits_r) == -1)
			return -1;
		if (reading->at == reading->end)
			return 0;
		reading->at++; /* the comma: something must follow */
	}
}

/* A word's fields, or text. */
static const char *
spell_out(const char *text)
{
	static const char *const words[][2] = {
		{ "@hourly", "0 * * * *" },
		{ "@daily", "0 0 * * *" },
		{ "@weekly", "0 0 * * 0" },
		{ "@monthly", "0 0 1 * *" },
		{ "@yearly", "0 0 1 1 *" },
	};
	size_t i;

	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasecmp(text, words[i][0]) == 0)
			return words[i][1];
	return text;
}

/* Where the fields of text are, and how long; more than there may be are only counted. */
static size_t
split(const char *text, const char *begins_r[FIELD_COUNT], size_t sizes_r[FIELD_COUNT])
{
	size_t count = 0;

	for (;;) {
		size_t size;

		text += strspn(text, " \t");
		size = strcspn(text, " \t");
		if (size == 0)
			return count;
		if (count < FIELD_COUNT) {
			begins_r[count] = text;
			sizes_r[count] = size;
		}
		count++;
		text += size;
	}
}

static const char *
wrong_form(struct arena *arena, const char *text, size_t count)
{
	if (*text == '@')
		return "a word is one of @hourly, @daily, @weekly, @monthly, @yearly";
	return arena_printf(arena,
	    "has %zu fields; it must have five: minute, hour, day of month, month, day "
	    "of week, such as '0 9 * * mon-fri'",
	    count);
}

/* Returns NULL, or what is wrong, without the text of all of it. */
static const char *
read_all(struct arena *arena, const char *text, struct schedule *schedule)
{
	struct reading reading = { .arena = arena };
	const char *begins[FIELD_COUNT];
	size_t sizes[FIELD_COUNT], count = split(text, begins, sizes), i;
	uint64_t bits[FIELD_COUNT];

	if (count != FIELD_COUNT || *begins[0] == '@')
		return wrong_form(arena, count > 0 ? begins[0] : text, count);
	for (i = 0; i < FIELD_COUNT; i++) {
		reading.field = &fields[i];
		reading.at = begins[i];
		if (read_field(&reading, sizes[i], &bits[i]) == -1)
			return reading.error;
	}
	*schedule = (struct schedule){ .minutes = bits[0],
		.hours = bits[1],
		.days = bits[2],
		.months = bits[3],
		.weekdays = bits[4],
		.needs_both = *begins[2] == '*' || *begins[4] == '*' };
	return schedule_next(schedule, NULL, 0) != -1
		   ? NULL
		   : "no month of it has such a day, so it would never be due";
}

int
schedule_parse(struct arena *arena, const char *text, struct schedule *schedule_r,
    const char **error_r)
{
	struct schedule schedule;
	const char *wrong = strlen(text) > SCHEDULE_BYTES_MAX
				? "is longer than any"
				: read_all(arena, spell_out(text), &schedule);

	if (wrong == NULL) {
		*schedule_r = schedule;
		return 0;
	}
	*error_r = arena_printf(
	    arena, "schedule '%s': %s", utf8_shown(arena, text, SHOWN_BYTES), wrong);
	return -1;
}

/* --- when --------------------------------------------------------------------------- */

static bool
has(uint64_t bits, int64_t bit)
{
	return (bits >> bit & 1) != 0;
}

/* Month and day of month of a day since 1970, by the days of eras of 400 years that begin in March. */
static void
civil(int64_t day, int64_t *month_r, int64_t *of_month_r)
{
	int64_t of_era = (day + 719468) % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153; /* 0: March */

	*of_month_r = of_year - (153 * month + 2) / 5 + 1;
	*month_r = month < 10 ? month + 3 : month - 9;
}

static bool
is_day(const struct schedule *schedule, int64_t day)
{
	bool is_weekday = has(schedule->weekdays, (day + 4) % 7), is_of_month;
	int64_t month, of_month;

	civil(day, &month, &of_month);
	is_of_month = has(schedule->days, of_month);
	return has(schedule->months, month) &&
	       (schedule->needs_both ? is_weekday && is_of_month
				     : is_weekday || is_of_month);
}

/* The first minute of a day, from one on, at which it is due; -1: none. */
static int64_t
minute_of_day(const struct schedule *schedule, int64_t from)
{
	int64_t minute;

	for (minute = from; minute < DAY_MINUTES;) {
		if (!has(schedule->hours, minute / 60))
			minute += 60 - minute % 60;
		else if (has(schedule->minutes, minute % 60))
			return minute;
		else
			minute++;
	}
	return -1;
}

/* The first time of the clocks, from one on, at which it is due, in minutes; -1: none until last, a day. */
static int64_t
next_wall(const struct schedule *schedule, int64_t from, int64_t last)
{
	int64_t day, minute = from % DAY_MINUTES;

	for (day = from / DAY_MINUTES; day <= last; day++, minute = 0) {
		int64_t found =
		    is_day(schedule, day) ? minute_of_day(schedule, minute) : -1;

		if (found != -1)
			return day * DAY_MINUTES + found;
	}
	return -1;
}

/* When the clocks of a zone show a time, in s since 1970: once, twice, or not at all. */
struct shown {
	int64_t first, second; /* -1: never, not twice */
	int64_t jump;          /* never: when the clocks were set forward past it */
};

/* The first second from low on, up to high, with offset at it. */
static int64_t
find_change(const struct zone *zone, int64_t low, int64_t high, int64_t offset)
{
	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (zone_offset(zone, middle) == offset)
			high = middle;
		else
			low = middle + 1;
	}
	return high;
}

/* Clocks are set at most once within two days. */
static struct shown
when_shown(const struct zone *zone, int64_t wall)
{
	const int64_t day = 86400;
	int64_t before = zone_offset(zone, wall - day),
		after = zone_offset(zone, wall + day);
	int64_t early = wall - before, late = wall - after;
	bool is_early = zone_offset(zone, early) == before,
	     is_late = zone_offset(zone, late) == after;

	if (before == after)
		return (struct shown){ early, -1, -1 };
	if (is_early && is_late)
		return (struct shown){ early, late, -1 };
	if (is_early || is_late)
		return (struct shown){ is_early ? early : late, -1, -1 };
	return (struct shown){ -1, -1, find_change(zone, late, early, after) };
}

int64_t
schedule_next(const struct schedule *schedule, const struct zone *zone, int64_t after_ms)
{
	const uint64_t all_hours = (UINT64_C(1) << 24) - 1;
	bool is_steady = schedule->hours == all_hours;
	int64_t after = after_ms / 1000, again = -1;
	int64_t local = after + zone_offset(zone, after);
	/* What the clocks showed before they were set back they show again. */
	int64_t back = zone != NULL ? 180 : 0, wall = local / 60 - back;
	int64_t last = local / 60 / DAY_MINUTES + DAYS_LOOKED_AT;

	for (wall = wall > 0 ? wall : 0; (wall = next_wall(schedule, wall, last)) != -1;
	     wall++) {
		struct shown shown = when_shown(zone, wall * 60);
		int64_t due = shown.first;

		if (is_steady && again == -1 && shown.second > after)
			again = shown.second;
		if (due == -1 && !is_steady)
			due = shown.jump;
		if (due > after)
			return (again != -1 && again < due ? again : due) * 1000;
	}
	return again != -1 ? again * 1000 : -1;
}
