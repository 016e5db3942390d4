#include "a2a_task.h"

#include <string.h>

#include "json.h"
#include "shape.h"

#define EVENTS_OF_NOTHING 3 /* queued, started, finished: no step */

/* --- what is said ------------------------------------------------------------------------- */

/* Whether a part is of that kind: 0.3 says so, in 1.0 it has what is of the kind. */
static bool
is_of(const struct value *part, const char *kind)
{
	const struct value *said = value_get(part, "kind");

	return said != NULL ? value_text_is(said, kind) : value_has(part, kind);
}

/* What a part says in words, or NULL: it is a file. */
static const struct value *
part_text(struct arena *arena, const struct value *part)
{
	const struct value *text = value_get(part, "text");

	if (is_of(part, "text"))
		return value_is(text, VALUE_STR) ? text : NULL;
	return is_of(part, "data") && value_has(part, "data")
		   ? value_str(arena, json_text(arena, value_get(part, "data")))
		   : NULL;
}

static const char *
block_type(const char *media)
{
	static const char *const types[] = { "image", "audio", "video" };
	size_t i;

	for (i = 0; media != NULL && i < sizeof types / sizeof *types; i++)
		if (strncmp(media, types[i], strlen(types[i])) == 0 &&
		    media[strlen(types[i])] == '/')
			return types[i];
	return "file";
}

static const struct value *
either(const struct value *map, const char *name, const char *other)
{
	const struct value *value = value_get(map, name);

	return value != NULL ? value : value_get(map, other);
}

/* A file as a block of a message; NULL when it is none. */
static const struct value *
file_block(struct arena *arena, const struct value *part)
{
	const struct value *file =
	    value_has(part, "file") ? value_get(part, "file") : part;
	const struct value *url = either(file, "uri", "url"),
			   *bytes = either(file, "bytes", "raw"),
			   *media = either(file, "mimeType", "mediaType");

	if (value_is(url, VALUE_STR) == value_is(bytes, VALUE_STR))
		return NULL;
	return value_map(arena, "type", value_str(arena, block_type(value_text(media))),
	    "url", url, "base64", bytes, "mime_type",
	    value_is(media, VALUE_STR) ? media : NULL, NULL);
}

/* A list of parts, at least one; else NULL. */
static const struct value *
parts_of(const struct value *message, const char **error_r)
{
	const struct value *parts = value_get(message, "parts");

	*error_r = NULL;
	if (!value_is(parts, VALUE_ARRAY) || value_size(parts) == 0)
		*error_r = "message.parts: must be a list of one part at least";
	return *error_r == NULL ? parts : NULL;
}

/* A text, or a block where it has files; NULL when it is no part. */
static const struct value *
block_of(struct arena *arena, const struct value *part)
{
	const struct value *text = part_text(arena, part);

	return text != NULL
		   ? value_map(arena, "type", VALUE_TEXT("text"), "text", text, NULL)
		   : file_block(arena, part);
}

/* Texts alone are one, a line each. */
static const struct value *
joined(struct arena *arena, const struct value *blocks)
{
	struct packet text = { 0 };
	const struct value *all;
	size_t i;

	for (i = 0; i < value_size(blocks); i++) {
		const struct value *one = value_get(value_at(blocks, i), "text");

		if (one == NULL) {
			packet_release(&text);
			return blocks;
		}
		packet_append(&text, "\n", i > 0 ? 1 : 0);
		packet_append(&text, one->text, one->size);
	}
	all = value_strn(arena, text.data, text.size);
	packet_release(&text);
	return all;
}

const struct value *
a2a_content(struct arena *arena, const struct value *message, const char **error_r)
{
	const struct value *parts = parts_of(message, error_r);
	struct value_list blocks = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(parts); i++) {
		const struct value *block = block_of(arena, value_at(parts, i));

		if (block == NULL) {
			*error_r = arena_printf(arena,
			    "message.parts[%zu]: must be a text, data, or a file with "
			    "either its bytes or where it is",
			    i);
			return NULL;
		}
		value_list_add(&blocks, block);
	}
	return parts != NULL ? joined(arena, value_list_end(&blocks)) : NULL;
}

const struct value *
a2a_answer(struct arena *arena, const struct value *message, const char **error_r)
{
	const struct value *parts = parts_of(message, error_r);
	size_t i;

	for (i = 0; i < value_size(parts); i++)
		if (value_has(value_at(parts, i), "data"))
			return value_get(value_at(parts, i), "data");
	return parts != NULL ? a2a_content(arena, message, error_r) : NULL;
}

const struct value *
a2a_resume(struct arena *arena, const struct value *record, const struct value *answer)
{
	const struct value *asks = value_get(record, "interrupts");
	const struct value *id = value_get(value_at(asks, 0), "id");

	/* A map of questions' ids, or what asks nothing. */
	if (value_size(asks) != 1 || !value_is(id, VALUE_STR) ||
	    value_has(answer, value_text(id)))
		return answer;
	return value_map(arena, value_text(id), answer, NULL);
}

