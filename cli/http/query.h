/* query: the parameters of a request, as they stand behind its path. Pure. */
#ifndef QUERY_H
#define QUERY_H

struct arena;

/* The value of name, decoded, in arena; "" of one without a value; several of one name with commas between. NULL: there is
 * none. query: "a=b&c", or NULL. */
const char *query_find(struct arena *arena, const char *query, const char *name);

#endif
