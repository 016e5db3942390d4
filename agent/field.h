/* field: the rules of one state field: what fits it, how a write is folded into it.
 * struct field itself is in middleware.h. */
#ifndef FIELD_H
#define FIELD_H

#include "middleware.h"

/* Returns what is wrong with field's declaration, in arena, or NULL. *key_r is the part
 * that is wrong: "type", "reducer" or "default"; "" for the name. */
const char *field_flaw(
    struct arena *arena, const struct field *field, const char **key_r);

/* {"__overwrite__": value}, as LangGraph writes it: returns the value that takes the place of what is there, where
 * write is of that form and the field has a reducer; else NULL (semantics.md 2.2). */
const struct value *field_overwrite(const struct field *field, const struct value *write);

/* True when value may be written to the field: its type and what its reducer can fold, or what overwrites it. Nil fits
 * fields without reducer: the field is gone then. */
bool field_takes(const struct field *field, const struct value *value);

/* "a list": what field_takes asks for, for reasons. */
const char *field_takes_text(const struct field *field);

/* Returns what old (NULL: absent) becomes by write, which field_takes: in arena, sharing
 * both (what overwrites is as it is in write). NULL when the field is gone. A null in a merged map removes its key. */
const struct value *field_fold(struct arena *arena, const struct field *field,
    const struct value *old, const struct value *write);

/* True when folded, which old (or NULL) became, is within the field's bound, or not larger than old was. */
bool field_has_room(
    const struct field *field, const struct value *old, const struct value *folded);

/* False when folded, which old became by a write that overwrites nothing, is larger than the integer of 64 bits that the
 * field's type says: as a float it would not be exact. */
bool field_is_exact(
    const struct field *field, const struct value *old, const struct value *folded);

/* Fields that a commit stores. */
bool field_is_stored(const struct field *field);

/* The value of the default, in arena, or NULL. */
const struct value *field_default(struct arena *arena, const struct field *field);

/* The reducer of that name ("append", "add", "merge"), or REDUCE_LAST. */
enum reducer reducer_from_name(const char *name);

/* Their names, NULL-ended: for checks and "did you mean". */
const char *const *field_type_names(void);
const char *const *reducer_names(void);

#endif
