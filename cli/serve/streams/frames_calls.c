/* A run as LangChain's callbacks tell of it, in the form of astream_events (version 2): the graph, its nodes, and the models and tools
 * within them, each as it begins and as it ends. What ends has the run_id with which it began. */
#include <inttypes.h>
#include <string.h>

#include "chat.h"
#include "frames_private.h"
#include "json.h"
#include "shape.h"

#define MODEL_NAME "ChatModel"

/* Who tells, and what it is called. */
struct teller {
	const char *name, *id;
	const char *node; /* the run_id of the node around it, or NULL: none is */
	int64_t step;     /* of a node; 0: it is none */
};

static const struct value *
one(struct arena *arena, const struct value *item)
{
	return value_array_add(arena, value_empty_array(), item);
}

/* Adds what the teller tells by data, a map. */
static void
tell(struct frames *frames, struct arena *arena, const struct teller *teller,
    const char *kind, const struct value *metadata, const struct value *data)
{
	const struct value *parents = value_empty_array(), *tags = parents;

	if (strcmp(teller->id, frames->run.run) != 0)
		parents = one(arena, value_str(arena, frames->run.run));
	if (teller->node != NULL)
		parents = value_array_add(arena, parents, value_str(arena, teller->node));
	if (teller->step > 0)
		tags =
		    one(arena, value_printf(arena, "graph:step:%" PRId64, teller->step));
	frames_add(frames, "events",
	    value_map(arena, "event", value_str(arena, kind), "name",
		value_str(arena, teller->name), "run_id", value_str(arena, teller->id),
		"parent_ids", parents, "tags", tags, "metadata", metadata, "data", data,
		NULL));
}

static const char *
node_id(struct frames *frames, struct arena *arena, int64_t step)
{
	return arena_printf(arena, "%s:%" PRId64, frames->run.run, step);
}

static struct teller
node_teller(struct frames *frames, struct arena *arena, const char *node, int64_t step)
{
	return (struct teller){ node, node_id(frames, arena, step), NULL, step };
}

static struct teller
model_teller(struct frames *frames, struct arena *arena, int64_t step)
{
	const char *node = node_id(frames, arena, step);

	return (
	    struct teller){ MODEL_NAME, arena_printf(arena, "%s:model", node), node, 0 };
}

static struct teller
tool_teller(struct frames *frames, struct arena *arena, int64_t step, const char *name,
    const char *call)
{
	const char *node = node_id(frames, arena, step);

	return (struct teller){ name, arena_printf(arena, "%s:%s", node, call), node, 0 };
}

/* --- the graph ---------------------------------------------------------------------------- */

void
frames_graph(
    struct frames *frames, struct arena *arena, bool ends, const struct value *value)
{
	const struct teller graph = { frames->run.agent, frames->run.run, NULL, 0 };

	if (frames_shows(frames, MODE_EVENTS))
		tell(frames, arena, &graph, ends ? "on_chain_end" : "on_chain_start",
		    frames_about(frames, arena, NULL, 0, NULL),
		    value_map(arena, ends ? "output" : "input", value, NULL));
}

/* --- tools -------------------------------------------------------------------------------- */

/* Whether one of the messages from that one on answers the call. */
static bool
is_answered(const struct value *messages, size_t from, const char *call)
{
	for (; from < value_size(messages); from++)
		if (value_text_is(
			value_get(value_at(messages, from), "tool_call_id"), call))
			return true;
	return false;
}

static void
begin_tool(struct frames *frames, struct arena *arena, const struct value *item,
    const struct value *call)
{
	const char *id = value_get_text(call, "id"), *name = value_get_text(call, "name");
	const struct value *args = value_get(call, "args");
	int64_t step = value_get_int(item, "step", 0);
	struct teller tool = tool_teller(frames, arena, step, name, id);

	if (frames_shows(frames, MODE_EVENTS))
		tell(frames, arena, &tool, "on_tool_start",
		    frames_about(frames, arena, "tools", step, NULL),
		    value_map(arena, "input", args, NULL));
	if (frames_shows(frames, MODE_TOOLS))
		frames_add(frames, "tools",
		    value_map(arena, "event", value_str(arena, "on_tool_start"),
			"toolCallId", value_str(arena, id), "name",
			value_str(arena, name), "input",
			value_str(arena, json_text(arena, args)), NULL));
}

