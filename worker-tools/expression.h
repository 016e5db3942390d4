/* expression: arithmetic as people write it, "2 * (3 + 4)^2".
 *
 * Whole numbers stay exact while they fit 64 bits, everything else has the 15 digits of a
 * double. Nothing but numbers can come out of it: no variables, no assignment, no loop.
 */
#ifndef EXPRESSION_H
#define EXPRESSION_H

#include "fault.h"

#define EXPRESSION_BYTES_MAX 2000u
#define EXPRESSION_DEPTH_MAX 100u /* of parentheses, signs and powers */

/* Returns the value of text, written out, or NULL with a fault that names the character;
 * both in arena. */
const char *expression_value(
    struct arena *arena, const char *text, const struct fault **fault_r);

#endif
