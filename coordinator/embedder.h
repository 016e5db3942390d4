/* embedder: texts to vectors by a model worker, for searches over long-term memory by meaning
 * (store/embed.h): what this process's own searches need, and those of others who ask through Redis. */
#ifndef EMBEDDER_H
#define EMBEDDER_H

#include "coordinator.h"

struct embedder;

/* Returns new, by the settings' model; NULL where there is none: then others are asked. */
struct embedder *embedder_new(struct coordinator *coordinator);

/* Takes no more, and gives back what is under way; the loop must run until its fibers have ended. */
void embedder_stop(struct embedder *embedder);
void embedder_destroy(struct embedder **embedder_p);

#endif
