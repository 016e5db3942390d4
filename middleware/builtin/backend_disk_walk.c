/* Files beneath a folder: many of them listed, found, searched, deleted. */
#include "backend_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_glob.h"
#include "file_walk.h"
#include "loop.h"
#include "utf8.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const char *
shown(struct disk_job *job, const char *path, const char *behind)
{
	return arena_printf(job->arena, "%s/%s%s", job->shown, path, behind);
}

/* --- ls --------------------------------------------------------------------------------- */

/* Opens the folder job's path. -1 with errno; ENOTDIR, too, for what is a file. */
static int
open_folder(struct disk_job *job)
{
	const char *name;
	int parent = file_walk_parent(job->arena, job->root, job->path, false, &name);
	int folder, error;

	if (parent == -1 || name == NULL)
		return parent;
	folder = openat(parent, name, FOLDER_FLAGS);
	error = errno;
	close(parent);
	errno = error;
	return folder;
}

/* Adds name of the folder that is job's. False: enough. */
static bool
list_name(
    struct disk_job *job, struct backend_entries *entries, int folder, const char *name)
{
	struct stat stat;
	const char *path;
	bool is_folder;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == -1)
		return true;
	is_folder = S_ISDIR(stat.st_mode);
	if (!is_folder && !S_ISREG(stat.st_mode))
		return true;
	path = job->path[0] == '\0' ? name
				    : arena_printf(job->arena, "%s/%s", job->path, name);
	return backend_entry_add(entries, shown(job, path, is_folder ? "/" : ""),
	    is_folder, is_folder ? 0 : (uint64_t)stat.st_size,
	    disk_time(job->arena, file_walk_changed(&stat)));
}

