#include "command_body.h"

#include <inttypes.h>
#include <string.h>

#include "graph.h"

/* What to write, as a map: clients of JavaScript may have it as pairs. NULL: it is neither. */
static const struct value *
read_update(struct arena *arena, const struct value *update)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	if (value_is_nil(update))
		return value_empty_map();
	if (!value_is(update, VALUE_ARRAY))
		return value_is(update, VALUE_MAP) ? update : NULL;
	for (i = 0; i < update->size; i++) {
		const struct value *pair = value_at(update, i);
		const char *name = value_text(value_at(pair, 0));

		if (name == NULL || value_size(pair) != 2)
			return NULL;
		value_fields_set(&fields, name, value_at(pair, 1));
	}
	return fields.count == update->size ? value_fields_end(&fields) : NULL;
}

/* The one node that is named, or NULL. Returns what is wrong, or NULL. */
static const char *
read_goto(struct arena *arena, const struct value *given, const char **node_r)
{
	const struct value *one = value_array(arena, &given, 1);
	const struct value *list = value_is(given, VALUE_ARRAY) ? given : one;
	size_t i;

	*node_r = NULL;
	for (i = 0; !value_is_nil(given) && i < value_size(list); i++) {
		const char *name = value_text(value_at(list, i));

		if (value_is(value_at(list, i), VALUE_MAP))
			return "command.goto: a node has the thread's state, and no "
			       "input of its own as by Send: name the node, and give "
			       "what it is to have as update";
		if (name == NULL || *name == '\0')
			return "command.goto: must be the name of a node";
		if (*node_r != NULL && strcmp(*node_r, name) != 0)
			return "command.goto: one node runs at a time, not several";
		*node_r = name;
	}
	return NULL;
}

/* Where the thread stands in front of a node, that would run beside another one. */
static const char *
check_place(struct arena *arena, const struct run_place *place, const char *node,
    int64_t checkpoint)
{
	if (node == NULL || place->next == NULL || strcmp(place->next, node) == 0 ||
	    (checkpoint >= 0 && checkpoint != place->version))
		return NULL;
	return arena_printf(arena,
	    "command.goto: the thread stands in front of '%s', and one node runs at a "
	    "time, so not '%s' as well; POST /threads/{id}/state as a node that leads "
	    "there, or as __end__, first",
	    place->next, node);
}

/* Clients say where they saw the question, which must be where the thread waits. What asks nothing may begin elsewhere. */
static const char *
check_answer(const struct run_place *place, int64_t checkpoint)
{
	return checkpoint < 0 || checkpoint == place->version
		   ? NULL
		   : "checkpoint: an answer is for where the thread is now, which is "
		     "another one; read its state again";
}

const char *
command_body_read(struct arena *arena, const struct value *command,
    const struct run_place *place, int64_t checkpoint, struct command_body *body_r)
{
	const struct value *update = read_update(arena, value_get(command, "update"));
	const struct value *resume = value_get(command, "resume");
	const char *node, *wrong = read_goto(arena, value_get(command, "goto"), &node);
	bool moves = node != NULL || value_size(update) > 0;

	*body_r = (struct command_body){ 0 };
	if (wrong != NULL)
		return wrong;
	if (update == NULL)
		return "command.update: must be a map of the state's fields";
	if (!value_is_nil(value_get(command, "graph")))
		return "command.graph: there is no graph beside the agent's";
	if (!value_is(command, VALUE_MAP) || (!moves && !value_has(command, "resume")))
		return "command: must have resume, goto or update";
	if (moves && value_is_nil(resume))
		resume = NULL;
	if (node != NULL && strcmp(node, GRAPH_END) == 0) {
		body_r->ends = update;
		return resume == NULL ? NULL
				      : "command.goto: behind an answer the thread goes "
					"on where it stands, and not to the end";
	}
	wrong = resume != NULL ? check_answer(place, checkpoint) : NULL;
	if (moves && wrong == NULL)
		wrong = check_place(arena, place, node, checkpoint);
	if (moves)
		body_r->moves = value_map(arena, "goto",
		    node != NULL ? value_str(arena, node) : NULL, "update",
		    value_size(update) > 0 ? update : NULL, "resume", resume, NULL);
	else
		body_r->resume = resume;
	return wrong;
}
