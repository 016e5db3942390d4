#include "secure_traces.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WAIT_TRIES 400

/* --- Redis ------------------------------------------------------------------------------- */

const char *
secure_all_of_redis(struct secure_kit *secure)
{
	static const char script[] =
	    "local found = {} "
	    "for _, key in ipairs(redis.call('KEYS', '*')) do "
	    "local kind = redis.call('TYPE', key).ok "
	    "found[#found + 1] = key "
	    "local all = kind == 'string' and {redis.call('GET', key)} "
	    "or kind == 'hash' and redis.call('HGETALL', key) "
	    "or kind == 'list' and redis.call('LRANGE', key, 0, -1) "
	    "or kind == 'set' and redis.call('SMEMBERS', key) "
	    "or kind == 'zset' and redis.call('ZRANGE', key, 0, -1) or {} "
	    "if kind == 'stream' then "
	    "for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do "
	    "for _, text in ipairs(entry[2]) do found[#found + 1] = text end end end "
	    "for _, text in ipairs(all) do found[#found + 1] = text end "
	    "end return (table.concat(found, '\\n'):gsub('%z', ' '))";

	return SECURE_ASK(secure, "EVAL", script, "0");
}

void
secure_rewrite_files(struct secure_kit *secure)
{
	unsigned tries;

	SECURE_ASK(secure, "BGREWRITEAOF");
	for (tries = 0; tries < WAIT_TRIES; tries++) {
		const char *info = SECURE_ASK(secure, "INFO", "persistence");

		if (strstr(info, "aof_rewrite_in_progress:0") != NULL &&
		    strstr(info, "aof_rewrite_scheduled:0") != NULL)
			return;
	}
	ck_abort_msg("Redis does not rewrite its file");
}

/* --- files ------------------------------------------------------------------------------- */

struct walk {
	struct arena *arena;
	void (*look)(void *arg, const char *path, const char *data, size_t size);
	void *arg;
};

/* Reads the file whole; sockets and the like have nothing to read, nor has what is gone by now. */
static void
look_in_file(const struct walk *walk, const char *path)
{
	struct stat status;
	FILE *file;
	char *data;
	size_t size;

	if (stat(path, &status) == -1 || !S_ISREG(status.st_mode))
		return;
	file = fopen(path, "r");
	if (file == NULL && errno == ENOENT)
		return;
	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	data = malloc((size_t)status.st_size + 1);
	ck_assert_ptr_nonnull(data);
	size = fread(data, 1, (size_t)status.st_size, file);
	fclose(file);
	walk->look(walk->arg, path, data, size);
	free(data);
}

static void
look_in_folder(const struct walk *walk, const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;

	ck_assert_msg(folder != NULL, "%s", path);
	while ((entry = readdir(folder)) != NULL) {
		const char *name =
		    arena_printf(walk->arena, "%s/%s", path, entry->d_name);

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			look_in_folder(walk, name);
		else
			look_in_file(walk, name);
	}
	closedir(folder);
}

void
secure_look_in_files(struct secure_kit *secure,
    void (*look)(void *arg, const char *path, const char *data, size_t size), void *arg)
{
	const struct walk walk = { secure->arena, look, arg };

	look_in_folder(&walk, kit_path(secure->kit, "."));
}
