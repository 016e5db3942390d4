/* gathered: acknowledgements that wait for others, by peer (proto/acks.h). */
#ifndef GATHERED_H
#define GATHERED_H

#include "wire.h"

struct gathered;

/* Returns new. send(arg, peer, header) is called for what goes out; it must not come back in. */
struct gathered *gathered_new(
    void (*send)(void *arg, uint64_t peer, const struct header *header), void *arg);

/* Takes *gathered_p; what is in it is lost. */
void gathered_destroy(struct gathered **gathered_p);

/* Keeps header until gathered_send. Returns false for all but acknowledgements. */
bool gathered_keep(struct gathered *gathered, uint64_t peer, const struct header *header,
    uint64_t now_ms);

/* Before header goes to peer: sends what must be heard before it, and what has waited for
 * ACK_RIPE_MS: beside another message it costs the peer no wake-up. */
void gathered_before(struct gathered *gathered, uint64_t peer,
    const struct header *header, uint64_t now_ms);

/* Sends all. */
void gathered_send(struct gathered *gathered);

#endif
