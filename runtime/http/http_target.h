/* http_target: a URL as a request needs it. Those asked for last are kept: a worker asks
 * few URLs, each very often, and reading one takes as long as sending it. Part of http. */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include <curl/curl.h>

#include "url.h"

struct http_target {
	struct url url;
	const char *text;   /* as it was given */
	const char *origin; /* "https://api.example.com:443" */
	CURLU *curl;        /* to be copied by curl, not changed */
};

struct http_targets;

struct http_targets *http_targets_new(void);

/* Takes *targets_p; every target must have been given back. NULL is fine. */
void http_targets_destroy(struct http_targets **targets_p);

/* Returns the target of an http or https URL, lent until http_target_release; or NULL with
 * a reason in arena. */
const struct http_target *http_target_hold(struct http_targets *targets,
    struct arena *arena, const char *text, const char **error_r);

/* Gives *target_p back and sets it to NULL; NULL is fine. */
void http_target_release(
    struct http_targets *targets, const struct http_target **target_p);

#endif
