/* http: an HTTP client for fibers over libcurl's multi_socket on our loop.
 *
 * It never retries by itself, not even curl's silent one on a reused connection
 * (semantics.md 13.12). One multi handle per upstream and per 128 transfers. HTTP/1.1,
 * connections are kept. Proxies come from the environment (http_proxy, https_proxy,
 * all_proxy, no_proxy) but never for ourselves (loopback); certificates are checked against
 * the system's, or those in SSL_CERT_FILE. */
#ifndef HTTP_H
#define HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "loop.h"
#include "value.h"

struct http;
struct sockaddr;

struct http *http_new(struct loop *loop);
void http_destroy(struct http **http_p); /* after the last request has ended */

#define HTTP_END_MS 1000u

struct http_request {
	const char *method; /* "POST" */
	const char *url;
	const char *const *headers; /* "name: value" lines, NULL-ended, or NULL */
	const void *body;
	size_t body_size;
	uint64_t connect_timeout_ms;    /* 0: 10,000 */
	uint64_t first_byte_timeout_ms; /* of the body; 0: none but timeout_ms */
	uint64_t
	    idle_timeout_ms; /* between two pieces of the body; 0: none but timeout_ms */
	uint64_t timeout_ms; /* in all; 0: none */
	size_t body_bytes_max; /* of the response; 0: HTTP_BODY_BYTES_MAX */
	const char *header;    /* of the response, whose value is wanted; or NULL */
	/* Called on the requesting fiber for each piece of a 2xx body, in order; may
	 * wait. Returns 0, 1 when it has all it wants, or -1 to abort. From the first 1 on
	 * the body has HTTP_END_MS to end, in all, so that the connection can be kept; else
	 * it is HTTP_TIMEOUT. NULL: the body is collected in the response. */
	int (*on_data)(void *arg, const char *data, size_t size);
	/* Called on the loop's stack before each connection is opened, with the resolved
	 * address; -1 refuses it (HTTP_CONNECTION). Sees what a name, a number or a
	 * rebound DNS answer really became. Set, no proxy is used. NULL: all are fine. */
	int (*on_address)(void *arg, const struct sockaddr *address);
	void *arg;
};

enum http_failure {
	HTTP_OK,         /* a response came, whatever its status */
	HTTP_CONNECTION, /* refused, reset, cut short, TLS, name resolution */
	HTTP_TIMEOUT,
	HTTP_TOO_LARGE,
	HTTP_ABORTED,   /* on_data said so */
	HTTP_CANCELLED, /* the fiber was cancelled */
};

struct http_response {
	enum http_failure failure;
	const char *reason; /* of a failure, lent by the arena */
	long status;
	const char
	    *body; /* NUL-terminated, in the arena; "" with on_data and a 2xx status */
	size_t body_size;
	const char *content_type; /* in the arena, or NULL */
	const char *location; /* where a redirect points, absolute, in the arena; or NULL:
				 redirects are not followed */
	const char *header;   /* of that name, in the arena; or NULL */
	int64_t retry_after_ms; /* from Retry-After (seconds or date) or retry-after-ms; 0
				   none */
};

/* Sends request (http and https only) and waits for the response, on a fiber. */
void http_send(struct http *http, struct arena *arena, const struct http_request *request,
    struct http_response *response_r);

#endif
