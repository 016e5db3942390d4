#include "run_body.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assistant_body.h"
#include "bounds.h"
#include "command_body.h"
#include "graph.h"
#include "json.h"
#include "nul.h"
#include "run_options.h"

#define STATELESS_TTL_MS "3600000" /* should nobody be there to delete it: an hour */
#define MINUTE_MS 60000.0

static const struct {
	const char *name;
	unsigned mode;
} modes[] = {
	{ "values", MODE_VALUES },
	{ "updates", MODE_UPDATES },
	{ "messages", MODE_MESSAGES },
	{ "messages-tuple", MODE_MESSAGES_TUPLE },
	{ "custom", MODE_CUSTOM },
	{ "tasks", MODE_TASKS },
	{ "checkpoints", MODE_CHECKPOINTS },
	{ "debug", MODE_DEBUG },
	{ "events", MODE_EVENTS },
	{ "tools", MODE_TOOLS },
};
#define MODE_COUNT (sizeof modes / sizeof *modes)

bool
mode_add(const char *name, unsigned *modes_p)
{
	size_t i;

	for (i = 0; i < MODE_COUNT; i++)
		if (strcmp(modes[i].name, name) == 0) {
			*modes_p |= modes[i].mode;
			return true;
		}
	return false;
}

const char *
mode_names(struct arena *arena, unsigned modes_given)
{
	const char *names = "";
	size_t i;

	for (i = 0; i < MODE_COUNT; i++)
		if ((modes[i].mode & modes_given) != 0)
			names = arena_printf(arena, "%s%s%s", names,
			    *names != '\0' ? "," : "", modes[i].name);
	return names;
}

/* A body under reading. */
struct reading {
	struct arena *arena;
	const struct value *body;
	const struct run_place *place;
	struct run_body *read;
	struct value_fields fields;
	bool goes_on; /* it brings no input */
	const char *error;
};

static void
set(struct reading *reading, const char *name, const char *text)
{
	if (text != NULL)
		value_fields_set(&reading->fields, name, value_str(reading->arena, text));
}

static void
set_json(struct reading *reading, const char *name, const struct value *value)
{
	set(reading, name, json_text(reading->arena, value));
}

static void
refuse(struct reading *reading, const char *text)
{
	if (reading->error == NULL)
		reading->error = text;
}

static const struct value *
get(const struct reading *reading, const char *name)
{
	const struct value *value = value_get(reading->body, name);

	return value_is_nil(value) ? NULL : value;
}

/* What must be a map, or is not there: else it is empty, after saying so. */
static const struct value *
need_map(struct reading *reading, const char *name, const struct value *value)
{
	if (value_is(value, VALUE_MAP))
		return value;
	if (!value_is_nil(value))
		refuse(reading, arena_printf(reading->arena, "%s: must be a map", name));
	return value_empty_map();
}

static const struct value *
get_map(struct reading *reading, const char *name)
{
	return need_map(reading, name, get(reading, name));
}

/* One of a choice's words, or otherwise. */
static const char *
choose(struct reading *reading, const char *name, const char *const *choices,
    const char *otherwise)
{
	const struct value *given = get(reading, name);
	const char *all = "";
	size_t i;

	if (given == NULL)
		return otherwise;
	for (i = 0; choices[i] != NULL; i++) {
		if (value_text_is(given, choices[i]))
			return choices[i];
		all = arena_printf(
		    reading->arena, "%s%s%s", all, i > 0 ? ", " : "", choices[i]);
	}
	refuse(reading, arena_printf(reading->arena, "%s: must be one of %s", name, all));
	return otherwise;
}

/* --- what a stream shows ------------------------------------------------------------------ */

static void
read_modes(struct reading *reading)
{
	const struct value *given = get(reading, "stream_mode");
	const struct value *one = value_array(reading->arena, &given, 1);
	const struct value *list = value_is(given, VALUE_ARRAY) ? given : one;
	size_t i;

	if (given == NULL || value_size(list) == 0) {
		reading->read->modes = MODE_VALUES;
		return;
	}
	for (i = 0; i < value_size(list); i++) {
		const char *name = value_text(value_at(list, i));

		if (name == NULL || !mode_add(name, &reading->read->modes))
			refuse(reading,
			    arena_printf(reading->arena, "stream_mode: there is no '%s'",
				name != NULL ? name : "?"));
	}
}

