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

#define NO_QUOTE "found unexpected end of stream"

/* What libyaml says in words of its grammar, in words of the file. */
static const struct plainer {
	const char *problem, *words;
	enum { HERE, FROM, OF } where; /* OF: here, of what is there that it came from */
} plainers[] = {
	{ "found character that cannot start any token",
	    "no text can begin with this character: put the text in quotes", HERE },
	{ "mapping values are not allowed in this context",
	    "no key can be here: put a text with ': ' in it in quotes, or indent the "
	    "line as those it belongs to",
	    HERE },
	{ "block sequence entries are not allowed in this context",
	    "no list can begin here: each '- ' goes on a line of its own", HERE },
	{ "could not find expected ':'", "a key without ': ' behind it", FROM },
	{ "did not find expected alphabetic or numeric character",
	    "'*' is for an alias and '&' for an anchor: put a text that begins so in "
	    "quotes",
	    FROM },
	{ "did not find expected <document start>",
	    "a document begins here without a line '---' before it", HERE },
	{ "found unknown escape character",
	    "no such escape: in double quotes a backslash is \\\\, in single quotes \\",
	    HERE },
	{ "did not find expected hexdecimal number",
	    "too few hexadecimal digits: in double quotes a backslash is \\\\, in single "
	    "quotes \\",
	    HERE },
	{ NO_QUOTE, "the file ends before the closing quote of", OF },
	{ "did not find expected key",
	    "a key is wanted here, indented as the others of the map of", OF },
	{ "did not find expected '-' indicator",
	    "a '- ' is wanted here, indented as the others of the list of", OF },
	{ "did not find expected node content", "no value can begin like this", HERE },
};

static const struct plainer *
plainer_of(const char *problem)
{
	const size_t count = sizeof plainers / sizeof *plainers;
	size_t i = 0;

	while (i < count && strcmp(plainers[i].problem, problem) != 0)
		i++;
	return i < count ? &plainers[i] : NULL;
}

static struct place
place_at(const yaml_mark_t *mark)
{
	return (struct place){ (uint32_t)mark->line + 1, (uint32_t)mark->column + 1 };
}

static const char *
in_plain_words(struct arena *arena, const struct plainer *plainer, struct place began,
    struct place *place_r)
{
	if (plainer->where == FROM)
		*place_r = began;
	if (plainer->where != OF)
		return plainer->words;
	return arena_printf(
	    arena, "%s line %u, column %u", plainer->words, began.line, began.column);
}

const char *
yaml_complaint(struct arena *arena, const yaml_parser_t *parser, const char *text,
    size_t size, const struct place *bracket, struct place *place_r)
{
	const yaml_mark_t *mark = &parser->problem_mark, *from = &parser->context_mark;
	char here = yaml_character(text, size, mark->index);
	const struct plainer *plainer;

	if (parser->error == YAML_MEMORY_ERROR)
		arena_exhausted();
	if (parser->error == YAML_READER_ERROR) {
		*place_r = place_of(text, parser->problem_offset);
		return parser->problem;
	}
	*place_r = place_at(mark);
	if (bracket != NULL && here == '\0' && strcmp(parser->problem, NO_QUOTE) != 0)
		return arena_printf(arena,
		    "the file ends before the closing bracket of line %u, column %u",
		    bracket->line, bracket->column);
	/* Of a tab it is only said that it "cannot start any token". */
	if (here == '\t' && parser->error == YAML_SCANNER_ERROR)
		return "a tab here: YAML indents with spaces";
	plainer = plainer_of(parser->problem);
	if (plainer != NULL)
		return in_plain_words(arena, plainer, place_at(from), place_r);
	if (parser->context == NULL)
		return parser->problem;
	if (from->index >= mark->index)
		return arena_printf(arena, "%s %s", parser->problem, parser->context);
	return arena_printf(arena, "%s %s from line %zu, column %zu", parser->problem,
	    parser->context, from->line + 1, from->column + 1);
}
