/* redis_address: where a Redis is and who we are there, from a URL. Part of redis. */
#ifndef REDIS_ADDRESS_H
#define REDIS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct redis_address {
	const char *path; /* of a unix socket; or NULL, and then: */
	const char *host;
	bool is_number; /* the host */
	uint16_t port;
	const char *user;     /* or NULL */
	const char *password; /* or NULL */
	const char *database; /* a number, or NULL */
	const char *name;     /* for people, without the password */
};

/* Parses url; all in arena. Returns 0, or -1 with a reason. */
int redis_address_parse(struct arena *arena, const char *url,
    struct redis_address *address_r, const char **error_r);

#endif
