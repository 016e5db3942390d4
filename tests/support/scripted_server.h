/* scripted_server: an HTTP server that plays a script, for tests, as OpenAI's and as Anthropic's
 * would.
 *
 * Paths:
 *   POST .../chat/completions  plays the next reply of the request's model; plain, or as
 *                              server-sent events when the request says stream
 *   POST .../responses         the same in the words of OpenAI's Responses API
 *   POST .../v1/messages       the same in Anthropic's words
 *   POST .../model/M/converse, .../converse-stream
 *                              the same in Bedrock's, of model M; who has not signed, with the keys of
 *                              scripted_bedrock.h, and brings no token, is refused
 *   PUT /script                {model: [reply]} (scripted_reply.h): from now on this,
 * from the beginning GET /requests              [{path, authorization, body, x-api-key? ...}], every chat
 * request so far in order of arrival; body is its JSON DELETE /requests           forgets
 * them A model that the script does not have, and a request behind its last reply, get a
 * 400 that says so. The base URL for a model worker is "http://127.0.0.1:<port>/v1".
 *
 * tests/servers/scripted_server.c is the program. */
#ifndef SCRIPTED_SERVER_H
#define SCRIPTED_SERVER_H

#include <stdint.h>

#include "value.h"

struct event_base;
struct scripted_server;

/* Returns a new server on 127.0.0.1:port (0: any), served by whoever runs base, or NULL
 * when the port is taken. Keeps base. */
struct scripted_server *scripted_server_new(struct event_base *base, uint16_t port);

/* Takes *server_p; NULL is fine. */
void scripted_server_destroy(struct scripted_server **server_p);

uint16_t scripted_server_port(const struct scripted_server *server);

/* Replaces the script: JSON text. Returns 0, or -1 with a reason in arena. */
int scripted_server_load(struct scripted_server *server, struct arena *arena,
    const char *text, size_t size, const char **error_r);

#endif
