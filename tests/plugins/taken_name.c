/* A good one and one whose name is taken: neither may be taken in. */
#include "middleware.h"

static const struct middleware fresh = { .abi = MIDDLEWARE_ABI, .name = "fresh" };
static const struct middleware taken = { .abi = MIDDLEWARE_ABI, .name = "todo_list" };

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &fresh, &taken, NULL };
