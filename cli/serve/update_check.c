#include "update_check.h"

#include <string.h>

#include "chat.h"
#include "field.h"
#include "nearest.h"
#include "openai_calls.h"
#include "pointer.h"
#include "utf8.h"

#define SHOWN_BYTES 64u

bool
update_may_write(struct call *call, const struct blueprint *read,
    const struct value *update, const char *where)
{
	size_t i;

	for (i = 0; call->tenant != NULL && i < value_size(update); i++) {
		const char *name = value_text(update->pairs[i].key);
		const char *shown = utf8_shown(call->arena, name, SHOWN_BYTES);
		const struct field *field;

		if (blueprint_is_common(name))
			continue;
		if (read->spec == NULL) {
			reply_error(call, 403,
			    "%s: which fields agent '%s' keeps for itself is not known "
			    "here, so '%s' is not for a tenant's key to write: give "
			    "`flotilla serve` the agent's middleware by --plugin (%s)",
			    where, read->name, shown, read->error);
			return false;
		}
		field = spec_field(read->spec, name);
		if (field != NULL && field->omit_from_input) {
			reply_error(
			    call, 403, "%s: '%s' is the agent's own", where, shown);
			return false;
		}
	}
	return true;
}

static void
reply_unknown(
    struct call *call, const struct blueprint *read, const char *name, const char *where)
{
	const struct spec *spec = read->spec;
	const char **names =
	    arena_alloc(call->arena, (spec->field_count + 1) * sizeof *names);
	const char *near;
	size_t i;

	for (i = 0; i < spec->field_count; i++)
		names[i] = spec->fields[i].name;
	names[i] = "messages";
	near = nearest_name(name, names, i + 1);
	reply_error(call, 422, "%s: agent '%s' has no state field '%s'%s", where,
	    read->name, utf8_shown(call->arena, name, SHOWN_BYTES),
	    near == NULL ? "" : arena_printf(call->arena, "; did you mean '%s'?", near));
}

/* Whether one field is there, and takes value. Who takes the submission converts calls of OpenAI's form; here it is only seen what
 * comes of that. */
static bool
fits(struct call *call, const struct blueprint *read, const char *name,
    const struct value *value, const char *where)
{
	const struct field *field = spec_field(read->spec, name);
	const char *error = NULL;

	if (strcmp(name, "messages") == 0) {
		if (!value_is_nil(value) &&
		    chat_normalise(
			call->arena, openai_calls(call->arena, value), &error) == NULL)
			reply_error(call, 422, "%s: %s", where, error);
	} else if (field == NULL && !blueprint_is_common(name)) {
		reply_unknown(call, read, name, where);
	} else if (field != NULL && !field_takes(field, value)) {
		reply_error(call, 422, "%s: %s: must be %s, not %s", where, name,
		    field_takes_text(field), value_article_name(value));
	}
	return !exchange_is_answered(call->exchange);
}

bool
update_fits(struct call *call, const struct blueprint *read, const struct value *update,
    const char *where)
{
	size_t i;

	for (i = 0; i < value_size(update); i++)
		if (!fits(call, read, value_text(update->pairs[i].key),
			update->pairs[i].value, where))
			return false;
	return true;
}
