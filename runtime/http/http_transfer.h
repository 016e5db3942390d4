/* http_transfer: one request under way. Part of http. */
#ifndef HTTP_TRANSFER_H
#define HTTP_TRANSFER_H

#include "http_pool.h"

struct fiber;

/* It lives on the stack of its fiber. curl's callbacks fill it on the loop's stack, the
 * fiber takes from it. */
struct transfer {
	struct http *http;
	struct arena *arena;
	const struct http_request *request;
	struct http_response *response;
	struct fiber *fiber;
	const struct http_target *target;
	struct http_lane *lane; /* NULL: not in a lane, or no more */
	CURL *easy;
	struct curl_slist *headers, *resolved;
	char error[CURL_ERROR_SIZE];
	size_t head_bytes;  /* seen so far */
	struct packet body; /* all of it, or what on_data has not had */
	size_t body_bytes;  /* seen so far */
	size_t body_bytes_max;
	uint64_t started_ms;
	uint64_t heard_ms; /* the last piece of the body; 0 none */
	uint64_t sated_ms; /* when on_data had all it wants; 0 not yet */
	CURLcode code;     /* once it has ended */
	bool has_ended;
	bool has_head;     /* to its end */
	bool is_streaming; /* a 2xx body goes to on_data */
	bool is_paused;
	bool is_resting; /* has waited for long, and heard nothing since */
	bool was_sent;   /* at least in part */
	bool is_refused; /* by on_address */
};

/* Says in the response why there is none. */
void http_fail(struct transfer *transfer, enum http_failure failure, const char *reason);

/* Looks at the request and finds its host, on the fiber. Returns -1 when it failed. */
int http_prepare(struct transfer *transfer);

/* Tells the easy handle all about the request. */
void http_set_options(struct transfer *transfer);

/* Says why curl gave up, if it did. */
void http_take_failure(struct transfer *transfer);

/* Fills in the response; after the end, before the easy handle is used again. */
void http_take_answer(struct transfer *transfer);

#endif
