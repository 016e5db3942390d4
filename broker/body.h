/* body: the body frames of one message, moved out of it. */
#ifndef BODY_H
#define BODY_H

#include "socket.h"

struct body;

/* Returns new: the frames of parts from that one on, moved; NULL when there are none. Their bytes with
 * what holds them go to bytes_r. */
struct body *body_take(struct parts *parts, unsigned from, size_t *bytes_r);
void body_free(struct body *body);

/* Appends references: the bytes are shared with what stays here. NULL has none. */
void parts_add_body(struct parts *parts, struct body *body);

#endif
