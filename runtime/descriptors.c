#include "descriptors.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

const char *
descriptors_take(uint64_t wanted)
{
	static char wrong[128];
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return NULL;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= DESCRIPTORS_MIN)
		return NULL;
	snprintf(wrong, sizeof wrong,
	    "it may have %" PRIu64 " files open, and needs %u at least; raise the limit "
	    "(ulimit -n)",
	    (uint64_t)limit.rlim_cur, DESCRIPTORS_MIN);
	return wrong;
}
