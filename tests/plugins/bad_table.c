/* An option whose own default breaks its limits. */
#include "middleware.h"

static const struct option options[] = {
	{ .name = "size",
	    .type = OPTION_INTEGER,
	    .otherwise = "0",
	    .min = 1,
	    .max = 9,
	    .text = "A size." },
	{ 0 },
};
static const struct middleware flawed = {
	.abi = MIDDLEWARE_ABI,
	.name = "flawed",
	.options = options,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &flawed, NULL };
