/* scripted_sigv4: who has signed a request, as AWS looks at it (Signature Version 4), for the scripted server. Made by itself,
 * from AWS's description and with OpenSSL: the model worker's own is worker-model/sigv4.h. */
#ifndef SCRIPTED_SIGV4_H
#define SCRIPTED_SIGV4_H

#include <stddef.h>

#include "arena.h"

struct evkeyvalq;

/* Returns what is wrong with the signature of a POST of that body to that path, in arena; NULL: it is right, made with secret
 * for that region and service in these minutes. */
const char *scripted_sigv4_check(struct arena *arena, struct evkeyvalq *headers,
    const char *path, const void *body, size_t size, const char *secret,
    const char *region, const char *service);

#endif
