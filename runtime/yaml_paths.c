#include "yaml_paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct files {
	struct arena *arena;
	const char **paths;
	size_t count, room;
};

/* Keeps a NULL behind the last. */
static void
files_add(struct files *files, const char *path)
{
	if (files->count + 2 > files->room) {
		size_t room = files->room * 2 + 16;
		const char **paths = arena_alloc(files->arena, room * sizeof *paths);

		if (files->count > 0)
			memcpy(paths, files->paths, files->count * sizeof *paths);
		files->paths = paths;
		files->room = room;
	}
	if (path != NULL)
		files->paths[files->count++] = path;
}

static int
is_yaml_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot != NULL &&
	       (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static int
add_folder(struct files *files, const char *path, const char **error_r)
{
	struct dirent **found;
	int i, count = scandir(path, &found, is_yaml_file, alphasort);

	if (count == -1) {
		*error_r = arena_printf(
		    files->arena, "%s: cannot be read: %s", path, strerror(errno));
		return -1;
	}
	for (i = 0; i < count; i++) {
		files_add(
		    files, arena_printf(files->arena, "%s/%s", path, found[i]->d_name));
		free(found[i]);
	}
	free(found);
	if (count > 0)
		return 0;
	*error_r = arena_printf(files->arena,
	    "%s: this folder has no .yaml file; put one into it, or name another", path);
	return -1;
}

static int
add_path(struct files *files, const char *path, const char **error_r)
{
	struct stat status;

	if (stat(path, &status) == -1) {
		*error_r = arena_printf(files->arena, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (S_ISDIR(status.st_mode))
		return add_folder(files, path, error_r);
	files_add(files, path);
	return 0;
}

const char *const *
yaml_paths_expand(struct arena *arena, const char *const *paths, const char **error_r)
{
	struct files files = { .arena = arena };

	files_add(&files, NULL);
	for (; paths != NULL && *paths != NULL; paths++)
		if (add_path(&files, *paths, error_r) == -1)
			return NULL;
	return files.paths;
}