bool
a2a_is_users(const struct value *message)
{
	const struct value *role = value_get(message, "role");

	return value_text_is(role, "user") || value_text_is(role, "ROLE_USER");
}

/* --- tasks -------------------------------------------------------------------------------- */

static const struct state {
	const char *status, *state, *name;
} states[] = {
	{ "queued", "submitted", "TASK_STATE_SUBMITTED" },
	{ "delayed", "submitted", "TASK_STATE_SUBMITTED" },
	{ "running", "working", "TASK_STATE_WORKING" },
	{ "interrupted", "input-required", "TASK_STATE_INPUT_REQUIRED" },
	{ "success", "completed", "TASK_STATE_COMPLETED" },
	{ "cancelled", "canceled", "TASK_STATE_CANCELED" },
	{ "refused", "rejected", "TASK_STATE_REJECTED" },
	{ "error", "failed", "TASK_STATE_FAILED" }, /* and what else there may be */
};
#define STATES (sizeof states / sizeof *states)

static const struct state *
state_of(const struct value *record)
{
	const struct value *status = value_get(record, "status");
	size_t i;

	for (i = 0; i + 1 < STATES; i++)
		if (value_is_nil(status) || value_text_is(status, states[i].status))
			break;
	return &states[i];
}

const char *
a2a_state(const struct value *record)
{
	return state_of(record)->state;
}

bool
a2a_is_over(const char *state)
{
	return strcmp(state, "submitted") != 0 && strcmp(state, "working") != 0;
}

const struct value *
a2a_keep(struct arena *arena, const struct value *record)
{
	static const char *const names[] = { "run", "thread", "agent", "assistant",
		"status", "created", "started", "ended", "events", "fault", "interrupts",
		"answer", "metadata" };
	const struct value *structured =
	    value_get(value_get(record, "output"), "structured_response");
	struct value_fields kept = { .arena = arena };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (value_has(record, names[i]))
			value_fields_set(&kept, names[i],
			    value_copy(arena, value_get(record, names[i])));
	if (!value_is_nil(structured))
		value_fields_set(&kept, "output",
		    value_map(arena, "structured_response", value_copy(arena, structured),
			NULL));
	return value_fields_end(&kept);
}

bool
a2a_has_failed_to_answer(const struct value *record)
{
	const struct value *status = value_get(record, "status");
	const struct value *answers = value_get(value_get(record, "options"), "resume");
	int64_t nothing = EVENTS_OF_NOTHING;

	if (value_is(answers, VALUE_MAP))
		nothing += (int64_t)value_size(answers); /* "decided" of each */
	return value_text_is(status, "refused") ||
	       (value_text_is(status, "error") &&
		   value_get_int(record, "events", 0) <= nothing);
}

bool
a2a_goes_on_with(const struct value *record, const char *id)
{
	return value_text_is(value_get(value_get(record, "metadata"), A2A_TASK), id) &&
	       !a2a_has_failed_to_answer(record);
}

/* --- writing ------------------------------------------------------------------------------ */

/* value with its kind, where that is said. */
static const struct value *
of_kind(struct arena *arena, const struct a2a_run *run, const char *kind,
    const struct value *value)
{
	return run->dialect == A2A_0_3
		   ? value_map_with(arena, value, "kind", value_str(arena, kind))
		   : value;
}

static const struct value *
part_of(struct arena *arena, const struct a2a_run *run, const char *kind,
    const struct value *value)
{
	return of_kind(arena, run, kind, value_map(arena, kind, value, NULL));
}

static const struct value *
context_of(const struct a2a_run *run)
{
	return value_get(run->record, "thread");
}

static void
add_questions(struct value_list *parts, const struct a2a_run *run)
{
	const struct value *asks = value_get(run->record, "interrupts");

	value_list_add(parts,
	    part_of(parts->arena, run, "text",
		value_size(asks) == 0
		    ? VALUE_TEXT(
			  "It has stopped where a human is to look: any answer has "
			  "it go on.")
		    : VALUE_TEXT(
			  "It asks, and goes on with the answer, a text or data.")));
	value_list_add(parts, part_of(parts->arena, run, "data",
				  value_map(parts->arena, "interrupts",
				      shape_interrupts(parts->arena, asks), NULL)));
}

static void
add_fault(struct value_list *parts, const struct a2a_run *run)
{
	const struct value *fault = value_get(run->record, "fault");
	const char *type = value_get_text(fault, "type");
	const char *text = value_get_text(fault, "message");

	value_list_add(
	    parts, part_of(parts->arena, run, "text",
		       value_printf(parts->arena, "%s: %s", type != NULL ? type : "error",
			   text != NULL ? text : "")));
}

