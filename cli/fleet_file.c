#include "fleet_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"

#define FILE_BYTES_MAX 65536u
#define FLEET_LOCK FLEET_FOLDER "/lock"

static char *
file_name(struct arena *arena, const char *folder)
{
	return arena_printf(arena, "%s/%s", folder, FLEET_FILE);
}

static char *
lock_name(struct arena *arena, const char *folder)
{
	return arena_printf(arena, "%s/%s", folder, FLEET_LOCK);
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

/* Asks without taking it: an `up` that starts right now shall not find it taken. */
static bool
is_locked(struct arena *arena, const char *folder)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(lock_name(arena, folder), O_RDONLY | O_CLOEXEC);
	bool locked =
	    fd != -1 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;

	if (fd != -1)
		close(fd);
	return locked;
}

bool
fleet_file_read(struct arena *arena, const char *folder, struct fleet_file *file_r)
{
	FILE *in = fopen(file_name(arena, folder), "re");
	char *text = arena_alloc(arena, FILE_BYTES_MAX);
	const struct value *map;
	const char *error;
	size_t size;

	if (in == NULL)
		return false;
	size = fread(text, 1, FILE_BYTES_MAX, in);
	fclose(in);
	map = json_parse(arena, text, size, &error);
	file_r->pid = value_get_int(map, "pid", 0);
	if (!is_locked(arena, folder))
		return false;
	file_r->redis = value_get_text(map, "redis");
	file_r->broker = value_get_text(map, "broker");
	file_r->status = value_get_text(map, "status");
	return file_r->redis != NULL && file_r->broker != NULL && file_r->status != NULL;
}

void
fleet_file_find(struct arena *arena, struct fleet_file *file_r)
{
	char *folder = getcwd(NULL, 0), *slash;
	bool found = false;

	while (folder != NULL && !found) {
		found = fleet_file_read(arena, folder, file_r);
		slash = strrchr(folder, '/');
		if (slash == NULL || slash == folder)
			break;
		*slash = '\0';
	}
	free(folder);
	if (!found)
		*file_r = (struct fleet_file){ .redis = "redis://127.0.0.1:6379",
			.broker = "tcp://127.0.0.1:7700",
			.status = "tcp://127.0.0.1:7701" };
}

int
fleet_file_write(const char *folder, const struct fleet_file *file)
{
	struct arena *arena = arena_new();
	const struct value *map =
	    value_map(arena, "pid", value_int(arena, file->pid), "redis",
		value_str(arena, file->redis), "broker", value_str(arena, file->broker),
		"status", value_str(arena, file->status), NULL);
	FILE *out = fopen(file_name(arena, folder), "we");
	int result = -1;

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
