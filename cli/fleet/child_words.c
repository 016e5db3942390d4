#include "child_words.h"

#include <stdlib.h>

#include "memory.h"

char **
child_words_copy(const char *const *words)
{
	size_t count = 0, n;
	char **copy;

	if (words == NULL)
		return NULL;
	while (words[count] != NULL)
		count++;
	copy = xcalloc(count + 1, sizeof *copy);
	for (n = 0; n < count; n++)
		copy[n] = xstrdup(words[n]);
	return copy;
}

void
child_words_free(char **words)
{
	char **word;

	for (word = words; word != NULL && *word != NULL; word++)
		free(*word);
	free(words);
}

char **
child_words_supervised(const char *const *argv)
{
	static const char *const prefix[] = { "setpriv", "--pdeathsig", "TERM" };
	size_t count = 0, n = 0;
	char **copy;

	while (argv[count] != NULL)
		count++;
	copy = xcalloc(count + 4, sizeof *copy);
	for (; n < 3; n++)
		copy[n] = xstrdup(prefix[n]);
	for (; *argv != NULL; argv++)
		copy[n++] = xstrdup(*argv);
	return copy;
}
