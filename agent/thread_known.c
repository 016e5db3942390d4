/* thread_known: what was found out about the first messages of a thread and need not be looked for again,
 * and how a thread, with that, goes on from one run to the next. */
#include "chat.h"
#include "thread_private.h"

long
thread_find_damaged(struct thread *thread)
{
	for (; thread->sound < thread->count; thread->sound++) {
		if (!chat_is_sound(thread->items[thread->sound]))
			return (long)thread->sound;
	}
	return -1;
}

const struct value *
thread_answer_dangling(struct thread *thread, struct arena *arena)
{
	const struct value *messages = &thread->view;
	const struct value *repaired =
	    chat_answer_dangling_from(arena, messages, thread->answered);

	if (repaired == messages)
		thread->answered = thread->count;
	return repaired;
}

/* --- from run to run ------------------------------------------------------------------ */

bool
thread_rest(struct thread *thread, const struct value *stored)
{
	size_t i = thread->count;

	if (thread->changed || thread->unsaved_count > 0 ||
	    thread->ranged < thread->count || thread->next_number != value_size(stored))
		return false;
	/* Most often only the end is new. */
	for (;
	     i > 0 && (thread->edited || thread->numbers[i - 1] >= thread->kept_numbers);
	     i--)
		thread->items[i - 1] = value_at(stored, thread->numbers[i - 1]);
	thread->kept_numbers = thread->next_number;
	thread->edited = false;
	thread_prefix(thread, "");
	return true;
}

static bool
is_range(const struct range *range, const struct value *value)
{
	return value_size(value) == 2 &&
	       value_number(value_at(value, 0), -1) == range->first &&
	       value_number(value_at(value, 1), -1) == range->last;
}

bool
thread_goes_on(
    const struct thread *thread, const struct value *stored, const struct value *order)
{
	size_t last = thread->count - 1, i;

	if (thread->next_number != value_size(stored) || thread->count == 0 ||
	    thread->items[last] != value_at(stored, thread->numbers[last]) ||
	    thread->range_count != value_size(order))
		return false;
	for (i = 0; i < thread->range_count; i++) {
		if (!is_range(&thread->ranges[i], value_at(order, i)))
			return false;
	}
	return true;
}
