#include "cron_body.h"

#include <string.h>

#include "json.h"
#include "run_body.h"
#include "run_options.h"
#include "shape.h"

#define DELETE "delete" /* of on_run_completed */

/* --- what it is submitted with, in a body's form ------------------------------------------ */

static const struct value *
parsed(struct arena *arena, const struct value *entry, const char *name)
{
	const char *text = value_get_text(entry, name), *error;

	return text != NULL ? json_parse(arena, text, strlen(text), &error) : NULL;
}

static const struct value *
id_of(struct arena *arena, const struct cron *cron)
{
	return value_str(arena, cron->assistant != NULL ? cron->assistant : cron->agent);
}

/* What else of `config` is kept is in the context and the metadata. */
static const struct value *
config_of(struct arena *arena, const struct cron *cron)
{
	struct value_fields config = { .arena = arena };
	const char *const *name;
	const struct value *whole;

	for (name = assistant_counts; *name != NULL; name++)
		if (parsed(arena, cron->entry, *name) != NULL)
			value_fields_set(
			    &config, *name, parsed(arena, cron->entry, *name));
	whole = value_fields_end(&config);
	return value_size(whole) > 0 ? whole : NULL;
}

static const struct value *
payload(struct arena *arena, const struct cron *cron)
{
	return value_map(arena, "assistant_id", id_of(arena, cron), "input",
	    parsed(arena, cron->entry, "input"), "context",
	    parsed(arena, cron->entry, "context"), "config", config_of(arena, cron),
	    "interrupt_before", parsed(arena, cron->entry, "interrupt_before"),
	    "interrupt_after", parsed(arena, cron->entry, "interrupt_after"), "metadata",
	    cron->metadata, "webhook", value_get(cron->entry, "webhook"),
	    "multitask_strategy", value_get(cron->entry, "multitask"), NULL);
}

/* --- reading ------------------------------------------------------------------------------- */

static const struct value *
given(const struct value *body, const char *name)
{
	const struct value *value = value_get(body, name);

	return value_is_nil(value) ? NULL : value;
}

/* A text of the body, or what *text_p is. Returns false when it is none. */
static bool
take_text(const struct value *body, const char *name, const char **text_p)
{
	const struct value *value = given(body, name);

	if (value == NULL)
		return true;
	*text_p = value_text(value);
	return *text_p != NULL && **text_p != '\0';
}

static const char *
read_when(const struct value *body, struct cron *cron)
{
	const struct value *end = value_get(body, "end_time");
	const struct value *enabled = given(body, "enabled");

	if (!take_text(body, "schedule", &cron->schedule))
		return "schedule: must be a text, such as 0 9 * * mon-fri";
	if (cron->schedule == NULL)
		return "schedule: is missing; it is a text such as 0 9 * * mon-fri";
	if (value_has(body, "timezone") && given(body, "timezone") == NULL)
		cron->timezone = NULL;
	if (!take_text(body, "timezone", &cron->timezone))
		return "timezone: must be a name, such as Europe/Berlin, or null";
	if (end != NULL)
		cron->end_ms = 0;
	if (!value_is_nil(end) &&
	    (value_text(end) == NULL ||
		run_options_time(value_text(end), &cron->end_ms) == -1 ||
		cron->end_ms <= 0))
		return "end_time: must be a time with its zone, such as "
		       "2030-01-31T09:30:00Z, of the years 1970 to 2286, or null";
	if (enabled != NULL && !value_is(enabled, VALUE_BOOL))
		return "enabled: must be true or false";
	if (enabled != NULL)
		cron->is_paused = !enabled->boolean;
	return NULL;
}

/* What a run may have and a cron's may not. */
static const char *
read_refused(const struct value *body)
{
	if (given(body, "command") != NULL)
		return "command: a cron begins runs, and answers nothing";
	if (given(body, "checkpoint") != NULL || given(body, "checkpoint_id") != NULL)
		return "checkpoint: a cron's runs begin where their thread stands";
	if (given(body, "after_seconds") != NULL)
		return "after_seconds: its schedule says when it is due";
	return NULL;
}

static const char *
read_completion(const struct value *body, struct cron *cron)
{
	const struct value *value = given(body, "on_run_completed");

	if (value == NULL)
		return NULL;
	if (!value_text_is(value, DELETE) && !value_text_is(value, "keep"))
		return "on_run_completed: must be delete or keep";
	cron->keeps = !value_text_is(value, DELETE);
	return NULL;
}

