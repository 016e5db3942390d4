#include "uncertain.h"

#include <string.h>

static const char *const names[] = {
	[UNCERTAIN_TELL_MODEL] = "tell_model",
	[UNCERTAIN_INTERRUPT] = "interrupt",
	[UNCERTAIN_REPEAT] = "repeat",
};

bool
uncertain_parse(const char *text, enum uncertain *uncertain_r)
{
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		if (uncertain_r != NULL)
			*uncertain_r = (enum uncertain)i;
		return true;
	}
	return false;
}

const char *
uncertain_name(enum uncertain uncertain)
{
	return names[uncertain];
}

enum uncertain
uncertain_of(const struct value *definition)
{
	const char *text = value_get_text(definition, "uncertain");
	enum uncertain uncertain = UNCERTAIN_TELL_MODEL;

	if (text != NULL)
		uncertain_parse(text, &uncertain);
	return uncertain;
}
