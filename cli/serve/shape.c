#include "shape.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "chat.h"
#include "json.h"

#define END "__end__"

const struct value *
shape_time(struct arena *arena, int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm parts;
	char text[32];

	if (ms <= 0 || gmtime_r(&seconds, &parts) == NULL)
		return value_nil();
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
	return value_printf(arena, "%s.%03dZ", text, (int)(ms % 1000));
}

/* --- messages and values ------------------------------------------------------------------ */

static const struct value *
with_default(struct arena *arena, const struct value *map, const char *key,
    const struct value *otherwise)
{
	return value_has(map, key) ? map : value_map_with(arena, map, key, otherwise);
}

const struct value *
shape_message(struct arena *arena, const struct value *message)
{
	const struct value *map = value_empty_map();

	message = with_default(arena, message, "additional_kwargs", map);
	message = with_default(arena, message, "response_metadata", map);
	if (chat_is(message, "ai")) {
		message = with_default(arena, message, "tool_calls", value_empty_array());
		message = with_default(
		    arena, message, "invalid_tool_calls", value_empty_array());
	}
	return message;
}

const struct value *
shape_messages(struct arena *arena, const struct value *messages)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		value_list_add(&list, shape_message(arena, value_at(messages, i)));
	return value_list_end(&list);
}

const struct value *
shape_fields(
    struct arena *arena, const struct value *fields, const struct shape_view *view)
{
	struct value_fields shown = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(fields); i++)
		if (value_contains(view->names, value_text(fields->pairs[i].key)) ==
		    view->has_shown)
			value_fields_put(
			    &shown, fields->pairs[i].key, fields->pairs[i].value);
	return value_fields_end(&shown);
}

const struct value *
shape_values(struct arena *arena, const struct value *messages,
    const struct value *fields, const struct shape_view *view)
{
	struct value_fields values = { .arena = arena };

	value_fields_set(&values, "messages", shape_messages(arena, messages));
	value_fields_put_all(&values, shape_fields(arena, fields, view));
	return value_fields_end(&values);
}

const struct value *
shape_update(
    struct arena *arena, const struct value *messages, const struct value *fields)
{
	struct value_fields update = { .arena = arena };

	if (value_size(messages) > 0)
		value_fields_set(&update, "messages", shape_messages(arena, messages));
	value_fields_put_all(&update, fields);
	return value_fields_end(&update);
}

const struct value *
shape_interrupts(struct arena *arena, const struct value *asks)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(asks); i++)
		value_list_add(
		    &list, value_map(arena, "id", value_get(value_at(asks, i), "id"),
			       "value", value_get(value_at(asks, i), "value"), NULL));
	return value_list_end(&list);
}

/* --- runs --------------------------------------------------------------------------------- */

const char *
shape_run_status(const struct value *record)
{
	static const struct {
		const char *ours, *theirs;
	} words[] = { { "queued", "pending" }, { "delayed", "pending" },
		{ "cancelled", "interrupted" }, { "refused", "error" } };
	const char *status = value_get_text(record, "status");
	size_t i;

	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (status != NULL && strcmp(status, words[i].ours) == 0)
			return words[i].theirs;
	if (value_text_is(value_get(value_get(record, "fault"), "type"), "TimeoutError"))
		return "timeout";
	return status != NULL ? status : "pending";
}

bool
shape_run_is_gone(const struct value *record)
{
	return value_get_int(record, "rolled_back", 0) != 0 &&
	       value_get_int(record, "ended", 0) != 0;
}

static int64_t
last_time(const struct value *record)
{
	return value_get_int(record, "ended",
	    value_get_int(record, "started", value_get_int(record, "created", 0)));
}

static const struct value *
or_empty(const struct value *map)
{
	return value_is(map, VALUE_MAP) ? map : value_empty_map();
}

const struct value *
shape_assistant_id(const struct value *record)
{
	const struct value *id = value_get(record, "assistant");

	return value_is(id, VALUE_STR) ? id : value_get(record, "agent");
}

const struct value *
shape_run(struct arena *arena, const struct value *record)
{
	const struct value *strategy = value_get(record, "multitask");

	return value_map(arena, "run_id", value_get(record, "run"), "thread_id",
	    value_get(record, "thread"), "assistant_id", shape_assistant_id(record),
	    "created_at", shape_time(arena, value_get_int(record, "created", 0)),
	    "updated_at", shape_time(arena, last_time(record)), "status",
	    value_str(arena, shape_run_status(record)), "metadata",
	    or_empty(value_get(record, "metadata")), "kwargs", value_empty_map(),
	    "multitask_strategy",
	    strategy != NULL ? strategy : value_str(arena, "enqueue"), NULL);
}

