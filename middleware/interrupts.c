#include "interrupts.h"

const struct value *
interrupts_take(
    struct interrupts *interrupts, const struct value *value, const struct value *about)
{
	const struct value *answer;

	if (interrupts->asked != NULL)
		return NULL;
	answer = value_at(interrupts->answers, interrupts->taken);
	if (answer != NULL) {
		interrupts->taken++;
		return answer;
	}
	interrupts->asked = value != NULL ? value : value_nil();
	interrupts->about = about;
	return NULL;
}

const struct value *
interrupts_ask(struct interrupts *interrupts, struct arena *arena,
    const struct value *value, const struct value *about, const struct fault **control)
{
	const struct value *answer;

	if (*control != NULL)
		return NULL;
	answer = interrupts_take(interrupts, value, about);
	if (answer == NULL)
		*control = fault_new(arena, "GraphInterrupt", "waits for an answer");
	return answer;
}

const struct value *
interrupts_body(
    const struct interrupts *interrupts, struct arena *arena, const struct value *notes)
{
	return value_map(arena, "interrupt", interrupts->asked, "about",
	    interrupts->about, "notes", notes, NULL);
}
