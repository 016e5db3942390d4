/* bare: what a chat request of so many bytes costs without a fleet: libcurl and the model server,
 * on a connection that is there. */
#ifndef BARE_H
#define BARE_H

#include <stddef.h>

struct bare;

/* Returns new, connected to the model server at port. */
struct bare *bare_new(unsigned port);

/* Takes *bare_p. */
void bare_destroy(struct bare **bare_p);

/* Sends one request of so many bytes, head and body, that the server answers with its last
 * text. Returns how long that took, in milliseconds: the middle one of several. */
double bare_ms(struct bare *bare, size_t bytes);

#endif
