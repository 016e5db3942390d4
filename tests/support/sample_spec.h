/* sample_spec: agents written as YAML in tests. */
#ifndef SAMPLE_SPEC_H
#define SAMPLE_SPEC_H

#include "spec.h"

/* Returns the YAML text as a value in arena. Text that is no YAML fails the test. */
const struct value *sample_source(struct arena *arena, const char *text);

/* Returns the spec of the agent, "test" when it has no name. A wrong one fails the test.
 */
const struct spec *sample_spec(struct arena *arena, const char *text);

#endif
