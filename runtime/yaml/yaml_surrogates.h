/* yaml_surrogates: JSON's escapes of two halves, "\ud83d\ude00", in YAML. Part of yaml.
 *
 * JSON writes what is above U+FFFF so (RFC 8259, 7); YAML's \u names a character, which a
 * half is not, and libyaml refuses it. What is an escape and what is text only a parser
 * knows. So a pair goes out of the text, for one of a noncharacter that is as long; what
 * has been read gets it back: as the character in double quotes, as written elsewhere. */
#ifndef YAML_SURROGATES_H
#define YAML_SURROGATES_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

struct yaml_pair;

struct yaml_surrogates {
	const char *text; /* to be parsed, of the same size and with the same places */
	const struct yaml_pair *pairs; /* by where they are */
	size_t count, next;
};

/* In arena, and pointing to text, which must outlive it. A text that names the noncharacter itself is left as it is. */
struct yaml_surrogates yaml_surrogates_out(
    struct arena *arena, const char *text, size_t size);

/* Returns what text of *size_r bytes means, a scalar that ends before the character end.
 * To be asked in the order of the file. */
const char *yaml_surrogates_back(struct yaml_surrogates *surrogates, struct arena *arena,
    const char *text, size_t *size_r, bool is_double_quoted, size_t end);

#endif
