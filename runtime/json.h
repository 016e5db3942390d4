/* json: the JSON edge: yajl's events to values and back. No other file includes yajl. */
#ifndef JSON_H
#define JSON_H

#include "value.h"

/* Parses exactly one JSON document. Depth is bounded (VALUE_DEPTH_MAX), a repeated key is
 * last wins, integers outside int64 become floats. Returns the value in arena, or NULL
 * with a reason in arena that names line and column. */
const struct value *json_parse(
    struct arena *arena, const char *text, size_t size, const char **error_r);

/* Returns value as compact JSON in arena (UTF-8, NUL-terminated). Characters stand for
 * themselves, but those that drive a terminal. NULL is null. Floats keep a ".0" when they are whole; NaN and infinities become null; binary
 * becomes a string with invalid bytes replaced. */
const char *json_text(struct arena *arena, const struct value *value);
/* The same as far as its first enough bytes; what follows is of no meaning, and there is little of it but where a single
 * string is long: so the time that this takes is bounded, whatever else the value holds. */
const char *json_beginning(struct arena *arena, const struct value *value, size_t enough);
/* The same as json_text, indented by two spaces. */
const char *json_pretty(struct arena *arena, const struct value *value);
/* Appends compact JSON. */
void json_write(struct packet *packet, const struct value *value);
/* Returns, in arena, what json_write puts there as it stands: text, lent. It is for nothing else; who packs
 * it gets nil. */
const struct value *json_written(struct arena *arena, const char *text, size_t size);

#endif
