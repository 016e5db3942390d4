/* curve: the keys of this process. Switched on once, before the first socket; from then on
 * every socket of this process speaks CURVE (encrypted, both sides known by their keys) or
 * not at all. Off: none does.
 *
 * A socket that binds proves to be the owner of our key, and asks the ZAP handler (zap.h)
 * about each peer's; one that connects expects the broker's key on the other side. All
 * brokers of a fleet have one key. */
#ifndef CURVE_H
#define CURVE_H

#include <stdbool.h>

/* Reads our pair from the file at key_path, and the broker's public key (Z85, or a file
 * with it), which a broker itself has not got: NULL. Returns 0, or -1 with a reason that is
 * lent until the next call. */
int curve_open(const char *key_path, const char *broker_key, const char **error_r);

/* Wipes the keys. Sockets that are open keep theirs. */
void curve_close(void);

bool curve_is_on(void);
/* Our public key as Z85; "" when off. */
const char *curve_public_key(void);

/* Makes a new ZeroMQ socket speak CURVE, when it is on. domain is what its ZAP requests
 * name; NULL: it connects. Returns 0, or -1 with errno. */
int curve_secure(void *zmq, const char *domain);

#endif
