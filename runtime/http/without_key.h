/* without_key: what a server says, without the key that it was sent: it may be shown and kept. */
#ifndef WITHOUT_KEY_H
#define WITHOUT_KEY_H

#include "arena.h"

/* Returns text, in arena, without key and without what looks like a part of it: servers
 * repeat the key they refuse, with some of it blotted out. A key of less than 8 bytes, as servers get that want none,
 * is taken out only where it stands alone, without a letter or digit beside it. key may be NULL. */
const char *without_key(struct arena *arena, const char *text, const char *key);

#endif