/* --- threads ------------------------------------------------------------------------------ */

static bool
has_text(const struct value *map, const char *key)
{
	const char *text = value_get_text(map, key);

	return text != NULL && *text != '\0';
}

const char *
shape_thread_status(const struct value *thread)
{
	const struct value *status = value_get(value_get(thread, "head"), "status");

	if (has_text(thread, "run") || value_size(value_get(thread, "queue")) > 0)
		return "busy";
	if (value_text_is(status, "interrupted"))
		return "interrupted";
	return value_text_is(status, "error") ? "error" : "idle";
}

/* What is kept with the thread, and which agent, and assistant, it was last. */
static const struct value *
metadata_of(struct arena *arena, const struct value *thread)
{
	const struct value *metadata = or_empty(value_get(thread, "metadata"));
	const struct value *head = value_get(thread, "head");
	const struct value *agent = value_get(head, "agent");

	if (!value_is(agent, VALUE_STR))
		return metadata;
	metadata = value_map_with(arena, metadata, "graph_id", agent);
	return value_map_with(arena, metadata, "assistant_id", shape_assistant_id(head));
}

static const struct value *
task_id(struct arena *arena, const struct value *thread)
{
	return value_printf(arena, "%s:%" PRId64, value_get_text(thread, "thread"),
	    value_get_int(thread, "version", 0));
}

/* By the tasks that ask: here it is one. */
static const struct value *
interrupts_of(
    struct arena *arena, const struct value *thread, const struct value *interrupts)
{
	return value_size(interrupts) == 0
		   ? value_empty_map()
		   : value_map(
			 arena, value_text(task_id(arena, thread)), interrupts, NULL);
}

const struct value *
shape_thread(struct arena *arena, const struct value *thread, const struct value *last,
    const struct value *values)
{
	int64_t created = value_get_int(thread, "created", 0);
	const struct value *asks = value_get(thread, "asks");
	const struct value *updated =
	    shape_time(arena, value_get_int(last, "at", created));

	return value_map(arena, "thread_id", value_get(thread, "thread"), "created_at",
	    shape_time(arena, created), "updated_at", updated, "state_updated_at",
	    updated, "metadata", metadata_of(arena, thread), "status",
	    value_str(arena, shape_thread_status(thread)), "config", value_empty_map(),
	    "values", values != NULL ? values : value_nil(), "interrupts",
	    interrupts_of(arena, thread, shape_interrupts(arena, asks)), NULL);
}

/* --- states ------------------------------------------------------------------------------- */

const struct value *
shape_checkpoint(struct arena *arena, const char *thread, int64_t version)
{
	return value_map(arena, "thread_id", value_str(arena, thread), "checkpoint_ns",
	    value_str(arena, ""), "checkpoint_id",
	    value_printf(arena, "%" PRId64, version), "checkpoint_map", value_nil(),
	    NULL);
}

const struct value *
shape_error(struct arena *arena, const struct value *fault)
{
	if (!value_is(fault, VALUE_MAP))
		return value_nil();
	return value_str(arena,
	    json_text(arena, value_map(arena, "message", value_get(fault, "message"),
				 "name", value_get(fault, "type"), NULL)));
}

/* The node that is next, which asks what stands in interrupts. */
static const struct value *
task_of(struct arena *arena, const struct value *thread, const char *node,
    const struct value *interrupts)
{
	const struct value *path = value_array_add(
	    arena, value_empty_array(), value_str(arena, "__pregel_pull"));

	return value_map(arena, "id", task_id(arena, thread), "name",
	    value_str(arena, node), "path",
	    value_array_add(arena, path, value_str(arena, node)), "error",
	    shape_error(arena, value_get(thread, "fault")), "interrupts", interrupts,
	    "checkpoint", value_nil(), "state", value_nil(), "result", value_nil(), NULL);
}

/* What the run says of itself, and over that what is known of the state. */
static const struct value *
describe(struct arena *arena, const struct value *thread, const struct value *checkpoint)
{
	const struct value *head = value_get(thread, "head");

	return value_map_merge(arena, or_empty(value_get(thread, "run_metadata")),
	    value_map(arena, "source", value_get(checkpoint, "source"), "step",
		value_get(checkpoint, "step"), "parents", value_empty_map(), "thread_id",
		value_get(thread, "thread"), "run_id", value_get(checkpoint, "run"),
		"graph_id", value_get(head, "agent"), "assistant_id",
		shape_assistant_id(head), NULL));
}

