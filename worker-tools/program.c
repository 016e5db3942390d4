#include "program.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
is_executable(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       access(path, X_OK) == 0;
}

static const char *
why_not(struct arena *arena, const char *path)
{
	struct stat status;

	if (stat(path, &status) == -1)
		return arena_printf(arena, "program '%s' does not exist", path);
	if (!S_ISREG(status.st_mode))
		return arena_printf(arena, "program '%s' is not a file", path);
	return arena_printf(arena,
	    "program '%s' is not executable; make it so with: chmod +x %s", path, path);
}

static const char *
find_in_path(struct arena *arena, const char *program, const char *path)
{
	while (*path != '\0') {
		size_t size = strcspn(path, ":");
		const char *candidate =
		    arena_printf(arena, "%.*s/%s", (int)size, path, program);

		/* Relative entries would mean another file in each directory. */
		if (path[0] == '/' && is_executable(candidate))
			return candidate;
		path += size;
		path += strspn(path, ":");
	}
	return NULL;
}

const char *
program_find(struct arena *arena, const char *program, const char *directory,
    const char *path, const char **error_r)
{
	const char *found;

	if (strchr(program, '/') == NULL) {
		found = find_in_path(arena, program, path);
		if (found == NULL)
			*error_r = arena_printf(arena,
			    "program '%s' is not in PATH (%s); install it, or give its "
			    "path "
			    "(./%s is beside the tool file)",
			    program, path, program);
		return found;
	}
	if (strncmp(program, "./", 2) == 0)
		program += 2;
	if (program[0] != '/')
		program = arena_printf(arena, "%s/%s", directory, program);
	if (is_executable(program))
		return program;
	*error_r = why_not(arena, program);
	return NULL;
}
