#include "yaml_paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct files {
	struct arena *arena;
	const char *const *endings;
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

const char *const yaml_endings[] = { ".yaml", ".yml", NULL };
const char *const yaml_json_endings[] = { ".yaml", ".yml", ".json", NULL };

bool
yaml_paths_fits(const char *name, const char *const *endings)
{
	size_t size = strlen(name);

	for (; *endings != NULL; endings++) {
		size_t ending = strlen(*endings);

		if (size > ending && strcmp(name + size - ending, *endings) == 0)
			return true;
	}
	return false;
}

static int
is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* ".yaml, .yml or .json" */
static const char *
list_of(struct arena *arena, const char *const *endings)
{
	const char *text = *endings++;

	for (; *endings != NULL; endings++)
		text = arena_printf(
		    arena, "%s%s%s", text, endings[1] == NULL ? " or " : ", ", *endings);
	return text;
}

static int
add_folder(struct files *files, const char *path, const char **error_r)
{
	size_t before = files->count;
	struct dirent **found;
	int i, count = scandir(path, &found, is_shown, alphasort);

	if (count == -1) {
		*error_r = arena_printf(
		    files->arena, "%s: cannot be read: %s", path, strerror(errno));
		return -1;
	}
	for (i = 0; i < count; i++) {
		if (yaml_paths_fits(found[i]->d_name, files->endings))
			files_add(files,
			    arena_printf(files->arena, "%s/%s", path, found[i]->d_name));
		free(found[i]);
	}
	free(found);
	if (files->count > before)
		return 0;
	*error_r = arena_printf(files->arena,
	    "%s: this folder has no %s file; put one into it, or name another", path,
	    list_of(files->arena, files->endings));
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
yaml_paths_expand(struct arena *arena, const char *const *paths,
    const char *const *endings, const char **error_r)
{
	struct files files = { .arena = arena, .endings = endings };

	files_add(&files, NULL);
	for (; paths != NULL && *paths != NULL; paths++)
		if (add_path(&files, *paths, error_r) == -1)
			return NULL;
	return files.paths;
}
