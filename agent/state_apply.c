/* Writing to the state: a superstep's updates and a run's input. Everything that can fail
 * is found before the first change. */
#include <string.h>

#include "chat.h"
#include "field.h"
#include "pointer.h"
#include "state_private.h"

/* What a channel becomes by the writes seen so far. */
struct pending {
	const char *writer;        /* the last one, or NULL: not written */
	const struct value *value; /* or NULL: gone */
	const char *overwriter;    /* or NULL: what is there is written on */
};

struct step {
	struct state *state;
	struct arena *arena;
	struct pending *pending; /* one a channel */
	struct thread_edit *edit;
	const char *error;
};

static void
start(struct step *step, struct state *state, struct arena *arena)
{
	*step = (struct step){ .state = state, .arena = arena };
	step->pending = arena_alloc(arena, state->count * sizeof *step->pending);
	step->edit = thread_edit_new(arena, state->thread);
}

static int
give_up(struct step *step, const char **error_r)
{
	thread_edit_destroy(&step->edit);
	*error_r = step->error;
	return -1;
}

static int __attribute__((format(printf, 2, 3)))
fail(struct step *step, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	step->error = arena_vprintf(step->arena, format, args);
	va_end(args);
	return -1;
}

/* --- writing ------------------------------------------------------------------------ */

/* Folds a write into what the step has of the field so far. As in LangGraph one write of a step may put
 * another value in the place of it, and then the ones behind that one do not count. */
static int
fold_field(struct step *step, struct channel *channel, const char *writer,
    const struct value *write)
{
	struct state *state = step->state;
	const struct field *field = channel->field;
	struct pending *pending = &step->pending[channel - state->channels];
	bool overwrites = field_overwrite(field, write) != NULL;
	const struct value *old;

	if (overwrites && pending->overwriter != NULL)
		return fail(step,
		    "the field \"%s\" takes one value in the place of what is there in a "
		    "step, but \"%s\" and \"%s\" both wrote one",
		    field->name, pending->overwriter, writer);
	if (pending->overwriter != NULL)
		return 0;
	if (overwrites)
		pending->overwriter = writer;
	/* An ephemeral field knows nothing of the steps before. */
	old = field->ephemeral ? NULL : channel->value;
	if (pending->writer != NULL)
		old = pending->value;
	pending->value =
	    field_fold(state->values, field, old, value_copy(state->values, write));
	if (!field_has_room(field, old, pending->value))
		return fail(step,
		    "the field \"%s\" would have more than the %zu bytes that it "
		    "may have, by what \"%s\" wrote",
		    field->name, field->bytes_max, writer);
	if (!overwrites && !field_is_exact(field, old, pending->value))
		return fail(step,
		    "the field \"%s\" would be more than an integer of 64 bits holds, "
		    "by what \"%s\" wrote",
		    field->name, writer);
	return 0;
}

/* Folds a write that the field takes. What a reducer makes shares the old value, so it is
 * made where that lives; a last value is copied when the step is known to be good. */
static int
write_field(struct step *step, struct channel *channel, const char *writer,
    const struct value *write)
{
	const struct field *field = channel->field;
	struct pending *pending = &step->pending[channel - step->state->channels];

	if (field->reducer == REDUCE_LAST) {
		if (pending->writer != NULL)
			return fail(step,
			    "the field \"%s\" takes one value in a step, but \"%s\" and "
			    "\"%s\" both wrote it: a reducer would join them",
			    field->name, pending->writer, writer);
		pending->value = value_is_nil(write) ? NULL : write;
	} else if (fold_field(step, channel, writer, write) == -1) {
		return -1;
	}
	pending->writer = writer;
	return 0;
}

static int
write_messages(struct step *step, const struct value *write)
{
	const struct value *messages;

	messages = chat_normalise(step->arena, write, &step->error);
	if (messages == NULL)
		return -1;
	return thread_edit_add(step->edit, messages, &step->error);
}

/* --- the end of a step -------------------------------------------------------------- */

/* What is written again as it was is no change, and nothing for the next commit. What a
 * reducer made is in the state's arena already. */
static void
settle_field(struct state *state, struct channel *channel, const struct value *value)
{
	if (channel->value == value)
		return;
	if (channel->field->reducer == REDUCE_LAST) {
		if (channel->value != NULL && value_equal(channel->value, value))
			return;
		value = value_copy(state->values, value);
	}
	state_set(channel, value);
}

static void
settle(struct step *step)
{
	struct state *state = step->state;
	size_t i;

	for (i = 0; i < state->count; i++) {
		if (step->pending[i].writer != NULL)
			settle_field(state, &state->channels[i], step->pending[i].value);
	}
	thread_edit_apply(step->edit, state->values);
	thread_edit_destroy(&step->edit);
}

/* --- a superstep -------------------------------------------------------------------- */

static int
apply_field(struct step *step, struct channel *channel, const char *writer,
    const struct value *write)
{
	if (!field_takes(channel->field, write))
		return fail(step, "\"%s\" wrote %s to the field \"%s\", which takes %s",
		    writer, value_article_name(write), channel->field->name,
		    field_takes_text(channel->field));
	return write_field(step, channel, writer, write);
}

