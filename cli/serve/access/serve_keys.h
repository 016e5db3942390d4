/* serve_keys: the file of keys that `flotilla serve` asks for. */
#ifndef SERVE_KEYS_H
#define SERVE_KEYS_H

#include "value.h"

/* Reads path: a key a line, and behind a space its runs' tenant; lines that begin with # and empty ones are passed over. Returns
 * [{key, tenant?}] in arena, at least one; NULL with a reason, which names path and line and has no key in it: a file that
 * others may read is refused (key_file.h). */
const struct value *serve_keys_read(
    struct arena *arena, const char *path, const char **error_r);

#endif