/* Those that the model has called last, and nobody has answered. What they are given is kept for their end. */
static void
begin_tools(struct frames *frames, struct arena *arena, const struct value *item,
    const struct value *messages)
{
	struct value_fields args = { .arena = arena };
	size_t at = value_size(messages), i;
	const struct value *calls;

	while (at > 0 && !chat_is(value_at(messages, at - 1), "ai"))
		at--;
	calls =
	    at > 0 ? value_get(value_at(messages, at - 1), "tool_calls") : value_nil();
	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);
		const char *id = value_get_text(call, "id");

		if (id == NULL || value_get_text(call, "name") == NULL ||
		    is_answered(messages, at, id))
			continue;
		begin_tool(frames, arena, item, call);
		value_fields_set(&args, id, value_get(call, "args"));
	}
	arena_destroy(&frames->round);
	frames->round = arena_new();
	frames->args = value_copy(frames->round, value_fields_end(&args));
}

static void
end_tool(struct frames *frames, struct arena *arena, int64_t step,
    const struct value *message, const struct value *metadata)
{
	const char *id = value_get_text(message, "tool_call_id");
	const char *name = value_get_text(message, "name");
	bool fails = value_text_is(value_get(message, "status"), "error");
	const char *kind = fails ? "on_tool_error" : "on_tool_end";
	struct teller tool;

	if (id == NULL)
		return;
	name = name != NULL ? name : "";
	tool = tool_teller(frames, arena, step, name, id);
	message = fails ? chat_said(arena, message) : shape_message(arena, message);
	if (frames_shows(frames, MODE_EVENTS))
		tell(frames, arena, &tool, kind, metadata,
		    value_map(arena, fails ? "error" : "output", message, "input",
			value_get(frames->args, id), NULL));
	if (frames_shows(frames, MODE_TOOLS))
		frames_add(frames, "tools",
		    value_map(arena, "event", value_str(arena, kind), "toolCallId",
			value_str(arena, id), "name", value_str(arena, name),
			fails ? "error" : "output", message, NULL));
}

/* --- nodes, and what is within ------------------------------------------------------------- */

static void
begin_node(struct frames *frames, struct arena *arena, const struct value *item,
    const char *node, const struct value *input)
{
	int64_t step = value_get_int(item, "step", 0);
	struct teller teller = node_teller(frames, arena, node, step);
	const struct value *metadata = frames_about(frames, arena, node, step, NULL);
	const struct value *messages = value_get(input, "messages"), *batch;

	if (frames_shows(frames, MODE_EVENTS))
		tell(frames, arena, &teller, "on_chain_start", metadata,
		    value_map(arena, "input", input, NULL));
	if (strcmp(node, "tools") == 0)
		begin_tools(frames, arena, item, messages);
	if (strcmp(node, "model") != 0 || !frames_shows(frames, MODE_EVENTS))
		return;
	teller = model_teller(frames, arena, step);
	batch = one(arena, messages != NULL ? messages : value_empty_array());
	tell(frames, arena, &teller, "on_chat_model_start", metadata,
	    value_map(arena, "input", value_map(arena, "messages", batch, NULL), NULL));
}

void
frames_call_task(struct frames *frames, struct arena *arena, const struct value *item)
{
	const struct value *payload = value_get(item, "payload");
	const char *node = value_get_text(payload, "name");
	int64_t step = value_get_int(item, "step", 0);
	struct teller teller = node_teller(frames, arena, node, step);

	if (value_text_is(value_get(item, "type"), "task"))
		begin_node(frames, arena, item, node, value_get(payload, "input"));
	else if (frames_shows(frames, MODE_EVENTS) &&
		 value_is_nil(value_get(payload, "error")) &&
		 value_size(value_get(payload, "interrupts")) == 0)
		tell(frames, arena, &teller, "on_chain_end",
		    frames_about(frames, arena, node, step, NULL),
		    value_map(arena, "output", value_get(payload, "result"), NULL));
}

void
frames_call_piece(struct frames *frames, struct arena *arena, int64_t step,
    const struct value *piece, const struct value *metadata)
{
	struct teller model = model_teller(frames, arena, step);

	if (frames_shows(frames, MODE_EVENTS))
		tell(frames, arena, &model, "on_chat_model_stream", metadata,
		    value_map(arena, "chunk", piece, NULL));
}

void
frames_call_message(struct frames *frames, struct arena *arena, const struct value *event,
    const struct value *message, const struct value *metadata)
{
	int64_t step = value_get_int(event, "step", 0);
	const struct value *node = value_get(event, "node");
	struct teller model;

	if (value_text_is(node, "tools") && chat_is(message, "tool"))
		end_tool(frames, arena, step, message, metadata);
	if (!value_text_is(node, "model") || !chat_is(message, "ai") ||
	    !frames_shows(frames, MODE_EVENTS))
		return;
	model = model_teller(frames, arena, step);
	tell(frames, arena, &model, "on_chat_model_end", metadata,
	    value_map(arena, "output", shape_message(arena, message), NULL));
}
