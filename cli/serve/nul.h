/* nul: texts of a body that would be cut. Names, schedules, keys of metadata go on as C's texts, which end at a NUL. What is said
 * to an agent, or kept for it, is content: it may hold one, and goes on whole; so is what `config` has, but its `metadata`. Pure. */
#ifndef NUL_H
#define NUL_H

#include "value.h"

/* Returns NULL, or which of a body's texts that are no content has a NUL, as a sentence in arena: "metadata.who: ...". */
const char *nul_check(struct arena *arena, const struct value *body);

#endif