const struct value *
disk_ls(struct disk_job *job)
{
	struct backend_entries entries = { .arena = job->arena };
	const struct dirent *entry;
	int folder = open_folder(job);
	DIR *stream;

	if (folder == -1 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		return disk_refusal(job, errno);
	stream = folder == -1 ? NULL : fdopendir(folder);
	if (stream == NULL && folder != -1)
		close(folder);
	while (stream != NULL && (entry = readdir(stream)) != NULL)
		if (!list_name(job, &entries, folder, entry->d_name))
			break;
	if (stream != NULL)
		closedir(stream);
	return backend_entries_end(&entries);
}

/* --- glob and grep ---------------------------------------------------------------------- */

struct search {
	struct disk_job *job;
	const struct file_glob *glob; /* NULL: all */
	struct file_walk walk;
	struct backend_entries entries; /* of glob */
	struct backend_grep grep;
	char *bytes; /* of the file that is looked into */
	size_t room;
};

static void
begin_walk(struct search *search, struct disk_job *job, const atomic_bool *stop)
{
	search->job = job;
	search->walk = (struct file_walk){ .arena = job->arena,
		.root = job->root,
		.path = job->path,
		.end_us = job->end_us,
		.stop = stop,
		.arg = search };
}

static bool
is_cut(const struct search *search)
{
	return search->walk.is_late || search->walk.is_cut || search->walk.unreadable > 0;
}

static bool
find_file(void *arg, int folder, const char *name, const char *path, const char *inside)
{
	struct search *search = arg;
	struct stat stat;

	if (!file_glob_matches(search->glob, inside) ||
	    fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == -1)
		return true;
	return backend_entry_add(&search->entries, shown(search->job, path, ""), false,
	    (uint64_t)stat.st_size,
	    disk_time(search->job->arena, file_walk_changed(&stat)));
}

const struct value *
disk_glob(struct disk_job *job, const atomic_bool *stop)
{
	struct search search = { .entries = { .arena = job->arena } };
	const char *error = "";

	begin_walk(&search, job, stop);
	search.walk.visit = find_file;
	search.glob =
	    file_glob_parse(job->arena, value_get_text(job->op, "pattern"), &error);
	if (search.glob == NULL)
		return backend_refusal(job->arena, "the pattern is wrong: %s", error);
	search.walk.depth = file_glob_depth(search.glob);
	file_walk(&search.walk);
	search.entries.is_cut = search.entries.is_cut || is_cut(&search);
	return backend_entries_end(&search.entries);
}

/* Looks into an open file. */
static bool
search_bytes(struct search *search, int file, uint64_t size, const char *path)
{
	ssize_t have;

	if (search->room < size + 1) {
		free(search->bytes);
		search->room = (size_t)size + 1;
		search->bytes = malloc(search->room);
		if (search->bytes == NULL)
			arena_exhausted();
	}
	have = disk_read_all(file, size, search->bytes);
	if (have <= 0 || memchr(search->bytes, '\0', (size_t)have) != NULL ||
	    !utf8_valid(search->bytes, (size_t)have))
		return true;
	return backend_grep_text(
	    &search->grep, shown(search->job, path, ""), search->bytes, (size_t)have);
}

static bool
search_file(void *arg, int folder, const char *name, const char *path, const char *inside)
{
	struct search *search = arg;
	uint64_t size;
	int64_t changed;
	bool more = true;
	int file;

	if (!backend_glob_means(search->glob, name, inside))
		return true;
	file = file_walk_open(folder, name, &size, &changed);
	if (file == -1)
		return true;
	if (size <= search->job->file_bytes_max)
		more = search_bytes(search, file, size, path);
	close(file);
	return more;
}

const struct value *
disk_grep(struct disk_job *job, const atomic_bool *stop)
{
	const struct value *text = value_get(job->op, "text");
	const char *pattern = value_get_text(job->op, "glob"), *error = "";
	struct search search = { .grep = { .arena = job->arena,
				     .needle = text->text,
				     .needle_size = text->size,
				     .most = (size_t)value_get_int(
					 job->op, "most", BACKEND_MATCHES_MAX) } };

	begin_walk(&search, job, stop);
	search.walk.visit = search_file;
	if (pattern != NULL)
		search.glob = file_glob_parse(job->arena, pattern, &error);
	if (pattern != NULL && search.glob == NULL)
		return backend_refusal(job->arena, "the glob is wrong: %s", error);
	file_walk(&search.walk);
	free(search.bytes);
	search.grep.items.arena = job->arena;
	return value_map(job->arena, "items",
	    backend_sorted(job->arena, value_list_end(&search.grep.items)), "cut",
	    value_bool(search.grep.is_cut || is_cut(&search)), NULL);
}

/* --- delete ----------------------------------------------------------------------------- */

struct deletion {
	struct disk_job *job;
	const atomic_bool *stop;
	size_t entries;
	int error; /* the first one, or 0 */
};

static void
fail(struct deletion *deletion, int error)
{
	if (deletion->error == 0)
		deletion->error = error;
}

/* Removes name of folder; of a folder all that is in it before. Links are removed, not followed. */
static void delete_name(
    struct deletion *deletion, int folder, const char *name, unsigned depth);

/* Removes all that is in folder, which it takes. */
static void
delete_inside(struct deletion *deletion, int folder, unsigned depth)
{
	DIR *stream = fdopendir(folder);
	const struct dirent *entry;

	if (stream == NULL) {
		fail(deletion, errno);
		close(folder);
		return;
	}
	while (deletion->error == 0 && (entry = readdir(stream)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++deletion->entries > FILE_WALK_ENTRIES_MAX ||
		    atomic_load(deletion->stop) || loop_now_us() >= deletion->job->end_us)
			fail(deletion, ETIMEDOUT);
		else
			delete_name(deletion, folder, entry->d_name, depth);
	}
	closedir(stream);
}

static void
delete_name(struct deletion *deletion, int folder, const char *name, unsigned depth)
{
	struct stat stat;
	int below;

	if (fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == -1) {
		if (errno != ENOENT || depth == 0)
			fail(deletion, errno);
		return;
	}
	if (S_ISDIR(stat.st_mode)) {
		below = depth == FILE_WALK_DEPTH_MAX ? -1
						     : openat(folder, name, FOLDER_FLAGS);
		if (below == -1) {
			fail(deletion, depth == FILE_WALK_DEPTH_MAX ? ELOOP : errno);
			return;
		}
		delete_inside(deletion, below, depth + 1);
		if (deletion->error != 0)
			return;
	}
	if (unlinkat(folder, name, S_ISDIR(stat.st_mode) ? AT_REMOVEDIR : 0) == -1 &&
	    errno != ENOENT)
		fail(deletion, errno);
}

const struct value *
disk_delete(struct disk_job *job, const atomic_bool *stop)
{
	struct deletion deletion = { .job = job, .stop = stop };
	const char *name;
	char text[128];
	int folder = file_walk_parent(job->arena, job->root, job->path, false, &name);

	if (folder == -1)
		return disk_refusal(job, errno);
	if (name == NULL) {
		delete_inside(&deletion, folder, 1);
	} else {
		delete_name(&deletion, folder, name, 0);
		close(folder);
	}
	if (deletion.error == 0)
		return value_empty_map();
	if (deletion.entries == 0)
		return disk_refusal(job, deletion.error);
	return backend_refusal(job->arena, "'%s' was deleted in part: %s", job->said,
	    strerror_r(deletion.error, text, sizeof text));
}