static const struct value *
list_of(struct arena *arena, const struct value *item)
{
	return value_array_add(arena, value_empty_array(), item);
}

/* The id of a state's checkpoint, of that name; nil where it has none. */
static const struct value *
id_of(const struct value *state, const char *checkpoint)
{
	const struct value *id = value_get(value_get(state, checkpoint), "checkpoint_id");

	return id != NULL ? id : value_nil();
}

/* A state with the ids of its checkpoints beside them: LangGraph calls that deprecated, and its pages read them there. */
static const struct value *
with_ids(struct arena *arena, const struct value *state)
{
	return value_map_merge(arena, state,
	    value_map(arena, "checkpoint_id", id_of(state, "checkpoint"),
		"parent_checkpoint_id", id_of(state, "parent_checkpoint"), NULL));
}

const struct value *
shape_state(struct arena *arena, const struct value *thread,
    const struct value *checkpoint, const struct value *values, const struct value *asks)
{
	const char *name = value_get_text(thread, "thread");
	const char *node = value_get_text(value_get(thread, "head"), "next");
	const struct value *next = value_empty_array(), *tasks = next, *interrupts = next;

	if (node != NULL && strcmp(node, END) != 0) {
		next = list_of(arena, value_str(arena, node));
		interrupts = shape_interrupts(arena, asks);
		tasks = list_of(arena, task_of(arena, thread, node, interrupts));
	}
	return with_ids(arena,
	    value_map(arena, "values", values, "next", next, "tasks", tasks, "interrupts",
		interrupts, "metadata", describe(arena, thread, checkpoint), "created_at",
		shape_time(arena, value_get_int(checkpoint, "at", 0)), "checkpoint",
		shape_checkpoint(arena, name, value_get_int(checkpoint, "version", 0)),
		"parent_checkpoint",
		shape_checkpoint(arena, name, value_get_int(checkpoint, "parent", 0)),
		NULL));
}

const struct value *
shape_first_state(
    struct arena *arena, const struct value *thread, const struct value *values)
{
	const struct value *metadata = value_map(arena, "source",
	    value_str(arena, "input"), "step", value_int(arena, -1), "parents",
	    value_empty_map(), "thread_id", value_get(thread, "thread"), NULL);

	return with_ids(arena,
	    value_map(arena, "values", values, "next",
		list_of(arena, value_str(arena, "__start__")), "tasks",
		value_empty_array(), "interrupts", value_empty_array(), "metadata",
		metadata, "created_at",
		shape_time(arena, value_get_int(thread, "created", 0)), "checkpoint",
		shape_checkpoint(arena, value_get_text(thread, "thread"), 0),
		"parent_checkpoint", value_nil(), NULL));
}

const struct value *
shape_no_state(struct arena *arena)
{
	return with_ids(arena,
	    value_map(arena, "values", value_empty_map(), "next", value_empty_array(),
		"tasks", value_empty_array(), "interrupts", value_empty_array(),
		"metadata", value_empty_map(), "created_at", value_nil(), "checkpoint",
		value_nil(), "parent_checkpoint", value_nil(), NULL));
}

/* --- assistants --------------------------------------------------------------------------- */

const struct value *
shape_assistant(struct arena *arena, const char *name, const char *version,
    const struct value *source, const struct value *log)
{
	size_t count = value_size(log);
	int64_t first = value_get_int(value_at(log, 0), "at", 0);
	int64_t last = value_get_int(value_at(log, count - 1), "at", 0);
	const struct value *text = value_get(source, "description");

	return value_map(arena, "assistant_id", value_str(arena, name), "graph_id",
	    value_str(arena, name), "name", value_str(arena, name), "description",
	    value_is(text, VALUE_STR) ? text : value_nil(), "version",
	    value_int(arena, count > 0 ? (int64_t)count : 1), "created_at",
	    shape_time(arena, first > 0 ? first : 1), "updated_at",
	    shape_time(arena, last > 0 ? last : 1), "config", value_empty_map(),
	    "context", value_empty_map(), "metadata",
	    value_map(arena, "created_by", value_str(arena, "system"), "model",
		value_get(source, "model"), "version", value_str(arena, version), NULL),
	    NULL);
}

const struct value *
shape_told(const struct value *event)
{
	const struct value *value = value_get(event, "value");

	if (!value_text_is(value_get(event, "kind"), "custom"))
		return event;
	return value != NULL ? value : value_nil();
}
