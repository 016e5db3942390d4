/* async_server: agents of async_subagent that work on another server, one that speaks LangGraph's API
 * (semantics.md 6.21). Each process has one list of servers that it may call, with their keys: a spec names a
 * server, and neither sends a key to another one nor reaches what is not listed. */
#ifndef ASYNC_SERVER_H
#define ASYNC_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "middleware.h"

struct http;

/* Lets tools call the servers of list ["url[,VARIABLE[:header]]"], NULL-ended: VARIABLE of the environment has
 * the key, sent as x-api-key or that header. What follows a comma may stand in an item of its own. Borrows http until
 * async_servers_close, list only now. Returns 0, or -1 with the item that is none, as it may be shown (without what may be a
 * password or a key; lent until the next call), and what is allowed; then nothing is open. */
int async_servers_open(struct http *http, const char *const *list, const char **item_r,
    const char **allowed_r);
void async_servers_close(void); /* after the last call has ended; safe to repeat */

/* What is wrong with `url` and `headers` of an entry of async_subagents, or NULL; *key_r is which. */
const char *async_server_flaw(const struct value *entry, const char **key_r);

/* True for an http or https URL without user, query and fragment. */
bool async_server_is_url(const char *text);
/* True for what HTTP allows as a header's name. */
bool async_server_is_token(const char *text, size_t size);

/* Does ask, as tool_children_ask, on the server of entry, whose `url` it is: {op: "start", text}, {op: "update", thread,
 * text}, {op: "check" or "cancel", thread, run}. Waits, on a fiber. Returns {run, thread, status}, of "check" {status,
 * content?}, or {fault}: it did not succeed. May be repeated: no attempt of a call begins a second run. */
const struct value *async_server_ask(
    struct tool_request *request, const struct value *entry, const struct value *ask);

#endif
