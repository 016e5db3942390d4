/* now: models do not know what time it is. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "process.h"
#include "tool_file.h"
#include "tools.h"

#define ZONE_FOLDER "/usr/share/zoneinfo/"
#define OFFSET_HOURS_MAX 14u
#define OUTPUT_BYTES_MAX 4096u
#define DATE_TIMEOUT_MS 5000u

/* Reads "+02:00", "-0330" or "+9". Returns the TZ setting for it (which counts the other
 * way round), or NULL when zone is another text. */
static const char *
offset_setting(struct arena *arena, const char *zone)
{
	unsigned hours, minutes = 0;
	char sign = zone[0];
	int end = 0;

	if (sign != '+' && sign != '-')
		return NULL;
	if (!isdigit((unsigned char)zone[1]) || strlen(zone) > strlen("+02:00"))
		return NULL;
	if (sscanf(zone + 1, "%2u%n", &hours, &end) != 1)
		return NULL;
	zone += 1 + end;
	zone += *zone == ':';
	if (*zone != '\0' && (strlen(zone) != 2 || strspn(zone, "0123456789") != 2 ||
				 sscanf(zone, "%2u", &minutes) != 1))
		return NULL;
	if (hours > OFFSET_HOURS_MAX || minutes > 59)
		return NULL;
	return arena_printf(arena, "<%c%02u%02u>%c%02u:%02u", sign, hours, minutes,
	    sign == '+' ? '-' : '+', hours, minutes);
}

static bool
is_zone_name(const char *zone)
{
	const char *at;

	for (at = zone; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) && strchr("_+-/", *at) == NULL)
			return false;
	return isalpha((unsigned char)zone[0]);
}

/* Returns the value of TZ for zone, or NULL when there is no such zone: date would take
 * it for UTC and say nothing. */
static const char *
zone_setting(struct arena *arena, const char *zone)
{
	struct stat status;
	const char *offset = offset_setting(arena, zone);

	if (offset != NULL)
		return offset;
	if (strcmp(zone, "UTC") == 0 || strcmp(zone, "Z") == 0)
		return "UTC0";
	if (is_zone_name(zone) &&
	    stat(arena_printf(arena, ZONE_FOLDER "%s", zone), &status) == 0 &&
	    S_ISREG(status.st_mode))
		return zone;
	return NULL;
}

/* libc knows named zones only by way of the one TZ of the whole process, which cannot be
 * changed under its other threads. date(1) has a process of its own. */
static struct tool_result *
ask_date(struct tool_request *request, const char *setting, const char *format)
{
	struct arena *arena = tool_arena(request);
	const char *argv[] = { "date", arena_printf(arena, "+%s", format), NULL };
	const char *env[] = { arena_printf(arena, "PATH=%s", tool_file_path()),
		arena_printf(arena, "TZ=%s", setting), "LC_ALL=C", NULL };
	struct process_options options = {
		.argv = argv,
		.env = env,
		.output_bytes_max = OUTPUT_BYTES_MAX,
		.error_bytes_max = OUTPUT_BYTES_MAX,
		.timeout_ms = DATE_TIMEOUT_MS,
	};
	struct process_result result;

	process_run(tools_world()->loop, arena, &options, &result);
	if (result.end == PROCESS_CANCELLED)
		return tool_fail(request, fault_cancelled(arena));
	if (result.end != PROCESS_EXITED || result.status != 0)
		return tool_fail(request,
		    fault_new(arena, "ToolException", "date could not tell the time: %s",
			result.end == PROCESS_NOT_STARTED ? result.reason
							  : result.error));
	return tool_answer(request,
	    arena_copy(arena, result.output, strcspn(result.output, "\n")), "success");
}

static struct tool_result *
now(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const char *zone = value_get_text(tool_args(request), "zone");
	const char *format = value_get_text(tool_args(request), "format");
	const char *setting = zone_setting(arena, zone == NULL ? "UTC" : zone);

	if (setting == NULL)
		return tool_fail(request, fault_new(arena, "ToolInvocationError",
					      "there is no time zone '%s'; use a name "
					      "such as Europe/Berlin or an "
					      "offset such as +02:00",
					      zone));
	return ask_date(
	    request, setting, format == NULL ? "%Y-%m-%dT%H:%M:%S%:z, %A" : format);
}

const struct tool tool_now = {
	.name = "now",
	.description = "Tells the present date, time and day of the week in a time zone.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"zone\": {\"type\": \"string\", \"maxLength\": 64, \"description\": \"A "
	    "name such as "
	    "Europe/Berlin or an offset such as +02:00; UTC when left out\"}, "
	    "\"format\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 200, "
	    "\"description\": \"As of the command date: %H:%M, %A, %s, %G-W%V ...; ISO "
	    "8601 and "
	    "the weekday when left out\"}}, \"additionalProperties\": false}",
	.run = now,
};
