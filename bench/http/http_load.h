/* http_load: runs by LangGraph's API, so many in flight: each is one POST of a question to a new thread's
 * runs/wait, whose answer is what the thread then holds. */
#ifndef HTTP_LOAD_H
#define HTTP_LOAD_H

#include <stddef.h>

#include "loop.h"

/* Asks the server at url ("http://127.0.0.1:8123") for so many runs of the assistant "bench", of which in_flight are
 * under way at any time. Writes how long each took to latencies_ms (room for runs, or NULL), and returns how
 * long all did, in seconds. A run that has not succeeded with exactly the messages it must have ends the program. */
double http_load_run(struct loop *loop, const char *url, size_t runs, size_t in_flight,
    double *latencies_ms);

#endif
