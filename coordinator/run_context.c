/* run_context: what a run is told that does not change: by its submission, by the run that it goes on with, by its assistant. */
#include "run.h"

#include <string.h>

#include "schema.h"

/* over's entries, where it is a map, and below's that it has not; either may be nil or NULL. */
static const struct value *
laid_over(struct arena *arena, const struct value *over, const struct value *below)
{
	if (!value_is(below, VALUE_MAP) || (over != NULL && !value_is(over, VALUE_MAP)))
		return over;
	return over != NULL ? value_map_merge(arena, below, over) : below;
}

void
run_take_context(struct run *run, const struct value *head, const struct value *options)
{
	const struct value *kept = run->goes_on ? value_get(head, "context") : NULL;
	const struct value *own = value_get(options, "context");

	run->keeps_context = value_size(kept) > 0;
	own = laid_over(run->arena, own, kept);
	run->context =
	    laid_over(run->arena, own, value_get(options, "assistant_context"));
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
