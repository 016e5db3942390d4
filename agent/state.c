#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "memory.h"
#include "state_private.h"

/* Not worth a copy of the state. */
#define GARBAGE_BYTES_MIN (128u << 10)

/* Every state has it; a run sets it, input does not. */
static const struct field structured_response = {
	.name = "structured_response",
	.omit_from_input = true,
};

/* --- making ------------------------------------------------------------------------- */

static void
open_channel(struct state *state, struct channel *channel, const struct field *field)
{
	channel->field = field;
	channel->otherwise = field_default(state->own, field);
}

struct state *
state_new(const struct spec *spec)
{
	struct state *state = xcalloc(1, sizeof *state);
	size_t i;

	state->spec = spec;
	state->own = arena_new();
	state->values = arena_new();
	state->thread = thread_new();
	state->count = spec->field_count + 1;
	state->channels = arena_alloc(state->own, state->count * sizeof *state->channels);
	for (i = 0; i < spec->field_count; i++)
		open_channel(state, &state->channels[i], &spec->fields[i]);
	open_channel(state, &state->channels[i], &structured_response);
	return state;
}

void
state_destroy(struct state **state_p)
{
	struct state *state = *state_p;

	if (state == NULL)
		return;
	thread_destroy(&state->thread);
	arena_destroy(&state->values);
	arena_destroy(&state->own);
	free(state);
	*state_p = NULL;
}

struct arena *
state_arena(struct state *state)
{
	return state->own;
}

struct channel *
state_channel(const struct state *state, const char *name)
{
	size_t i;

	for (i = 0; i < state->count; i++) {
		if (strcmp(state->channels[i].field->name, name) == 0)
			return &state->channels[i];
	}
	return NULL;
}

void
state_set(struct channel *channel, const struct value *value)
{
	channel->value = value;
	channel->changed = field_is_stored(channel->field);
	channel->given = false;
}

void
state_fill_defaults(struct state *state)
{
	size_t i;

	for (i = 0; i < state->count; i++) {
		struct channel *channel = &state->channels[i];

		if (channel->value == NULL && channel->otherwise != NULL)
			state_set(channel, channel->otherwise);
	}
}

static bool
take_left(struct state *state, const struct state_stored *stored)
{
	struct thread **left = stored->left;

	if (left == NULL || *left == NULL ||
	    !thread_goes_on(*left, stored->messages, stored->order))
		return false;
	thread_destroy(&state->thread);
	state->thread = *left;
	*left = NULL;
	return true;
}

void
state_restore(struct state *state, const struct state_stored *stored)
{
	size_t i;

	if (!take_left(state, stored))
		thread_restore(state->thread, stored->outlive ? NULL : state->values,
		    stored->messages, stored->order);
	for (i = 0; i < value_size(stored->fields); i++) {
		const struct value_pair *pair = &stored->fields->pairs[i];
		struct channel *channel = state_channel(state, pair->key->text);

		if (channel != NULL && !value_is_nil(pair->value))
			channel->value = value_copy(state->values, pair->value);
	}
	state_fill_defaults(state);
	state->lived = arena_bytes(state->values);
}

struct thread *
state_leave(struct state *state, const struct value *stored)
{
	struct thread *left = state->thread;

	if (!thread_rest(left, stored))
		return NULL;
	state->thread = NULL;
	return left;
}

void
state_left_destroy(struct thread **left_p)
{
	thread_destroy(left_p);
}

size_t
state_left_bytes(const struct thread *left)
{
	return thread_bytes(left);
}

static bool
is_ephemeral(const struct field *field)
{
	return field->ephemeral;
}

static bool
is_untracked(const struct field *field)
{
	return field->untracked && !field->ephemeral;
}

/* What was never written is not worth a byte: its default is there in any case. */
static const struct value *
kept_fields(const struct state *state, struct arena *arena,
    bool (*is_wanted)(const struct field *field))
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < state->count; i++) {
		const struct channel *channel = &state->channels[i];

		if (channel->value != channel->otherwise && is_wanted(channel->field))
			value_fields_set(&fields, channel->field->name,
			    channel->value == NULL ? value_nil() : channel->value);
	}
	return fields.count == 0 ? NULL : value_fields_end(&fields);
}

const struct value *
state_ephemeral(const struct state *state, struct arena *arena)
{
	return kept_fields(state, arena, is_ephemeral);
}

