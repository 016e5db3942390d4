/* fleet.json, as somebody has left it: no fleet, or one whose addresses are all there, and that is
 * the same when it is written and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../cli/fleet_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-fleet-XXXXXX";

static const char *
in_folder(const char *name)
{
	static char path[96];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void
remove_folder(void)
{
	fleet_file_remove(folder);
	unlink(in_folder(FLEET_FOLDER "/lock"));
	rmdir(in_folder(FLEET_FOLDER));
	rmdir(folder);
}

/* We are its `up`: without the lock it is no fleet, whatever the file says. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0 ||
	    mkdir(in_folder(FLEET_FOLDER), 0700) == -1)
		return -1;
	return fleet_file_lock(folder) == -1 ? -1 : 0;
}

static void
write_file(const uint8_t *data, size_t size)
{
	FILE *file = fopen(in_folder(FLEET_FILE), "we");

	if (file == NULL || (size > 0 && fwrite(data, size, 1, file) != 1))
		abort();
	fclose(file);
}

static void
check_equal(const char *const *a, const char *const *b)
{
	for (; *a != NULL && *b != NULL; a++, b++)
		if (strcmp(*a, *b) != 0)
			abort();
	if (*a != NULL || *b != NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct fleet_file file = { .redis = NULL }, again = { .redis = NULL };

	write_file(data, size);
	if (fleet_file_read(arena, folder, &file)) {
		if (file.redis == NULL || file.brokers == NULL || file.statuses == NULL)
			abort();
		if (fleet_file_write(folder, &file) == -1 ||
		    !fleet_file_read(arena, folder, &again))
			abort();
		if (strcmp(file.redis, again.redis) != 0)
			abort();
		check_equal(file.brokers, again.brokers);
		check_equal(file.statuses, again.statuses);
	}
	arena_destroy(&arena);
	return 0;
}
