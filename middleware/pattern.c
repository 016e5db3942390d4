#include "pattern.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "bounds.h"

/* Without UCP \d, \w and \s are ASCII and $ is the very end, as in ECMA 262. */
#define OPTIONS                                                                          \
	(PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS |   \
	    PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C)

struct pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	bool is_anchored; /* can match at one place only */
};

static pcre2_code *
compile(const char *text, size_t size, int *code_r, PCRE2_SIZE *offset_r)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code;

	if (context == NULL)
		arena_exhausted();
	pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
	code = pcre2_compile((PCRE2_SPTR)text, size, OPTIONS, code_r, offset_r, context);
	pcre2_compile_context_free(context);
	return code;
}

struct pattern *
pattern_new(struct arena *arena, const char *text, size_t size, const char **error_r)
{
	PCRE2_UCHAR message[128];
	struct pattern *pattern;
	uint32_t options = 0;
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
	pattern = calloc(1, sizeof *pattern);
	if (pattern == NULL)
		arena_exhausted();
	pattern->code = code;
	pattern->match = pcre2_match_data_create_from_pattern(code, NULL);
	pattern->limits = pcre2_match_context_create(NULL);
	if (pattern->match == NULL || pattern->limits == NULL)
		arena_exhausted();
	pcre2_set_heap_limit(pattern->limits, PATTERN_HEAP_KIB_MAX);
	pcre2_pattern_info(code, PCRE2_INFO_ALLOPTIONS, &options);
	pattern->is_anchored = (options & PCRE2_ANCHORED) != 0;
	return pattern;
}

/* PCRE2 counts anew at each place where a match may begin: what is allowed in all is
 * divided among them. */
static uint32_t
steps_allowed(const struct pattern *pattern, size_t size)
{
	size_t steps = PATTERN_STEPS_MAX;

	if (!pattern->is_anchored)
		steps /= size + 1;
	return steps < PATTERN_STEPS_MIN ? PATTERN_STEPS_MIN : (uint32_t)steps;
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
	free(pattern);
	*pattern_p = NULL;
}

int
pattern_find(const struct pattern *pattern, const char *text, size_t size, size_t offset,
    size_t *from_r, size_t *to_r)
{
	const PCRE2_SIZE *ends;
	int found;

	if (offset > size)
		return 0;
	pcre2_set_match_limit(pattern->limits, steps_allowed(pattern, size - offset));
	found = pcre2_match(pattern->code, (PCRE2_SPTR)text, size, offset, 0,
	    pattern->match, pattern->limits);
	if (found < 0)
		return found == PCRE2_ERROR_NOMATCH ? 0 : -1;
	ends = pcre2_get_ovector_pointer(pattern->match);
	/* \K in a look-ahead can put the start behind the end. */
	if (ends[0] > ends[1])
		return -1;
	if (from_r != NULL)
		*from_r = ends[0];
	if (to_r != NULL)
		*to_r = ends[1];
	return 1;
}