static int
apply_write(struct step *step, const struct state_write *write)
{
	const struct value *update = write->update;
	size_t i;

	if (!value_is_nil(update) && !value_is(update, VALUE_MAP))
		return fail(step, "\"%s\" gave %s: an update is a map of state fields",
		    write->writer, value_article_name(update));
	for (i = 0; i < value_size(update); i++) {
		const char *name = update->pairs[i].key->text;
		const struct value *value = update->pairs[i].value;
		struct channel *channel = state_channel(step->state, name);

		if (strcmp(name, "messages") == 0 && !value_is_nil(value)) {
			if (write_messages(step, value) == -1)
				return fail(
				    step, "\"%s\": %s", write->writer, step->error);
		} else if (channel != NULL &&
			   apply_field(step, channel, write->writer, value) == -1) {
			return -1;
		}
	}
	return 0;
}

static void
forget_ephemerals(struct step *step)
{
	size_t i;

	for (i = 0; i < step->state->count; i++) {
		struct channel *channel = &step->state->channels[i];

		if (channel->field->ephemeral && channel->value != NULL &&
		    step->pending[i].writer == NULL)
			state_set(channel, NULL);
	}
}

int
state_apply(struct state *state, struct arena *arena, const struct state_write *writes,
    size_t count, const char **error_r)
{
	struct step step;
	size_t i;

	start(&step, state, arena);
	for (i = 0; i < count; i++) {
		if (apply_write(&step, &writes[i]) == -1)
			return give_up(&step, error_r);
	}
	forget_ephemerals(&step);
	settle(&step);
	return 0;
}

static bool
is_seen(const struct field *field, enum state_view view)
{
	return view == STATE_SHOWN ? !field->omit_from_output : field_is_stored(field);
}

const struct value *
state_foresee(struct state *state, struct arena *arena, const struct state_write *writes,
    size_t count, enum state_view view)
{
	struct value_fields fields = { .arena = arena };
	struct step step;
	bool fits = true;
	size_t i;

	start(&step, state, arena);
	for (i = 0; fits && i < count; i++)
		fits = apply_write(&step, &writes[i]) == 0;
	thread_edit_destroy(&step.edit);
	for (i = 0; fits && i < state->count; i++) {
		const struct field *field = state->channels[i].field;
		const struct value *value = step.pending[i].value;

		if (step.pending[i].writer != NULL && is_seen(field, view))
			value_fields_set(&fields, field->name,
			    value != NULL ? value_copy(arena, value) : value_nil());
	}
	return fields.count > 0 ? value_fields_end(&fields) : NULL;
}

int
state_mend(struct state *state, struct arena *arena, const struct value *messages,
    const char **error_r)
{
	struct step step;

	start(&step, state, arena);
	if (write_messages(&step, messages) == -1)
		return give_up(&step, error_r);
	settle(&step);
	return 0;
}

/* --- a run's beginning -------------------------------------------------------------- */

/* Fields that live a run, or less. */
static void
reset(struct state *state)
{
	size_t i;

	for (i = 0; i < state->count; i++) {
		struct channel *channel = &state->channels[i];
		bool lives_a_run =
		    !field_is_stored(channel->field) ||
		    strcmp(channel->field->name, "structured_response") == 0;

		if (lives_a_run && channel->value != NULL)
			state_set(channel, NULL);
	}
}

static int
take_input(struct step *step, const struct value *input)
{
	size_t i;

	if (!value_is_nil(input) && !value_is(input, VALUE_MAP))
		return fail(step, "must be a map of messages and state fields, not %s",
		    value_article_name(input));
	for (i = 0; i < value_size(input); i++) {
		const char *name = input->pairs[i].key->text;
		const struct value *value = input->pairs[i].value;
		struct channel *channel = state_channel(step->state, name);

		if (strcmp(name, "messages") == 0 && !value_is_nil(value)) {
			if (write_messages(step, value) == -1)
				return -1;
		}
		if (channel == NULL || channel->field->omit_from_input)
			continue;
		if (!field_takes(channel->field, value))
			return fail(step, "%s: must be %s, not %s", name,
			    field_takes_text(channel->field), value_article_name(value));
		if (write_field(step, channel, "input", value) == -1)
			return -1;
	}
	return 0;
}

/* What input gives is not folded into a default. */
static void
take_defaults_away(struct state *state, const struct value *input)
{
	size_t i;

	for (i = 0; i < state->count; i++) {
		struct channel *channel = &state->channels[i];

		if (channel->value == channel->otherwise &&
		    value_has(input, channel->field->name))
			channel->value = NULL;
	}
}

static int
begin(struct state *state, struct arena *arena, const char *id_prefix,
    const struct value *input, bool is_parents, const char **error_r)
{
	struct channel *before = arena_alloc(arena, state->count * sizeof *before);
	struct step step;

	memcpy(before, state->channels, state->count * sizeof *before);
	state_step(state, id_prefix);
	reset(state);
	state_fill_defaults(state);
	if (is_parents)
		take_defaults_away(state, input);
	start(&step, state, arena);
	if (take_input(&step, input) == -1) {
		memcpy(state->channels, before, state->count * sizeof *before);
		return give_up(&step, error_r);
	}
	settle(&step);
	return 0;
}

int
state_begin(struct state *state, struct arena *arena, const char *id_prefix,
    const struct value *input, const char **error_r)
{
	return begin(state, arena, id_prefix, input, false, error_r);
}

int
state_begin_child(struct state *state, struct arena *arena, const char *id_prefix,
    const struct value *input, const char **error_r)
{
	return begin(state, arena, id_prefix, input, true, error_r);
}
