#include "fleet_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"

#define FILE_BYTES_MAX 65536u
#define FILE_NAME "fleet.json" /* both are in FLEET_FOLDER */
#define LOCK_NAME "lock"

static char *
file_name(struct arena *arena, const char *folder)
{
	return arena_printf(arena, "%s/%s", folder, FLEET_FILE);
}

static char *
lock_name(struct arena *arena, const char *folder)
{
	return arena_printf(arena, "%s/" FLEET_FOLDER "/" LOCK_NAME, folder);
}

int
fleet_file_lock(const char *folder)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct arena *arena = arena_new();
	int fd = open(lock_name(arena, folder), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int error;

	arena_destroy(&arena);
	if (fd == -1 || fcntl(fd, F_OFD_SETLK, &whole) == 0)
		return fd;
	error = errno == EACCES ? EAGAIN : errno;
	close(fd);
	errno = error;
	return -1;
}

/* Who can write it says which Redis and which broker our commands talk to. */
static bool
is_believed(const struct stat *status)
{
	return (status->st_uid == geteuid() || status->st_uid == 0) &&
	       (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool
is_ours(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && is_believed(&status);
}

/* Returns folder's FLEET_FOLDER, or -1 when there is none of ours. */
static int
open_ours(const char *folder)
{
	struct arena *arena = arena_new();
	int fd = open(arena_printf(arena, "%s/" FLEET_FOLDER, folder),
	    O_PATH | O_DIRECTORY | O_CLOEXEC);

	arena_destroy(&arena);
	if (fd == -1 || is_ours(fd))
		return fd;
	close(fd);
	return -1;
}

bool
fleet_file_is_ours(const char *folder)
{
	int fd = open_ours(folder);

	if (fd != -1)
		close(fd);
	return fd != -1;
}

/* Asks without taking it: an `up` that starts right now shall not find it taken. */
static bool
is_locked(int folder)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(folder, LOCK_NAME, O_RDONLY | O_CLOEXEC);
	bool locked =
	    fd != -1 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;

	if (fd != -1)
		close(fd);
	return locked;
}

/* The texts of a list, NULL-ended; or the one that an older `up` has written. NULL: none. */
static const char *const *
texts(struct arena *arena, const struct value *map, const char *many, const char *one)
{
	const struct value *list = value_get(map, many);
	const char *alone = value_get_text(map, one);
	size_t count = value_size(list), i, n = 0;
	const char **result = arena_alloc(arena, (count + 2) * sizeof *result);

	for (i = 0; i < count; i++)
		if (value_is(value_at(list, i), VALUE_STR))
			result[n++] = value_text(value_at(list, i));
	if (n == 0 && alone != NULL)
		result[n++] = alone;
	result[n] = NULL;
	return n > 0 ? result : NULL;
}

/* Returns the text of folder's fleet.json, or NULL. */
static const char *
read_ours(struct arena *arena, int folder, size_t *size_r)
{
	int fd = openat(folder, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *in = fd != -1 && is_ours(fd) ? fdopen(fd, "r") : NULL;
	char *text;

	if (in == NULL) {
		if (fd != -1)
			close(fd);
		return NULL;
	}
	text = arena_alloc(arena, FILE_BYTES_MAX);
	*size_r = fread(text, 1, FILE_BYTES_MAX, in);
	fclose(in);
	return text;
}

bool
fleet_file_read(struct arena *arena, const char *path, struct fleet_file *file_r)
{
	int folder = open_ours(path);
	const struct value *map;
	const char *error, *text = NULL;
	bool locked = false;
	size_t size = 0;

	if (folder != -1) {
		text = read_ours(arena, folder, &size);
		locked = is_locked(folder);
		close(folder);
	}
	if (text == NULL)
		return false;
	map = json_parse(arena, text, size, &error);
	file_r->pid = value_get_int(map, "pid", 0);
	if (!locked)
		return false;
	file_r->redis = value_get_text(map, "redis");
	file_r->brokers = texts(arena, map, "brokers", "broker");
	file_r->statuses = texts(arena, map, "statuses", "status");
	file_r->key = value_get_text(map, "key");
	file_r->models = value_get_text(map, "models");
	return file_r->redis != NULL && file_r->brokers != NULL &&
	       file_r->statuses != NULL;
}

/* Returns folder's FLEET_FOLDER when it, or the file in it, is there and not believed; else NULL. */
static const char *
not_believed(struct arena *arena, const char *folder)
{
	const char *path = arena_printf(arena, "%s/" FLEET_FOLDER, folder);
	struct stat status;

	if (stat(path, &status) == 0 && !is_believed(&status))
		return path;
	if (lstat(file_name(arena, folder), &status) == 0 &&
	    (S_ISLNK(status.st_mode) || !is_believed(&status)))
		return path;
	return NULL;
}

void
fleet_file_find(struct arena *arena, struct fleet_file *file_r)
{
	static const char *const brokers[] = { "tcp://127.0.0.1:7700", NULL };
	static const char *const statuses[] = { "tcp://127.0.0.1:7701", NULL };
	char *folder = getcwd(NULL, 0), *slash;
	const char *passed_over = NULL;
	bool found = false;

	*file_r = (struct fleet_file){ .redis = NULL };
	while (folder != NULL && !found) {
		found = fleet_file_read(arena, folder, file_r);
		if (!found && passed_over == NULL)
			passed_over = not_believed(arena, folder);
		slash = strrchr(folder, '/');
		if (slash == NULL || slash == folder)
			break;
		*slash = '\0';
	}
	free(folder);
	if (!found)
		*file_r = (struct fleet_file){ .redis = "redis://127.0.0.1:6379",
			.brokers = brokers,
			.statuses = statuses,
			.passed_over = passed_over };
}

static const struct value *
list(struct arena *arena, const char *const *texts_of)
{
	struct value_list values = { .arena = arena };

	for (; *texts_of != NULL; texts_of++)
		value_list_add(&values, value_str(arena, *texts_of));
	return value_list_end(&values);
}

int
fleet_file_write(const char *folder, const struct fleet_file *file)
{
	struct arena *arena = arena_new();
	const struct value *map = value_map(arena, "pid", value_int(arena, file->pid),
	    "redis", value_str(arena, file->redis), "brokers", list(arena, file->brokers),
	    "statuses", list(arena, file->statuses), "key",
	    file->key == NULL ? NULL : value_str(arena, file->key), "models",
	    file->models == NULL ? NULL : value_str(arena, file->models), NULL);
	const char *path = file_name(arena, folder);
	FILE *out = NULL;
	int result = -1, fd;

	/* One that is left of an `up` that was killed keeps its mode. */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd != -1)
		out = fdopen(fd, "w");
	if (out != NULL) {
		fprintf(out, "%s\n", json_pretty(arena, map));
		result = fclose(out) == 0 ? 0 : -1;
	}
	arena_destroy(&arena);
	return result;
}

void
fleet_file_remove(const char *folder)
{
	struct arena *arena = arena_new();

	unlink(file_name(arena, folder));
	arena_destroy(&arena);
}
