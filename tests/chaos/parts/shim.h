/* shim: what the preloaded library (shim.c) does to the process it is in; the file of that
 * process, mapped by it and by the nemesis. Its path is in CHAOS_SHIM. */
#ifndef SHIM_H
#define SHIM_H

#include <stdatomic.h>
#include <stdint.h>

struct shim {
	_Atomic int64_t clock_ms; /* added to the wall clock; the monotonic one stays */
	_Atomic int64_t fsync_ms; /* how much longer fsync and fdatasync take */
};

#endif
