/* shared_fields: the fields of a run's state that a child of its has as well (run_child.c). A field is shared when
 * both agents have one of that name, private in neither; but not what each has of its own: messages,
 * todos, structured_response, skills_metadata, memory_contents, summarization_event (semantics.md 6.20). A value that
 * the other's field of that name does not take stays where it is. Pure. */
#ifndef SHARED_FIELDS_H
#define SHARED_FIELDS_H

#include "state.h"

/* Returns those that are set in state, the parent's, copied: what a child begins with. */
const struct value *shared_fields(struct arena *arena, const struct spec *parent,
    const struct spec *child, const struct state *state);

/* Returns, of what is not shared, what a child begins with that goes on with its parent's conversation: todos, what skills
 * and memory have loaded, what stands in place of old messages; where both agents have such a field. */
const struct value *shared_with_fork(struct arena *arena, const struct spec *parent,
    const struct spec *child, const struct state *state);

/* Returns the update that makes of state, the same, what output, the child's, has become, or NULL: nothing.
 * It has what the child changed, and no more: of a merged map the keys, of a list that is appended to what is
 * behind, of a sum the difference; nothing of a field that only has the child's default. So children side by side, which all began with the whole, neither undo
 * each other's changes nor write what they have not touched. */
const struct value *shared_update(struct arena *arena, const struct spec *parent,
    const struct spec *child, const struct state *state, const struct value *output);

#endif
