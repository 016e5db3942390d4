/* protocol_bodies: the bodies whose bytes docs/protocol.md has as test vectors, by their names there. */
#ifndef PROTOCOL_BODIES_H
#define PROTOCOL_BODIES_H

#include "value.h"

#define PROTOCOL_BODIES 7u

struct protocol_body {
	const char *name;
	const struct value *(*make)(struct arena *arena);
};
extern const struct protocol_body protocol_bodies[PROTOCOL_BODIES];

#endif
