/* run_usage: what the model calls of a step have used is counted in the step itself, with its other
 * writes: no hook that another one jumps over, and no crash between the two, can lose it. */
#include "run.h"

#include "model_usage.h"

void
run_used(struct run *run, const struct value *usage)
{
	size_t i;

	for (i = 0; i < value_size(usage); i++)
		value_list_add(&run->used, value_copy(run->scratch, value_at(usage, i)));
}

void
run_count_used(struct run *run, struct step_result *result)
{
	const struct spec *spec = run->agent->spec;
	struct arena *arena = run->scratch;
	struct value_fields update = { .arena = arena };
	size_t i;

	if (run->used.count == 0)
		return;
	for (i = 0; i < spec->field_count; i++) {
		const char *name = spec->fields[i].name;

		if (spec->fields[i].counts_usage)
			value_fields_set(&update, name,
			    model_usage_add(arena, state_field(run->state, name),
				run->used.items, run->used.count));
	}
	if (update.count == 0)
		return;
	value_list_add(&result->writers, value_str(arena, "usage"));
	value_list_add(&result->updates, value_fields_end(&update));
}
