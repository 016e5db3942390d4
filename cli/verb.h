/* verb: the words behind a command that has several, `flotilla agents WORD`. */
#ifndef VERB_H
#define VERB_H

#include <stddef.h>

/* Returns the place of word among verbs: count structs of size bytes, 16 at most, that begin with their names, const
 * char *. count: it is none of them, which the user has been told, with what there is. */
size_t verb_find(
    const char *command, const char *word, const void *verbs, size_t count, size_t size);

#endif
