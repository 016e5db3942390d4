/* http_trial: the HTTP client against a server in a thread. */
#ifndef HTTP_TRIAL_H
#define HTTP_TRIAL_H

#include <stdbool.h>

#include "http.h"
#include "tiny_http.h"

#define HTTP_TRIAL_OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

/* The one of a test's process. */
extern struct http_trial {
	struct loop *loop;
	struct http *http;
	struct tiny_http *server;
	struct arena *arena;
	struct http_response response; /* of the last request */
	char url[64];                  /* of the server */
} http_trial;

void http_trial_open(void);
void http_trial_close(void);

/* Sends arg, a struct http_request; what a fiber does. */
void http_trial_send(void *arg);

/* Runs until all fibers have ended. */
void http_trial_run(void);

/* Runs until is_so, which the server's thread brings about. */
void http_trial_run_until(bool (*is_so)(void *arg));

/* Sends request, GET to the server unless it says else, and waits for the response. */
void http_trial_ask(struct http_request *request);

/* The server's next answer is this. */
void http_trial_answer(const char *bytes, enum tiny_end end);

/* The last request failed like this, for a reason with these words. */
void http_trial_check_failure(enum http_failure failure, const char *reason);

#endif
