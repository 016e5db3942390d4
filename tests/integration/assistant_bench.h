/* assistant_bench: assistants of an agent that says what its context has, made by HTTP (serve_bench.h). Bodies have ' for ". */
#ifndef ASSISTANT_BENCH_H
#define ASSISTANT_BENCH_H

#include <check.h>

#include "serve_bench.h"

/* Fixture: a fleet with the agent `teller`, and a server; serve_close ends it. */
void ab_open(void);
/* Applies it again. */
void ab_apply_teller(void);

/* Asks, requires that status, and returns the body's JSON. */
const struct value *ab_ask(
    const char *method, const char *path, const char *body, long status);
/* "/assistants/<id>", and the rest behind it. */
const char *ab_path(const char *id, const char *rest);

/* Makes one of `teller`, with keys in its body; returns its id. */
const char *ab_create(const char *keys);
/* Has a run of it at path, which waits, with more keys (", 'key': value"); returns what it said last. */
const char *ab_said(const char *path, const char *id, const char *keys);

/* Whether map has that text there. */
void ab_check(const struct value *map, const char *name, const char *text);

/* Adds the tests of test_serve_assistant_runs.c, which share the fleet. */
void ab_add_runs(TCase *tcase);

#endif
