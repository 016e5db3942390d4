/* Made for another ABI: everything but the number may be anything. */
#include "middleware.h"

static const struct middleware old = { .abi = MIDDLEWARE_ABI + 1, .name = "old" };

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &old, NULL };
