#include "secrecy.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "log.h"

void
secrecy_begin(bool allow_core_dumps)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) == -1)
		fatal("getrlimit");
	/* The hard limit stays: a child that is allowed to may lift it again. */
	limit.rlim_cur = allow_core_dumps ? limit.rlim_max : 0;
	if (setrlimit(RLIMIT_CORE, &limit) == -1)
		fatal("setrlimit");
	/* A core that is piped to a program (core_pattern) knows no limit, but this. */
	if (!allow_core_dumps && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("prctl");
}
