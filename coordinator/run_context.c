/* run_context: what a run is told that does not change: by its submission, by the run that it goes on with, by its assistant. */
#include "run.h"

#include <string.h>

#include "schema.h"

/* over's entries, and below's that it has not; what is no map hides what is below it, null and NULL nothing. */
static const struct value *
laid_over(struct arena *arena, const struct value *over, const struct value *below)
{
	if (value_is_nil(over))
		return below;
	return value_is(over, VALUE_MAP) && value_is(below, VALUE_MAP)
		   ? value_map_merge(arena, below, over)
		   : over;
}

/* Whether the run is begun by another assistant than the one that head has come from. Who went on meanwhile without any, as
 * `flotilla approve` does, was told nothing by one. */
static bool
is_others(const struct run *run, const struct value *head)
{
	const char *assistant = run_record_text(run, "assistant");
	const char *before = value_get_text(head, "assistant");

	return assistant != NULL && before != NULL && strcmp(assistant, before) != 0;
}

void
run_take_context(struct run *run, const struct value *head, const struct value *options)
{
	struct arena *arena = run->arena;
	const struct value *kept = run->goes_on ? value_get(head, "context") : NULL;
	const struct value *own = value_get(options, "context");
	const struct value *below = value_get(options, "assistant_context");

	run->keeps_context = !value_is_nil(kept);
	below = is_others(run, head) ? laid_over(arena, below, kept)
				     : laid_over(arena, kept, below);
	run->context = laid_over(arena, own, below);
}

enum go
run_check_context(struct run *run)
{
	const struct value *schema = run->agent->spec->context_schema;
	const char *reason;

	if (schema == NULL ||
	    schema_check(run->arena, schema,
		run->context != NULL ? run->context : value_empty_map(), &reason) == 0)
		return GO_ON;
	return run_fail(run, "ValueError", "context: %s", reason);
}

const struct value *
run_context_left(const struct run *run, const char *status)
{
	if (strcmp(status, "success") == 0 ||
	    (strcmp(status, "running") == 0 && !run->keeps_context))
		return NULL;
	return run->context;
}
