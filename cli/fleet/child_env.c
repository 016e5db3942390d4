#include "child_env.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

extern char **environ;

/* What is ours to say to the child, and what our own supervisor has said to us. */
static bool
is_ours(const char *line)
{
	static const char *const names[] = {
		"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=", "FLOTILLA_RESTARTS="
	};
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strncmp(line, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool
is_withheld(char *const *withheld, const char *line)
{
	char *const *name;

	for (name = withheld; name != NULL && *name != NULL; name++)
		if (strncmp(line, *name, strlen(*name)) == 0 &&
		    line[strlen(*name)] == '=')
			return true;
	return false;
}

static char *line_new(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *
line_new(const char *format, ...)
{
	va_list args;
	char *line;

	va_start(args, format);
	if (vasprintf(&line, format, args) == -1)
		abort();
	va_end(args);
	return line;
}

char **
child_env_new(char *const *withheld, const struct child_said *said)
{
	size_t count = 0, n = 0, i;
	char **lines;

	while (environ[count] != NULL)
		count++;
	lines = xcalloc(count + 4, sizeof *lines);
	for (i = 0; i < count; i++)
		if (!is_ours(environ[i]) && !is_withheld(withheld, environ[i]))
			lines[n++] = xstrdup(environ[i]);
	lines[n++] = line_new("NOTIFY_SOCKET=%s", said->notify_path);
	lines[n++] = line_new("FLOTILLA_RESTARTS=%u", said->restarts);
	if (said->watchdog_us > 0)
		lines[n++] =
		    line_new("WATCHDOG_USEC=%llu", (unsigned long long)said->watchdog_us);
	return lines;
}

void
child_env_free(char **lines)
{
	size_t i;

	for (i = 0; lines[i] != NULL; i++)
		free(lines[i]);
	free(lines);
}
