/* tenant_bench: beside a bench's fleet a `flotilla serve` with keys: of two tenants, and of none. */
#ifndef TENANT_BENCH_H
#define TENANT_BENCH_H

#include "serve_bench.h"

#define ACME "X-Api-Key: 0123456789abcdef-acme"
#define OTHER "X-Api-Key: 0123456789abcdef-other"
#define ADMIN "X-Api-Key: fedcba9876543210"

/* Starts it, behind serve_open; flags: more of them (NULL-ended), or NULL. */
void tenants_open(const char *const *flags);
void tenants_close(void);
const char *tenants_url(void);
/* What it has said on stderr. */
const char *tenants_said(void);

struct serve_answer tenants_ask(
    const char *key, const char *method, const char *path, const char *body);
/* Asks, requires that status, and returns the body's JSON. */
const struct value *tenants_get(
    const char *key, const char *method, const char *path, const char *body, long status);

#endif
