/* sigv4: Signature Version 4, by which AWS knows who asks and that nobody has changed what is asked. The secret never leaves:
 * it makes a key for the day, the region and the service, and that signs. Pure.
 *
 * libcurl can do so, too, but in Debian 12's version signs a path as it is, where AWS wants each % of it encoded once more. */
#ifndef SIGV4_H
#define SIGV4_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "arena.h"

#define SIGV4_HASH_BYTES 32u

struct sigv4_keys {
	const char *id, *secret;
	const char *session; /* a token, of keys that expire; or NULL */
};

struct sigv4_request {
	const char *method;       /* "POST" */
	const char *host;         /* as the header Host says it */
	const char *path;         /* as it is sent; there is no query */
	const char *content_type; /* of the header that is sent, or NULL */
	const void *body;
	size_t body_size;
	const char *region, *service; /* "us-east-1", "bedrock" */
	time_t now;                   /* AWS refuses one that is minutes from its own */
};

/* The header lines that go along, in arena. */
struct sigv4 {
	const char *authorization, *date;
	const char *token; /* NULL: there is no session */
};

void sigv4_sign(struct arena *arena, const struct sigv4_keys *keys,
    const struct sigv4_request *request, struct sigv4 *signed_r);

/* The key that signs; date is "20150830". */
void sigv4_key(const char *secret, const char *date, const char *region,
    const char *service, uint8_t key_r[SIGV4_HASH_BYTES]);

/* Returns text as a piece of a URL's path: all but letters, digits and -._~ as %XX; in arena. */
const char *sigv4_escaped(struct arena *arena, const char *text);

/* Returns now as it is signed, "20150830T123600Z", in arena. */
const char *sigv4_time(struct arena *arena, time_t now);

#endif