/* The body of each of its runs: what it was, and what body says of it. */
static const struct value *
run_body_of(struct arena *arena, const struct value *body, const struct cron *cron)
{
	const struct value *was = cron->entry != NULL ? payload(arena, cron) : NULL;
	struct value_fields fields = { .arena = arena };
	size_t i;

	/* Which is a context, too, and which metadata. */
	if (given(given(body, "config"), "configurable") != NULL)
		was = value_map_with(arena, was, "context", NULL);
	if (given(given(body, "config"), "metadata") != NULL)
		was = value_map_with(arena, was, "metadata", NULL);
	value_fields_put_all(&fields, was);
	for (i = 0; i < value_size(body); i++)
		if (!value_is_nil(body->pairs[i].value) ||
		    value_text_is(body->pairs[i].key, "webhook"))
			value_fields_put(
			    &fields, body->pairs[i].key, body->pairs[i].value);
	return value_fields_end(&fields);
}

/* What of an entry that there was no body says. */
static const struct value *
rest_of(struct arena *arena, const struct value *body, const struct value *entry)
{
	static const char *const said[] = { "agent", "assistant", "input", "context",
		"metadata", "webhook", "multitask", "stream", "recursion_limit",
		"max_concurrency", "interrupt_before", "interrupt_after" };
	size_t i;

	for (i = 0; i < sizeof said / sizeof *said; i++)
		entry = value_map_with(arena, entry, said[i], NULL);
	if (given(body, "on_run_completed") != NULL)
		entry = value_map_with(arena,
		    value_map_with(arena, entry, "ttl_ms", NULL), "ttl_action", NULL);
	return entry;
}

/* Whether body says anything but when: what its runs do stays then, and one of which all are refused can still be paused. */
static bool
is_about_runs(const struct value *body)
{
	static const char *const others[] = { "schedule", "timezone", "end_time",
		"enabled" };
	size_t i, count = 0;

	for (i = 0; i < sizeof others / sizeof *others; i++)
		count += value_has(body, others[i]);
	return value_size(body) > count;
}

static const char *
read_run(
    struct arena *arena, const struct value *body, const char *tenant, struct cron *cron)
{
	const struct value *whole = run_body_of(arena, body, cron);
	/* What its assistant gives a run is what it gives then. */
	const struct assistant assistant = { .id = cron->assistant,
		.agent = cron->agent };
	bool is_new = cron->entry == NULL;
	struct run_place place = { .tenant = is_new ? tenant : NULL,
		.assistant = cron->assistant != NULL ? &assistant : NULL };
	struct run_body read;
	const char *wrong;

	if (given(whole, "input") == NULL)
		return "input: a cron's runs need one";
	wrong = run_body_read(arena, whole, &place, 0, &read);
	if (wrong != NULL)
		return wrong;
	cron->agent = read.agent;
	cron->metadata = run_body_metadata(arena, whole);
	cron->entry = cron_entry(arena, cron,
	    value_map_merge(arena, rest_of(arena, body, cron->entry), read.fields));
	return is_new || is_about_runs(body) ? cron_wrong(arena, cron) : NULL;
}

const char *
cron_body_read(
    struct arena *arena, const struct value *body, const char *tenant, struct cron *cron)
{
	const char *wrong;

	if (!value_is(body, VALUE_MAP))
		return "the body must be a map";
	wrong = read_when(body, cron);
	if (wrong == NULL)
		wrong = read_refused(body);
	if (wrong == NULL)
		wrong = read_completion(body, cron);
	return wrong != NULL ? wrong : read_run(arena, body, tenant, cron);
}

/* --- showing --------------------------------------------------------------------------------- */

static const struct value *
text_or_nil(struct arena *arena, const char *text)
{
	return text != NULL ? value_str(arena, text) : value_nil();
}

const struct value *
cron_body_shape(struct arena *arena, const struct cron *cron)
{
	return value_map(arena, "cron_id", value_str(arena, cron->id), "assistant_id",
	    id_of(arena, cron), "thread_id", text_or_nil(arena, cron->thread),
	    "on_run_completed",
	    cron->thread != NULL ? value_nil()
				 : value_str(arena, cron->keeps ? "keep" : DELETE),
	    "schedule", value_str(arena, cron->schedule), "timezone",
	    text_or_nil(arena, cron->timezone), "end_time",
	    shape_time(arena, cron->end_ms), "next_run_date",
	    shape_time(arena, cron->next_ms), "enabled", value_bool(!cron->is_paused),
	    "created_at", shape_time(arena, cron->created_ms), "updated_at",
	    shape_time(arena, cron->updated_ms), "user_id", value_nil(), "payload",
	    cron->entry != NULL ? payload(arena, cron) : value_nil(), "metadata",
	    cron->metadata != NULL ? cron->metadata : value_empty_map(), NULL);
}
