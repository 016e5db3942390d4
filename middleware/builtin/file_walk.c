#include "file_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct entry {
	const char *name;
	const char *key; /* to sort by: a folder's has a slash behind */
	bool is_folder;
};

struct entries {
	struct entry *items;
	size_t count, room;
};

#define SECOND_NS INT64_C(1000000000)

/* --- opening -------------------------------------------------------------------------- */

int64_t
file_walk_changed(const struct stat *stat)
{
	if (stat->st_mtim.tv_sec >= INT64_MAX / SECOND_NS)
		return INT64_MAX;
	if (stat->st_mtim.tv_sec <= INT64_MIN / SECOND_NS)
		return INT64_MIN;
	return stat->st_mtim.tv_sec * SECOND_NS + stat->st_mtim.tv_nsec;
}

int
file_walk_open(int folder, const char *name, uint64_t *size_r, int64_t *changed_r)
{
	struct stat stat;
	int file;

	/* Before it is opened: devices may do something when they are. */
	if (fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == -1 ||
	    !S_ISREG(stat.st_mode))
		return -1;
	file = openat(folder, name, FILE_FLAGS);
	if (file == -1)
		return -1;
	if (fstat(file, &stat) == -1 || !S_ISREG(stat.st_mode)) {
		close(file);
		return -1;
	}
	*size_r = (uint64_t)stat.st_size;
	*changed_r = file_walk_changed(&stat);
	return file;
}

bool
file_walk_is_folder(const char *root)
{
	int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder == -1)
		return false;
	close(folder);
	return true;
}

/* The component at path, copied. NULL: there is none. */
static const char *
next_name(struct arena *arena, const char **path_p)
{
	const char *at = *path_p + strspn(*path_p, "/");
	size_t size = strcspn(at, "/");

	*path_p = at + size;
	return size == 0 ? NULL : arena_copy(arena, at, size);
}

/* Opens the folder name of folder, which comes about when it is not there and makes. */
static int
open_below(int folder, const char *name, bool makes)
{
	int below = openat(folder, name, FOLDER_FLAGS);

	if (below != -1 || errno != ENOENT || !makes)
		return below;
	if (mkdirat(folder, name, 0777) == -1 && errno != EEXIST)
		return -1;
	return openat(folder, name, FOLDER_FLAGS);
}

/* Opens the folder that path's last component is in; *name_r: that component, NULL when path
 * is the root. Returns -1 with errno when there is no such folder, or none can be made. Takes root. */
static int
open_parent(
    struct arena *arena, int root, const char *path, bool makes, const char **name_r)
{
	const char *name = next_name(arena, &path), *next;
	int folder = root, below, error;

	while (name != NULL && strcmp(name, "..") != 0) {
		next = next_name(arena, &path);
		if (next == NULL)
			break;
		below = open_below(folder, name, makes);
		error = errno;
		close(folder);
		errno = error;
		if (below == -1)
			return -1;
		folder = below;
		name = next;
	}
	*name_r = name;
	if (name == NULL || strcmp(name, "..") != 0)
		return folder;
	close(folder);
	errno = ENOENT;
	return -1;
}

int
file_walk_parent(struct arena *arena, const char *root, const char *path, bool makes,
    const char **name_r)
{
	int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return folder == -1 ? -1 : open_parent(arena, folder, path, makes, name_r);
}

/* --- a folder ------------------------------------------------------------------------- */

bool
file_walk_must_stop(struct file_walk *walk)
{
	if (!walk->is_late && (atomic_load(walk->stop) || loop_now_us() >= walk->end_us))
		walk->is_late = true;
	return walk->is_late;
}

/* DT_DIR, DT_REG, or anything else. */
static int
type_of(int folder, const struct dirent *entry)
{
	struct stat stat;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(folder, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == -1)
		return DT_UNKNOWN;
	return S_ISDIR(stat.st_mode) ? DT_DIR : S_ISREG(stat.st_mode) ? DT_REG : DT_LNK;
}

static void
add(struct arena *arena, struct entries *entries, const char *name, bool is_folder)
{
	struct entry *grown;

	if (entries->count == entries->room) {
		entries->room = entries->room == 0 ? 64 : 2 * entries->room;
		grown = realloc(entries->items, entries->room * sizeof *grown);
		if (grown == NULL)
			arena_exhausted();
		entries->items = grown;
	}
	name = arena_copy(arena, name, strlen(name));
	entries->items[entries->count++] = (struct entry){
		.name = name,
		.key = is_folder ? arena_printf(arena, "%s/", name) : name,
		.is_folder = is_folder,
	};
}

static int
compare(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	return strcmp(one->key, other->key);
}

/* True when no more names are to be kept. */
static bool
is_full(struct file_walk *walk)
{
	if (arena_bytes(walk->arena) < FILE_WALK_BYTES_MAX)
		return false;
	walk->is_cut = true;
	return true;
}

