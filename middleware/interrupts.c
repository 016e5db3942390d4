#include "interrupts.h"

const struct value *
interrupts_take(struct interrupts *interrupts, const struct value *value)
{
	const struct value *answer;

	if (interrupts->asked != NULL)
		return NULL;
	answer = value_at(interrupts->answers, interrupts->taken);
	if (answer != NULL)
		interrupts->taken++;
	else
		interrupts->asked = value != NULL ? value : value_nil();
	return answer;
}

struct fault *
interrupts_fault(struct arena *arena)
{
	return fault_new(arena, "GraphInterrupt", "waits for an answer");
}
