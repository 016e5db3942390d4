/* ids: UUIDs, which is what clients of LangGraph's API take an id to be (RFC 9562). */
#ifndef IDS_H
#define IDS_H

#include "arena.h"

/* A fresh one, of version 7: they sort by their time. In arena. */
const char *ids_new(struct arena *arena);

/* Of version 8: all but its version and variant are the first 16 bytes of hash. In arena. */
const char *ids_made(struct arena *arena, const unsigned char hash[16]);

#endif