/* Takes folder. */
static void
read_folder(struct file_walk *walk, DIR *folder, struct entries *entries)
{
	const struct dirent *entry;

	while ((entry = readdir(folder)) != NULL) {
		int type = type_of(dirfd(folder), entry);

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (walk->entries == FILE_WALK_ENTRIES_MAX ||
		    entries->count == FILE_WALK_FOLDER_MAX) {
			walk->is_cut = true;
			break;
		}
		walk->entries++;
		if (type == DT_DIR || type == DT_REG)
			add(walk->arena, entries, entry->d_name, type == DT_DIR);
		if (walk->entries % 1024 == 0 &&
		    (file_walk_must_stop(walk) || is_full(walk)))
			break;
	}
	if (entries->count > 0)
		qsort(entries->items, entries->count, sizeof *entries->items, compare);
}

/* Where a walk is. */
struct place {
	size_t depth;      /* folders below the begin */
	const char *path;  /* of the folder from the root, with a slash behind; or "" */
	size_t begin_size; /* bytes of path that are the begin's */
};

static bool walk_folder(struct file_walk *walk, int folder, const struct place *place);

static bool
visit_entry(struct file_walk *walk, int folder, const struct place *place,
    const struct entry *entry)
{
	struct place below = *place;
	const char *path;
	int fd;

	if (!entry->is_folder) {
		path = arena_printf(walk->arena, "%s%s", place->path, entry->name);
		return walk->visit(
		    walk->arg, folder, entry->name, path, path + place->begin_size);
	}
	below.depth++;
	if (walk->depth > 0 && below.depth >= walk->depth)
		return true;
	if (below.depth == FILE_WALK_DEPTH_MAX) {
		walk->is_cut = true;
		return true;
	}
	fd = openat(folder, entry->name, FOLDER_FLAGS);
	if (fd == -1) {
		walk->unreadable++;
		return true;
	}
	below.path = arena_printf(walk->arena, "%s%s/", place->path, entry->name);
	return walk_folder(walk, fd, &below);
}

/* Takes folder. Returns false when it is enough. */
static bool
walk_folder(struct file_walk *walk, int folder, const struct place *place)
{
	DIR *stream = fdopendir(folder);
	struct entries entries = { 0 };
	bool more = true;
	size_t i;

	if (stream == NULL) {
		close(folder);
		walk->unreadable++;
		return true;
	}
	read_folder(walk, stream, &entries);
	for (i = 0; i < entries.count && more; i++)
		more = !file_walk_must_stop(walk) && !is_full(walk) &&
		       visit_entry(walk, folder, place, &entries.items[i]);
	free(entries.items);
	closedir(stream);
	return more && !walk->is_late;
}

/* --- from the begin ------------------------------------------------------------------- */

static bool
is_file(int folder, const char *name)
{
	struct stat stat;

	return fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(stat.st_mode);
}

/* The part of path below the begin; of the begin itself its name. */
static const char *
inside_of(const struct file_walk *walk, const char *path, const char *name)
{
	size_t size = strlen(walk->path);

	if (size == 0)
		return path;
	if (strncmp(path, walk->path, size) == 0 && path[size] == '/')
		return path + size + 1;
	return name;
}

enum file_walk_end
file_walk_one(struct file_walk *walk, const char *path)
{
	int root = open(walk->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder;
	const char *name;

	if (root == -1)
		return FILE_WALK_NO_ROOT;
	folder = open_parent(walk->arena, root, path, false, &name);
	if (folder == -1)
		return FILE_WALK_NO_PATH;
	if (name == NULL || !is_file(folder, name)) {
		close(folder);
		return FILE_WALK_NO_PATH;
	}
	walk->visit(walk->arg, folder, name, path, inside_of(walk, path, name));
	close(folder);
	return FILE_WALK_DONE;
}

/* Opens the folder where walk begins. Returns -1 when that is none: *end_r says what it is, DONE
 * means a file. */
static int
open_begin(struct file_walk *walk, enum file_walk_end *end_r)
{
	int root = open(walk->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), parent, folder;
	const char *name;

	*end_r = root == -1 ? FILE_WALK_NO_ROOT : FILE_WALK_NO_PATH;
	if (root == -1)
		return -1;
	parent = open_parent(walk->arena, root, walk->path, false, &name);
	if (parent == -1 || name == NULL)
		return parent;
	folder = openat(parent, name, FOLDER_FLAGS);
	if (folder == -1 && is_file(parent, name))
		*end_r = FILE_WALK_DONE;
	close(parent);
	return folder;
}

enum file_walk_end
file_walk_look(struct file_walk *walk)
{
	enum file_walk_end end;
	int folder = open_begin(walk, &end);

	if (folder == -1)
		return end;
	close(folder);
	return FILE_WALK_DONE;
}

enum file_walk_end
file_walk(struct file_walk *walk)
{
	enum file_walk_end end;
	struct place place = { .path = "" };
	int folder = open_begin(walk, &end);

	if (folder == -1)
		return end == FILE_WALK_DONE ? file_walk_one(walk, walk->path) : end;
	if (*walk->path != '\0')
		place.path = arena_printf(walk->arena, "%s/", walk->path);
	place.begin_size = strlen(place.path);
	walk_folder(walk, folder, &place);
	return FILE_WALK_DONE;
}
