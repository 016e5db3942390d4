#include "probe_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"

void
probe_log(struct arena *arena, const char *kind, const struct value *value)
{
	const char *path = getenv(PROBE_LOG_VARIABLE);
	const char *line;
	int fd;

	if (path == NULL)
		return;
	line = arena_printf(
	    arena, "%s\n", json_text(arena, value_map(arena, kind, value, NULL)));
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd == -1)
		return;
	if (write(fd, line, strlen(line)) == -1)
		perror(path);
	close(fd);
}