/* What is said of a state: what is asked, or what went wrong; or NULL. */
static const struct value *
remark(struct arena *arena, const struct a2a_run *run)
{
	struct value_list parts = { .arena = arena };

	if (strcmp(a2a_state(run->record), "input-required") == 0)
		add_questions(&parts, run);
	else if (value_is(value_get(run->record, "fault"), VALUE_MAP))
		add_fault(&parts, run);
	else
		return NULL;
	return of_kind(arena, run, "message",
	    value_map(arena, "role",
		run->dialect == A2A_0_3 ? VALUE_TEXT("agent") : VALUE_TEXT("ROLE_AGENT"),
		"messageId",
		value_printf(arena, "%s-status", value_get_text(run->record, "run")),
		"taskId", value_str(arena, run->id), "contextId", context_of(run),
		"parts", value_list_end(&parts), NULL));
}

static const struct value *
status_of(struct arena *arena, const struct a2a_run *run)
{
	static const char *const times[] = { "ended", "started", "created" };
	const struct state *state = state_of(run->record);
	int64_t at = 0;
	size_t i;

	for (i = 0; i < sizeof times / sizeof *times && at == 0; i++)
		at = value_get_int(run->record, times[i], 0);
	return value_map(arena, "state",
	    value_str(arena, run->dialect == A2A_0_3 ? state->state : state->name),
	    "message", remark(arena, run), "timestamp",
	    at != 0 ? shape_time(arena, at) : NULL, NULL);
}

static const struct value *
artifact_with(struct arena *arena, const struct a2a_run *run, const struct value *parts)
{
	return value_map(arena, "artifactId", value_get(run->record, "run"), "name",
	    VALUE_TEXT("answer"), "parts", parts, NULL);
}

static const struct value *
artifact(struct arena *arena, const struct a2a_run *run)
{
	const struct value *answer = value_get(run->record, "answer");
	const struct value *structured =
	    value_get(value_get(run->record, "output"), "structured_response");
	struct value_list parts = { .arena = arena };

	/* What was said beside it is how it was made. */
	if (!value_is_nil(structured))
		value_list_add(&parts, part_of(arena, run, "data", structured));
	else if (value_is(answer, VALUE_STR))
		value_list_add(&parts, part_of(arena, run, "text", answer));
	if (parts.count == 0)
		value_list_add(&parts, part_of(arena, run, "text", VALUE_TEXT("")));
	return artifact_with(arena, run, value_list_end(&parts));
}

const struct value *
a2a_task(struct arena *arena, const struct a2a_run *run)
{
	const struct value *come = NULL;

	if (strcmp(a2a_state(run->record), "completed") == 0)
		come = artifact(arena, run);
	return of_kind(arena, run, "task",
	    value_map(arena, "id", value_str(arena, run->id), "contextId",
		context_of(run), "status", status_of(arena, run), "artifacts",
		come != NULL ? value_array(arena, &come, 1) : NULL, NULL));
}

/* What 0.3 tells apart by its kind stands in 1.0 under a name. */
static const struct value *
named(struct arena *arena, const struct a2a_run *run, const char *name,
    const struct value *value)
{
	return run->dialect == A2A_0_3 ? value : value_map(arena, name, value, NULL);
}

const struct value *
a2a_payload(struct arena *arena, const struct a2a_run *run)
{
	return named(arena, run, "task", a2a_task(arena, run));
}

/* --- events ------------------------------------------------------------------------------- */

const struct value *
a2a_status_update(struct arena *arena, const struct a2a_run *run)
{
	bool is_over = a2a_is_over(a2a_state(run->record));

	return named(arena, run, "statusUpdate",
	    of_kind(arena, run, "status-update",
		value_map(arena, "taskId", value_str(arena, run->id), "contextId",
		    context_of(run), "status", status_of(arena, run), "final",
		    run->dialect == A2A_0_3 ? value_bool(is_over) : NULL, NULL)));
}

static const struct value *
artifact_update(struct arena *arena, const struct a2a_run *run, const struct value *come,
    bool adds, bool is_last)
{
	return named(arena, run, "artifactUpdate",
	    of_kind(arena, run, "artifact-update",
		value_map(arena, "taskId", value_str(arena, run->id), "contextId",
		    context_of(run), "artifact", come, "append", value_bool(adds),
		    "lastChunk", value_bool(is_last), NULL)));
}

const struct value *
a2a_answer_update(struct arena *arena, const struct a2a_run *run)
{
	return artifact_update(arena, run, artifact(arena, run), false, true);
}

const struct value *
a2a_piece_update(
    struct arena *arena, const struct a2a_run *run, const struct value *text, bool adds)
{
	const struct value *part = part_of(arena, run, "text", text);

	return artifact_update(arena, run,
	    artifact_with(arena, run, value_array(arena, &part, 1)), adds, false);
}
