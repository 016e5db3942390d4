#include "middleware.h"

static const struct middleware one = { .abi = MIDDLEWARE_ABI, .name = "one" };
static const struct middleware other = { .abi = MIDDLEWARE_ABI, .name = "one" };

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &one, &other, NULL };
