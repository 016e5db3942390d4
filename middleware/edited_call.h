/* edited_call: what a reviewer has put in the place of a model's tool call, where the call itself stays
 * as the model made it: the state field of human_in_the_loop that its wrap_tool_call reads, and that
 * says to the coordinator which tool will run. */
#ifndef EDITED_CALL_H
#define EDITED_CALL_H

#include "value.h"

#define EDITED_CALLS "hitl_edited_tool_calls"

/* Of the field's value, {call id: {name, args}}: what runs instead of the call of that id (or NULL), or
 * NULL: itself. */
static inline const struct value *
edited_call(const struct value *edits, const char *id)
{
	const struct value *edited = id != NULL ? value_get(edits, id) : NULL;

	return value_get_text(edited, "name") != NULL ? edited : NULL;
}

#endif