const struct value *
state_untracked(const struct state *state, struct arena *arena)
{
	return kept_fields(state, arena, is_untracked);
}

void
state_recall(struct state *state, const struct value *kept)
{
	size_t i;

	for (i = 0; i < value_size(kept); i++) {
		const struct value_pair *pair = &kept->pairs[i];
		struct channel *channel = state_channel(state, pair->key->text);

		if (channel == NULL || field_is_stored(channel->field))
			continue;
		channel->value = value_is_nil(pair->value)
				     ? NULL
				     : value_copy(state->values, pair->value);
	}
}

void
state_step(struct state *state, const char *id_prefix)
{
	thread_prefix(state->thread, id_prefix);
}

/* --- reading ------------------------------------------------------------------------ */

const struct value *
state_messages(const struct state *state)
{
	return thread_messages(state->thread);
}

void
state_digest(struct state *state, uint8_t digest_r[DIGEST_BYTES])
{
	thread_digest(state->thread, digest_r);
}

size_t
state_packed_bytes(struct state *state)
{
	return thread_packed_bytes(state->thread);
}

bool
state_begins_with(struct state *state, size_t count, const uint8_t digest[DIGEST_BYTES])
{
	return thread_begins_with(state->thread, count, digest);
}

long
state_find_damaged(struct state *state)
{
	return thread_find_damaged(state->thread);
}

const struct value *
state_answer_dangling(struct state *state, struct arena *arena)
{
	return thread_answer_dangling(state->thread, arena);
}

const struct value *
state_field(const struct state *state, const char *name)
{
	const struct channel *channel = state_channel(state, name);

	return channel == NULL ? NULL : channel->value;
}

const struct value *
state_fields(struct state *state, struct arena *arena)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < state->count; i++)
		value_fields_set(
		    &fields, state->channels[i].field->name, state->channels[i].value);
	return value_fields_end(&fields);
}

const struct value *
state_slice(struct state *state, struct arena *arena, const struct value *names)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(names); i++) {
		const char *name = value_text(value_at(names, i));

		if (name != NULL && strcmp(name, "*") == 0)
			return value_map_with(arena, state_fields(state, arena),
			    "messages", state_messages(state));
		if (name != NULL && strcmp(name, "messages") == 0)
			value_fields_set(&fields, name, state_messages(state));
		else if (name != NULL)
			value_fields_set(&fields, name, state_field(state, name));
	}
	return fields.count == 0 ? NULL : value_fields_end(&fields);
}

const struct value *
state_output(struct state *state, struct arena *arena)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < state->count; i++) {
		const struct channel *channel = &state->channels[i];

		if (!channel->field->omit_from_output)
			value_fields_set(&fields, channel->field->name, channel->value);
	}
	return value_fields_end(&fields);
}

/* --- storing ------------------------------------------------------------------------ */

void
state_changes(struct state *state, struct arena *arena, struct state_changes *changes_r)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	thread_changes(state->thread, arena, changes_r);
	for (i = 0; i < state->count; i++) {
		struct channel *channel = &state->channels[i];

		if (!channel->changed)
			continue;
		value_fields_set(&fields, channel->field->name,
		    channel->value == NULL ? value_nil() : channel->value);
		channel->given = true;
	}
	changes_r->fields = value_fields_end(&fields);
}

void
state_committed(struct state *state)
{
	size_t i;

	thread_committed(state->thread);
	for (i = 0; i < state->count; i++) {
		if (state->channels[i].given)
			state->channels[i].changed = state->channels[i].given = false;
	}
}

/* --- memory ------------------------------------------------------------------------- */

static void
move(struct state *state, struct arena *arena)
{
	size_t i;

	thread_move(state->thread, arena);
	for (i = 0; i < state->count; i++) {
		struct channel *channel = &state->channels[i];

		if (channel->value != channel->otherwise)
			channel->value = value_copy(arena, channel->value);
	}
	arena_destroy(&state->values);
	state->values = arena;
	state->lived = arena_bytes(arena);
}

void
state_compact(struct state *state)
{
	if (arena_bytes(state->values) > 2 * state->lived + GARBAGE_BYTES_MIN)
		move(state, arena_new());
}

size_t
state_bytes(const struct state *state)
{
	return arena_bytes(state->values) + arena_bytes(state->own) +
	       thread_bytes(state->thread);
}
