/* test_place: where a test is, and where there is room. What goes wrong ends the test with a message. */
#ifndef TEST_PLACE_H
#define TEST_PLACE_H

#include "arena.h"

/* The folder that the test's own program lies in, in arena. */
const char *place_folder(struct arena *arena);

/* A port nobody listens on, as a text in arena. It stays the test's: nobody else is given it who asks for any, and a
 * server that sets SO_REUSEADDR may listen there. */
const char *place_port(struct arena *arena);

#endif
