/* uncertain: what becomes of a call that must not run twice and whose fate nobody knows: the
 * `uncertain` of a tool's definition (bodies.h). */
#ifndef UNCERTAIN_H
#define UNCERTAIN_H

#include <stdbool.h>

#include "value.h"

enum uncertain {
	UNCERTAIN_TELL_MODEL, /* an error message says that it may have happened */
	UNCERTAIN_INTERRUPT,  /* the run pauses and asks */
	UNCERTAIN_REPEAT,     /* it is sent again, with the same idempotency key */
};

/* Returns whether text is the name of one. uncertain_r may be NULL. */
bool uncertain_parse(const char *text, enum uncertain *uncertain_r);
const char *uncertain_name(enum uncertain uncertain);

/* The policy of a tool's definition; UNCERTAIN_TELL_MODEL when it names none that is known. */
enum uncertain uncertain_of(const struct value *definition);

#endif
