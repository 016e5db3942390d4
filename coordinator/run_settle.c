/* run_settle: a run that has begun keeps what it needs, and no more: it may wait for long. */
#include "run.h"

/* What a run that has begun asks its record for. */
static const struct value *
record_kept(struct arena *arena, const struct value *record)
{
	static const char *const names[] = { "deadline_ms", "tenant", "webhook", "task",
		"said", "started_by", "depth", "again", "assistant" };
	struct value_fields kept = { .arena = arena };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		value_fields_set(
		    &kept, names[i], value_copy(arena, value_get(record, names[i])));
	return value_fields_end(&kept);
}

void
run_settle(struct run *run)
{
	struct arena *begun = run->arena, *arena = arena_new();

	run->id = arena_strdup(arena, run->id);
	run->record = record_kept(arena, run->record);
	run->head = value_copy(arena, run->head);
	run->order = value_copy(arena, run->order);
	run->past.fields = value_copy(arena, run->past.fields);
	run->undone.fields = value_copy(arena, run->undone.fields);
	run->context = value_copy(arena, run->context);
	run->pauses_before = value_copy(arena, run->pauses_before);
	run->pauses_after = value_copy(arena, run->pauses_after);
	run->round = value_copy(arena, run->round);
	run->results = value_copy(arena, run->results);
	run->sent_before = value_copy(arena, run->sent_before);
	run->rest = value_copy(arena, run->rest);
	run->kept_input = value_copy(arena, run->kept_input);
	run->tenant = run_record_text(run, "tenant");
	run->arena = arena;
	arena_destroy(&begun);
}
