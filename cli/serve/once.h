/* once: what is asked for again is not begun again. A request may have a key, the header Idempotency-Key
 * (draft-ietf-httpapi-idempotency-key-header-07). The ids of its run, and of a thread of its own, are then made of the key:
 * any server finds them, and the submission of a run that is known begins none (docs/submit.md).
 *
 * That holds for as long as the run is kept. */
#ifndef ONCE_H
#define ONCE_H

#include "api.h"

/* Reads the key: *key_r lends it, NULL where there is none. Returns false after answering that it is none. */
bool once_read(struct call *call, const char **key_r);

/* What the run is called, in the call's arena: a UUID, behind its tenant; of a call that begins several runs,
 * the one at call->part. Equal for equal keys of one tenant, on one thread of the path. */
const char *once_id(const struct call *call, const char *key);

/* The same of a thread that is made for the run, of a call whose path names an agent. */
const char *once_thread_id(const struct call *call, const char *key);

/* What tells body from others that have the same key: 64 hexadecimal digits, in arena. */
const char *once_fingerprint(struct arena *arena, const struct value *body);

/* Returns false after answering that record is of a run that another body began with the key. */
bool once_is_same(struct call *call, const struct value *record, const char *fingerprint);

#endif