/* --- what it is to do ---------------------------------------------------------------------- */

int64_t
run_body_checkpoint(const struct value *body)
{
	const struct value *checkpoint = value_get(body, "checkpoint");
	const struct value *id = value_get(checkpoint, "checkpoint_id");
	const char *text;
	int64_t version;

	if (!value_is_nil(checkpoint) && !value_is(checkpoint, VALUE_MAP))
		return -1;
	if (value_is_nil(id))
		id = value_get(body, "checkpoint_id");
	if (value_is_nil(id)) /* as the thread protocol's clients say where they fork */
		id = value_get(value_get(value_get(body, "config"), "configurable"),
		    "checkpoint_id");
	if (value_is_nil(id))
		return NO_CHECKPOINT;
	text = value_text(id);
	if (text == NULL || *text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return -1;
	version = strtoll(text, NULL, 10);
	return version < INT64_MAX ? version : -1;
}

static void
set_checkpoint(struct reading *reading, int64_t version)
{
	if (version >= 0)
		set(reading, "checkpoint",
		    arena_printf(reading->arena, "%" PRId64, version));
}

/* Nothing runs: what is written leaves the thread at its end, whatever it asked. Such a run waits its turn as others do. */
static void
read_end(struct reading *reading, const struct value *update, int64_t checkpoint)
{
	set_json(reading, "update", update);
	set(reading, "as", GRAPH_END);
	set(reading, "multitask", "enqueue");
	set_checkpoint(reading, checkpoint);
	reading->read->command = value_map(reading->arena, "update", update, NULL);
}

static void
read_command(struct reading *reading, const struct value *given, int64_t checkpoint)
{
	struct command_body command;
	const char *wrong = command_body_read(
	    reading->arena, given, reading->place, checkpoint, &command);

	if (wrong != NULL)
		refuse(reading, wrong);
	if (command.resume != NULL)
		set_json(reading, "resume", command.resume);
	if (command.ends != NULL)
		read_end(reading, command.ends, checkpoint);
	if (command.moves == NULL)
		return;
	if (!value_has(command.moves, "resume") && checkpoint != reading->place->version)
		set_checkpoint(reading, checkpoint);
	reading->read->command = command.moves;
	set_json(reading, "command", command.moves);
}

/* Without input a thread goes on where it stands: from a pause that asks nothing, behind a failure, or once more from a
 * checkpoint. */
static void
go_on(struct reading *reading, int64_t checkpoint)
{
	const struct run_place *place = reading->place;

	if (checkpoint > 0)
		set_checkpoint(reading, checkpoint);
	else if (checkpoint == NO_CHECKPOINT && place->goes_on)
		set(reading, "resume", "null");
	else if (checkpoint == NO_CHECKPOINT && place->version > 0)
		set_checkpoint(reading, place->version);
	else
		refuse(reading, "input: a new thread needs one");
}

static void
read_task(struct reading *reading)
{
	const struct value *input = get(reading, "input");
	const struct value *command = get(reading, "command");
	int64_t checkpoint = run_body_checkpoint(reading->body);

	if (checkpoint == -1)
		refuse(reading, "checkpoint_id: is none of the thread's");
	/* As LangGraph's server: an empty command is none, and beside another the input does not count. Pages answer a question so,
	 * and send what they have of the state besides. */
	if (value_is(command, VALUE_MAP) && value_size(command) == 0)
		command = NULL;
	reading->goes_on = command != NULL || input == NULL;
	if (command != NULL) {
		read_command(reading, command, checkpoint);
	} else if (input != NULL) {
		set_json(reading, "input", input);
		set_checkpoint(reading, checkpoint);
	} else {
		go_on(reading, checkpoint);
	}
}

/* `configurable`, as contexts were given before there was `context`. */
static const struct value *
old_context(struct reading *reading)
{
	const struct value *config = get_map(reading, "config");

	return assistant_body_context(reading->arena,
	    need_map(reading, "config.configurable", value_get(config, "configurable")));
}

/* Over the assistant's: here, or, where a run that goes on has what the thread has kept between the two, where that is known. */
static void
read_context(struct reading *reading)
{
	const struct assistant *assistant = reading->place->assistant;
	const struct value *context = get(reading, "context") != NULL
					  ? get_map(reading, "context")
					  : old_context(reading);

	if (assistant != NULL && reading->goes_on && value_size(assistant->context) > 0)
		set_json(reading, "assistant_context", assistant->context);
	else if (assistant != NULL)
		context = value_map_merge(reading->arena, assistant->context, context);
	if (value_size(context) > 0)
		set_json(reading, "context", context);
}

/* --- how ------------------------------------------------------------------------------------ */

const struct value *
run_body_metadata(struct arena *arena, const struct value *body)
{
	const struct value *own = value_get(body, "metadata");
	const struct value *beside = value_get(value_get(body, "config"), "metadata");

	if (!value_is(own, VALUE_MAP))
		own = NULL;
	if (!value_is(beside, VALUE_MAP))
		return own;
	return value_map_merge(arena, beside, own);
}

/* Over the assistant's. */
static void
read_metadata(struct reading *reading)
{
	const struct assistant *assistant = reading->place->assistant;
	const struct value *metadata = assistant_plain(
	    reading->arena, run_body_metadata(reading->arena, reading->body));

	need_map(reading, "config.metadata",
	    value_get(get_map(reading, "config"), "metadata"));
	get_map(reading, "metadata");
	if (assistant != NULL)
		metadata = value_map_merge(reading->arena,
		    assistant_plain(reading->arena, assistant->metadata), metadata);
	if (value_size(metadata) == 0)
		return;
	reading->read->metadata = metadata;
	set_json(reading, "metadata", metadata);
}

static void
read_delay(struct reading *reading)
{
	const struct value *given = get(reading, "after_seconds");
	double seconds = value_number(given, given == NULL ? 0 : -1);

	if (seconds < 0 || seconds > (double)AFTER_MS_MAX / 1000.0 || isnan(seconds))
		refuse(reading, "after_seconds: must be from 0 to a year");
	else if (seconds > 0)
		set(reading, "after_ms",
		    arena_printf(
			reading->arena, "%" PRId64, (int64_t)(seconds * 1000.0)));
}

/* Over the assistant's. */
static void
read_counts(struct reading *reading)
{
	const struct assistant *assistant = reading->place->assistant;
	const struct value *config = get_map(reading, "config");
	const char *wrong = assistant_body_counts(reading->arena, config);
	const char *const *name;

	if (wrong != NULL)
		refuse(reading, wrong);
	for (name = assistant_counts; wrong == NULL && *name != NULL; name++)
		if (!value_is_nil(value_get(config, *name)))
			set_json(reading, *name, value_get(config, *name));
		else if (assistant != NULL)
			set(reading, *name,
			    assistant_count(reading->arena, assistant, *name));
}

/* Nodes at which the run pauses beside its agent's: which there are the agent knows. */
static void
read_pauses(struct reading *reading, const char *name)
{
	const struct value *nodes = get(reading, name);

	if (!value_truthy(nodes))
		return;
	if (value_is(nodes, VALUE_ARRAY) || value_text_is(nodes, "*"))
		set_json(reading, name, nodes);
	else
		refuse(reading, arena_printf(reading->arena,
				    "%s: must be \"*\" or a list of nodes", name));
}

static void
read_how(struct reading *reading)
{
	static const char *const strategies[] = { "enqueue", "interrupt", "rollback",
		"reject", NULL };
	static const char *const ends[] = { "keep", "delete", NULL };
	static const char *const leaves[] = { "continue", "cancel", NULL };
	static const char *const missing[] = { "reject", "create", NULL };
	const struct value *webhook = get(reading, "webhook");
	struct run_body *read = reading->read;

	set(reading, "multitask",
	    choose(reading, "multitask_strategy", strategies, NULL));
	read->keeps_thread =
	    strcmp(choose(reading, "on_completion", ends, "delete"), "keep") == 0;
	read->cancels_on_disconnect =
	    strcmp(choose(reading, "on_disconnect", leaves, "continue"), "cancel") == 0;
	choose(reading, "if_not_exists", missing, NULL); /* its reader has seen to that */
	if (webhook != NULL && !value_is(webhook, VALUE_STR))
		refuse(reading, "webhook: must be a URL");
	set(reading, "webhook", value_text(webhook));
	set(reading, "tenant", reading->place->tenant);
	set(reading, "traceparent", reading->place->traceparent);
	set(reading, "fingerprint", reading->place->fingerprint);
	if (reading->place->is_stateless && !read->keeps_thread) {
		set(reading, "ttl_ms", STATELESS_TTL_MS);
		set(reading, "ttl_action", "delete");
	}
}

const char *
run_body_read(struct arena *arena, const struct value *body,
    const struct run_place *place, int64_t now_ms, struct run_body *read_r)
{
	struct reading reading = { .arena = arena,
		.body = body,
		.place = place,
		.read = read_r,
		.fields = { .arena = arena } };
	struct run_options options;
	const char *with_nul = nul_check(arena, body);

	*read_r = (struct run_body){ .agent = value_get_text(body, "assistant_id") };
	if (!value_is(body, VALUE_MAP))
		return "the body must be a map";
	if (with_nul != NULL)
		return with_nul;
	if (read_r->agent == NULL || *read_r->agent == '\0')
		return value_is_nil(value_get(body, "assistant_id"))
			   ? "assistant_id: is missing; it is the name of an agent"
			   : "assistant_id: must be the name of an agent";
	if (place->assistant != NULL) {
		read_r->agent = place->assistant->agent;
		read_r->assistant = place->assistant->id;
	}
	set(&reading, "agent", read_r->agent);
	set(&reading, "assistant", read_r->assistant);
	set(&reading, "run", place->run);
	set(&reading, "thread", place->thread);
	read_modes(&reading);
	read_task(&reading);
	read_context(&reading);
	read_metadata(&reading);
	read_delay(&reading);
	read_counts(&reading);
	read_pauses(&reading, "interrupt_before");
	read_pauses(&reading, "interrupt_after");
	read_how(&reading);
	if ((read_r->modes & MODES_OF_TEXT) != 0)
		set(&reading, "stream", "1");
	read_r->fields = value_fields_end(&reading.fields);
	if (reading.error != NULL)
		return reading.error;
	return run_options_read(arena, read_r->fields, now_ms, &options);
}

void
run_body_recall(const struct value *record, struct run_body *read)
{
	read->agent = value_get_text(record, "agent");
	read->assistant = value_get_text(record, "assistant");
	read->metadata = value_get(record, "metadata");
}

const char *
run_body_ttl(struct arena *arena, const struct value *ttl, const char **error_r)
{
	bool is_map = value_is(ttl, VALUE_MAP);
	double minutes = value_number(is_map ? value_get(ttl, "ttl") : ttl, -1);
	const struct value *strategy = value_get(ttl, "strategy");
	const char *action = value_text(strategy);

	*error_r = NULL;
	if (value_is_nil(ttl))
		return NULL;
	if (!(minutes >= 0 && minutes * MINUTE_MS <= (double)TTL_MS_MAX))
		*error_r = "ttl: must be a number of minutes";
	if (!value_is_nil(strategy) && !value_text_is(strategy, "delete") &&
	    !value_text_is(strategy, "keep_latest"))
		*error_r = "ttl.strategy: must be delete or keep_latest";
	return *error_r != NULL
		   ? NULL
		   : arena_printf(arena, "%" PRId64 " %s", (int64_t)(minutes * MINUTE_MS),
			 action != NULL ? action : "delete");
}
