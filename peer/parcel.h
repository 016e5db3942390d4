/* parcel: a RESULT's body, packed once and shared by each time it is sent. */
#ifndef PARCEL_H
#define PARCEL_H

#include "fault.h"
#include "socket.h"

struct parcel;

/* Returns new. A body that is too large is replaced by a fault that says so, made in arena. */
struct parcel *parcel_new(struct arena *arena, const struct value *body);
void parcel_free(struct parcel *parcel);

/* Bytes of the body. */
size_t parcel_bytes(const struct parcel *parcel);

/* Appends a reference to its frame. */
void parcel_add(struct parcel *parcel, struct parts *parts);

/* Returns the body that says fault. */
const struct value *parcel_failed(struct arena *arena, const struct fault *fault);

#endif
