/* child_env: the environment of a child of `flotilla up`: ours, without what is not for it, and what a
 * supervisor says (sd_notify(3), and FLOTILLA_RESTARTS). */
#ifndef CHILD_ENV_H
#define CHILD_ENV_H

#include <stdint.h>

struct child_said {
	const char *notify_path;
	unsigned restarts;
	uint64_t watchdog_us; /* 0: nobody waits for its word */
};

/* Returns new lines, NULL-ended. withheld: names of variables that are left out, NULL-ended; or
 * NULL. */
char **child_env_new(char *const *withheld, const struct child_said *said);

void child_env_free(char **lines);

#endif
