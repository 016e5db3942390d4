/* aof: Redis's append-only file, command by command: every write there ever was, in order. */
#ifndef AOF_H
#define AOF_H

#include <stdbool.h>
#include <stddef.h>

#define AOF_ARGUMENTS_MAX 8192u

struct aof_argument {
	const char *text; /* not NUL-terminated */
	size_t size;
};

struct aof_command {
	size_t count;
	struct aof_argument arguments[AOF_ARGUMENTS_MAX]; /* the first is the verb */
};

struct aof;

/* folder: Redis's. Returns new, or NULL with errno. */
struct aof *aof_open(const char *folder);
void aof_close(struct aof **aof_p);

/* Returns 1 with the next command, 0 at the end, -1 when the file is not what it should be. */
int aof_next(struct aof *aof, struct aof_command *command_r);

bool aof_is(const struct aof_argument *argument, const char *text);
long long aof_number(const struct aof_argument *argument);

#endif
