/* fleet_file: where the fleet of this folder is, as `flotilla up` has written it. */
#ifndef FLEET_FILE_H
#define FLEET_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

#define FLEET_FOLDER ".flotilla"
#define FLEET_FILE FLEET_FOLDER "/fleet.json"

struct fleet_file {
	const char *redis;
	const char *const *brokers, *const *statuses; /* of each broker; NULL-ended */
	const char *key;    /* the file of the pair that all of it have, or NULL */
	const char *models; /* the file of its --models, or NULL */
	int64_t pid;        /* of `flotilla up`; 0: none */
	const char *
	    passed_over; /* a FLEET_FOLDER that is not ours, where none of ours was found; or NULL */
};

/* True when folder has a FLEET_FOLDER that nobody but us and root can write to. */
bool fleet_file_is_ours(const char *folder);

/* Fills *file_r from the nearest fleet.json of this folder or one above it that is ours and
 * whose `up` is alive, else with the defaults. Texts are in arena. */
void fleet_file_find(struct arena *arena, struct fleet_file *file_r);

/* Reads the fleet.json of folder alone. Returns false when there is none, or one that others
 * can write to, or its `up` is gone. */
bool fleet_file_read(struct arena *arena, const char *folder, struct fleet_file *file_r);

/* Makes this process the one whose fleet is up in folder, until the descriptor that is
 * returned is closed or the process ends, in whatever way. -1 with errno; EAGAIN: another
 * is. (A pid in a file is no such thing: after a restart somebody else may have it.) */
int fleet_file_lock(const char *folder);

/* Writes folder's fleet.json. Returns 0, -1 with errno. */
int fleet_file_write(const char *folder, const struct fleet_file *file);
void fleet_file_remove(const char *folder);

#endif
