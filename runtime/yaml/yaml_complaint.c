#include "yaml_complaint.h"

#include <stdint.h>
#include <string.h>

char
yaml_character(const char *text, size_t size, size_t index)
{
	size_t i = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	for (; i < size; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80 && index-- == 0)
			return text[i];
	return '\0';
}

const char *
yaml_complaint(struct arena *arena, const yaml_parser_t *parser, const char *text,
    size_t size, const struct place *bracket, struct place *place_r)
{
	const yaml_mark_t *mark = &parser->problem_mark, *from = &parser->context_mark;
	char here = yaml_character(text, size, mark->index);

	if (parser->error == YAML_MEMORY_ERROR)
		arena_exhausted();
	if (parser->error == YAML_READER_ERROR) {
		*place_r = place_of(text, parser->problem_offset);
		return parser->problem;
	}
	*place_r = (struct place){ (uint32_t)mark->line + 1, (uint32_t)mark->column + 1 };
	if (bracket != NULL && here == '\0')
		return arena_printf(arena,
		    "the file ends before the closing bracket of line %u, column %u",
		    bracket->line, bracket->column);
	/* Of a tab it is only said that it "cannot start any token". */
	if (here == '\t' && parser->error == YAML_SCANNER_ERROR)
		return "a tab here: YAML indents with spaces";
	if (parser->context == NULL)
		return parser->problem;
	if (from->index >= mark->index)
		return arena_printf(arena, "%s %s", parser->problem, parser->context);
	return arena_printf(arena, "%s %s from line %zu, column %zu", parser->problem,
	    parser->context, from->line + 1, from->column + 1);
}
