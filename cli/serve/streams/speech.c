#include "speech.h"

#define FNV_BEGIN 2166136261u
#define FNV_PRIME 16777619u

static unsigned
hash_more(unsigned hash, const char *text, size_t size)
{
	for (; size > 0; size--)
		hash = (hash ^ (unsigned char)*text++) * FNV_PRIME;
	return hash;
}

void
speech_begin(struct speech *speech, int64_t step)
{
	if (speech->step != step)
		*speech = (struct speech){ .step = step };
}

void
speech_join(struct speech *speech, uint64_t offset)
{
	speech->have = offset;
	speech->hash = 0;
}

/* What was void before it had a beginning is no message that anybody saw. */
static void
forget(struct speech *speech)
{
	speech->restarts += speech->have > 0;
	speech->have = 0;
	speech->answer = 0;
}

bool
speech_hears(struct speech *speech, const struct value *token, size_t *skip_r)
{
	const struct value *content = value_get(token, "content");
	uint64_t offset = (uint64_t)value_get_int(token, "offset", 0);
	unsigned answer = (unsigned)value_get_int(token, "answer", 0);

	if (!value_is(content, VALUE_STR))
		return false;
	if (answer != 0 && speech->answer != 0 && answer != speech->answer) {
		if (offset != 0)
			return false;
		forget(speech);
	}
	if (offset > speech->have || offset + content->size <= speech->have)
		return false;
	speech->answer = answer;
	*skip_r = speech->have - offset;
	return true;
}

void
speech_add(struct speech *speech, const char *text, size_t size)
{
	if (speech->have == 0)
		speech->hash = FNV_BEGIN;
	if (speech->hash != 0)
		speech->hash = hash_more(speech->hash, text, size);
	speech->have += size;
}

void
speech_restart(struct speech *speech, const struct value *event)
{
	unsigned answer = (unsigned)value_get_int(event, "answer", 0);

	if (answer == 0 || speech->answer == 0 || answer == speech->answer)
		forget(speech);
}

size_t
speech_check(struct speech *speech, const char *text, size_t size)
{
	if (speech->have > size ||
	    (speech->have > 0 && speech->hash != 0 &&
		hash_more(FNV_BEGIN, text, speech->have) != speech->hash))
		forget(speech);
	return speech->have;
}
