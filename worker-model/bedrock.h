/* bedrock: where Amazon Bedrock is asked by its Converse API, and how it is told who asks: each region has a host of its own,
 * the model stands in the path, and a request is signed (sigv4.h), or brings a Bedrock API key. */
#ifndef BEDROCK_H
#define BEDROCK_H

#include "provider.h"

#define BEDROCK_TOKEN_VARIABLE "AWS_BEARER_TOKEN_BEDROCK"

/* What an endpoint of Bedrock has besides its key. */
struct bedrock {
	const char *region; /* or NULL: nobody has said */
	const char *
	    key_id; /* the endpoint's key is its secret; NULL: the key is a token, or there is none */
	const char *session; /* of keys that expire; or NULL */
};

/* Returns what is given as the endpoint's URL without slashes behind, its host in small letters. NULL: it goes on with a model
 * or a query, or has a password in it, and is none. */
const char *bedrock_base(struct arena *arena, const char *given);

/* Returns the region's endpoint; NULL: that is no region. */
const char *bedrock_usual_url(struct arena *arena, const char *region);

/* Returns the region that the host of url names, "bedrock-runtime.<region>.", or NULL. */
const char *bedrock_region_in(struct arena *arena, const char *url);

/* Returns where a request to model goes. */
const char *bedrock_url(
    struct arena *arena, const struct endpoint *endpoint, const char *model, bool stream);

/* Returns the host of url as libcurl says it in a request: without the port that is the scheme's own. */
const char *bedrock_host(struct arena *arena, const char *url);

/* Fills headers with those that say who asks, at most three, for a request with this JSON to endpoint->url, as bedrock_url says
 * it; returns how many. Keys that sign want a region. */
size_t bedrock_headers(const struct endpoint *endpoint, const struct ask *ask,
    const struct packet *body, const char *headers_r[]);

#endif
