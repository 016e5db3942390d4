#include "middleware.h"

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { NULL };
