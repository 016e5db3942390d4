/* webhook: the service `webhook`: posts what became of a run to the URL that its submission
 * named. docs/runs.md says it to those who receive it, docs/protocol.md to those who call. */
#ifndef WEBHOOK_H
#define WEBHOOK_H

#include "http.h"
#include "worker.h"

struct webhook {
	struct http *http;
	bool any;           /* also to addresses that are not public */
	const char *secret; /* what is sent is signed with it; or NULL */
};

/* What --webhooks says: "off", "public" or "any". Returns false when text is none of them. */
bool webhook_is_setting(const char *text);

/* Posts what call asks for, on a fiber. Returns the RESULT's body, in call's arena. */
const struct value *webhook_answer(
    const struct webhook *webhook, struct worker_call *call);

/* "t=<seconds>,v1=<hex>": the HMAC-SHA-256 of "<seconds>.<body>" under secret. */
const char *webhook_signature(struct arena *arena, const char *secret, int64_t seconds,
    const char *body, size_t size);

#endif
