/* child_words: lists of words, NULL-ended, as a child of `flotilla up` is given them. */
#ifndef CHILD_WORDS_H
#define CHILD_WORDS_H

/* Returns a new copy; NULL of NULL. */
char **child_words_copy(const char *const *words);

/* Returns the new words of a command that runs argv, and ends it with SIGTERM when we die in a way we cannot
 * clean up after. */
char **child_words_supervised(const char *const *argv);

/* NULL is fine. */
void child_words_free(char **words);

#endif
