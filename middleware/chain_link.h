/* chain_link: what the runners of the two wrap chains share. For chain_*.c alone. */
#ifndef CHAIN_LINK_H
#define CHAIN_LINK_H

#include <stdarg.h>

#include "chain.h"

/* The position of the next use from `from` on that has hook, or chain->count. */
size_t chain_next_use(const struct chain *chain, enum hook hook, size_t from);

/* Reports a hook that began at started_us to the chain's trace. */
void chain_trace_hook(const struct chain *chain, const struct middleware_use *use,
    enum hook hook, bool failed, uint64_t started_us);

/* A fault of a hook itself: "<use>.<hook> <reason>", of type, which no retry mends. */
struct fault *chain_hook_fault(struct arena *arena, const struct middleware_use *use,
    enum hook hook, const char *type, const char *reason);

/* Adds a line of use (or of the tool itself: NULL) to a call's notes; past NOTES_MAX they
 * are dropped. chain_notes_end: the notes as an array, NULL when there are none. */
void chain_note(struct value_list *notes, const struct middleware_use *use,
    const char *format, va_list args) __attribute__((format(printf, 3, 0)));
const struct value *chain_notes_end(struct value_list *notes);

/* Returns store(arg, op) inside of a call, which *control ends once it is set: NULL then, and when
 * the store was cancelled, which sets it. store NULL: a {fault}, this process does not reach it. */
const struct value *chain_ask_store(struct arena *arena,
    const struct value *(*store)(void *arg, const struct value *op), void *arg,
    const struct value *op, const struct fault **control);

/* Joins names (array of strings) with ", "; at most NAMES_SHOWN_MAX of them. */
const char *chain_join(struct arena *arena, const struct value *names);

#endif
