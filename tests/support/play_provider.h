/* play_provider: a scripted-server (scripted_server.h) beside a fleet, in the place of OpenAI and
 * Anthropic. */
#ifndef PLAY_PROVIDER_H
#define PLAY_PROVIDER_H

#include "arena.h"
#include "children.h"
#include "fleet_kit.h"

/* Returns the new server, to be stopped behind the kit. It plays script (JSON) or, with NULL, what it is
 * given later. *url_r: "http://127.0.0.1:PORT", in arena. */
struct child *play_provider(
    struct fleet_kit *kit, struct arena *arena, const char *script, const char **url_r);

/* Model workers that are started from now on take url for OpenAI's, with that key. */
void play_openai(
    struct fleet_kit *kit, struct arena *arena, const char *url, const char *key);
/* Likewise for Anthropic's. */
void play_anthropic(
    struct fleet_kit *kit, struct arena *arena, const char *url, const char *key);

#endif
