#include "has.h"

#include <check.h>
#include <string.h>

void
has_assert(const char *file, int line, const char *text, const char *piece, bool wanted)
{
	bool has = text != NULL && strstr(text, piece) != NULL;

	ck_assert_msg(has == wanted, "%s:%d: \"%.3000s\" %s \"%s\"", file, line,
	    text != NULL ? text : "", wanted ? "has no" : "has", piece);
}
