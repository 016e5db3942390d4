/* http_load: runs by LangGraph's API, so many in flight: each is one POST of a question to a new thread's
 * runs/wait, whose answer is what the thread then holds, or its runs/stream, which brings the model's words as they come. */
#ifndef HTTP_LOAD_H
#define HTTP_LOAD_H

#include <stddef.h>

#include "loop.h"

#define HTTP_LOAD_TOKEN_BYTES 5u /* of a token, as in the scenarios */

struct http_load_kind {
	const char *url; /* "http://127.0.0.1:8123" */
	size_t in_flight;
	size_t
	    tokens; /* that each of the model's texts is streamed in, by runs/stream; 0: by runs/wait */
};

/* Asks for so many runs of the assistant "bench", of which kind's in_flight are under way at any time. Writes how long
 * each took to latencies_ms (room for runs, or NULL), and returns how long all did, in seconds. A run that has not
 * succeeded with exactly the messages it must have, or has not brought all its text, ends the program. */
double http_load_run(struct loop *loop, const struct http_load_kind *kind, size_t runs,
    double *latencies_ms);

#endif
