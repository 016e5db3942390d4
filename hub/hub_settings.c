#include "hub_settings.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MAX 64u
#define INSIDE "inproc://broker"

static const struct setting own[] = {
	SERVICE_SETTINGS,
	{ "drain-ms", SETTING_INTEGER, offsetof(struct hub_settings, drain_ms), "20000",
	    200, 600000, "ms",
	    "how long the orderly end may take: runs are given back, then calls under "
	    "way "
	    "may end",
	    0 },
	{ .name = NULL },
};

static struct setting table[ROWS_MAX + 1]; /* the last one has no name */
static size_t row_count;

static bool
has_row(const char *name)
{
	size_t i;

	for (i = 0; i < row_count; i++)
		if (strcmp(table[i].name, name) == 0)
			return true;
	return false;
}

static void
add_row(const struct setting *row, size_t offset)
{
	assert(row_count < ROWS_MAX);
	table[row_count] = *row;
	table[row_count++].offset += offset;
}

/* Which broker is meant is no question here. */
static bool
names_broker(const struct setting *row)
{
	return strcmp(row->name, "broker") == 0 || strcmp(row->name, "broker-key") == 0;
}

/* All rows that are not there yet. */
static void
add_table(const struct setting *row, size_t offset)
{
	for (; row->name != NULL; row++)
		if (!has_row(row->name) && !names_broker(row))
			add_row(row, offset);
}

const struct setting *
hub_table(void)
{
	if (row_count == 0) {
		add_table(own, 0);
		add_table(broker_table, offsetof(struct hub_settings, broker));
		add_table(coordinator_table, offsetof(struct hub_settings, coordinator));
	}
	return table;
}

/* Cut, an end still tells them apart; whole, the broker would refuse a name. The coordinator has one more, for its
 * worker of the store. */
static void
name_part(char *name, const struct hub_settings *settings, const char *part)
{
	int room = (int)(HUB_NAME_BYTES_MAX - sizeof "-coordinator-store");

	snprintf(name, HUB_NAME_BYTES_MAX, "%.*s-%s", room, settings->common.name, part);
}

void
hub_settings_share(struct hub_settings *settings)
{
	static const char *inside[] = { INSIDE, NULL };

	name_part(settings->broker_name, settings, "broker");
	name_part(settings->coordinator_name, settings, "coordinator");
	settings->broker.common = settings->common;
	settings->broker.common.name = settings->broker_name;
	settings->broker.inside = INSIDE;
	settings->broker.drain_ms = settings->drain_ms / 2;
	settings->coordinator.common = settings->common;
	settings->coordinator.common.name = settings->coordinator_name;
	settings->coordinator.brokers = inside;
	settings->coordinator.program = "hub";
	settings->coordinator.drain_ms = settings->drain_ms / 2;
}
