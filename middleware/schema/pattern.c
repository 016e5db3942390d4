#include "pattern.h"

#include <stdlib.h>

#include "bounds.h"
#include "pattern_work.h"

/* Without UCP \d, \w and \s are ASCII and $ is the very end, as in ECMA 262. */
#define OPTIONS                                                                          \
	(PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS |   \
	    PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT)

struct pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	struct work *work;
};

static pcre2_code *
compile(const char *text, size_t size, int *code_r, PCRE2_SIZE *offset_r)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code;

	if (context == NULL)
		arena_exhausted();
	pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
	pcre2_set_max_pattern_length(context, PATTERN_BYTES_MAX);
	code = pcre2_compile((PCRE2_SPTR)text, size, OPTIONS, code_r, offset_r, context);
	pcre2_compile_context_free(context);
	return code;
}

/* Why code may not be used, or NULL. */
static const char *
why_not(struct arena *arena, const pcre2_code *code)
{
	uint32_t behind = 0;

	pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &behind);
	if (behind <= PATTERN_BEHIND_MAX)
		return NULL;
	return arena_printf(arena,
	    "a lookbehind goes back %u characters: %u are the most", (unsigned)behind,
	    PATTERN_BEHIND_MAX);
}

struct pattern *
pattern_new(struct arena *arena, const char *text, size_t size, const char **error_r)
{
	PCRE2_UCHAR message[128];
	struct pattern *pattern;
	PCRE2_SIZE offset;
	pcre2_code *code;
	int error;

	code = compile(text, size, &error, &offset);
	if (code == NULL) {
		pcre2_get_error_message(error, message, sizeof message);
		*error_r = arena_printf(arena, "%s, at character %zu of the pattern",
		    (const char *)message, (size_t)offset);
		return NULL;
	}
	*error_r = why_not(arena, code);
	if (*error_r != NULL) {
		pcre2_code_free(code);
		return NULL;
	}
	pattern = calloc(1, sizeof *pattern);
	if (pattern == NULL)
		arena_exhausted();
	pattern->code = code;
	pattern->match = pcre2_match_data_create_from_pattern(code, NULL);
	pattern->limits = pcre2_match_context_create(NULL);
	pattern->work = calloc(1, sizeof *pattern->work);
	if (pattern->match == NULL || pattern->limits == NULL || pattern->work == NULL)
		arena_exhausted();
	pcre2_set_heap_limit(pattern->limits, PATTERN_HEAP_KIB_MAX);
	pcre2_set_match_limit(pattern->limits, PATTERN_STEPS_MAX);
	work_weigh(pattern->work, code, text, size);
	pcre2_set_callout(pattern->limits, work_on_item, pattern->work);
	return pattern;
}

void
pattern_destroy(struct pattern **pattern_p)
{
	struct pattern *pattern = *pattern_p;

	if (pattern == NULL)
		return;
	pcre2_match_context_free(pattern->limits);
	pcre2_match_data_free(pattern->match);
	pcre2_code_free(pattern->code);
	work_free(pattern->work);
	free(pattern);
	*pattern_p = NULL;
}

static int
match(const struct pattern *pattern, const char *text, size_t size, size_t offset,
    uint32_t options)
{
	pattern->work->at = offset;
	pattern->work->is_partial = (options & PCRE2_PARTIAL_HARD) != 0;
	return pcre2_match(pattern->code, (PCRE2_SPTR)text, size, offset, options,
	    pattern->match, pattern->limits);
}

/* Puts the ends of what was found where they are wanted. \K in a group that a look-around calls can
 * put the start behind the end, or in front of offset: then -1. */
static int
tell_ends(const struct pattern *pattern, size_t offset, size_t *from_r, size_t *to_r)
{
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(pattern->match);

	if (ends[0] > ends[1] || ends[0] < offset)
		return -1;
	if (from_r != NULL)
		*from_r = ends[0];
	if (to_r != NULL)
		*to_r = ends[1];
	return 1;
}

void
pattern_allow(const struct pattern *pattern, size_t size)
{
	struct work *work = pattern->work;

	work->free = PATTERN_STEPS_BYTE * size;
	work->allowed = work->left = PATTERN_STEPS_MAX + work->free;
}

void
pattern_allow_next(const struct pattern *pattern, size_t size)
{
	struct work *work = pattern->work;
	size_t used = work->allowed - work->left;

	work->excess += used > work->free ? used - work->free : 0;
	pattern_allow(pattern, size);
	if (work->excess > PATTERN_EXCESS_MAX)
		work->allowed = work->left = 0;
}

int
pattern_find_next(const struct pattern *pattern, const char *text, size_t size)
{
	int found;

	pattern_allow_next(pattern, size);
	found = match(pattern, text, size, 0, 0);
	return found >= 0 ? 1 : found == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

int
pattern_find(const struct pattern *pattern, const char *text, size_t size, size_t offset,
    size_t *from_r, size_t *to_r)
{
	int found;

	if (offset > size)
		return 0;
	pattern_allow(pattern, size - offset);
	found = match(pattern, text, size, offset, 0);
	if (found < 0)
		return found == PCRE2_ERROR_NOMATCH ? 0 : -1;
	return tell_ends(pattern, offset, from_r, to_r);
}

int
pattern_seek(const struct pattern *pattern, const char *text, size_t size, size_t offset,
    bool more, size_t *from_r, size_t *to_r)
{
	uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
	const PCRE2_SIZE *ends;
	int found;

	if (more)
		options |= PCRE2_PARTIAL_HARD;
	found = match(pattern, text, size, offset, options);
	if (found == PCRE2_ERROR_PARTIAL) {
		ends = pcre2_get_ovector_pointer(pattern->match);
		*from_r = pcre2_get_startchar(pattern->match);
		if (ends[0] < *from_r)
			*from_r = ends[0];
		*to_r = size;
		return PATTERN_PARTIAL;
	}
	if (found < 0)
		return found == PCRE2_ERROR_NOMATCH ? 0 : -1;
	return tell_ends(pattern, offset, from_r, to_r);
}
