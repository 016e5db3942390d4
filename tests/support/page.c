#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES_MAX (1u << 18)

_Noreturn static void
fail(const char *path, const char *why)
{
	fprintf(stderr, "%s: %s\n", path, why);
	abort();
}

const char *
page_read(struct arena *arena, const char *path)
{
	char *text = arena_alloc(arena, PAGE_BYTES_MAX);
	FILE *file = fopen(path, "re");
	size_t size;

	if (file == NULL)
		fail(path, "cannot be opened");
	size = fread(text, 1, PAGE_BYTES_MAX, file);
	fclose(file);
	if (size == PAGE_BYTES_MAX)
		fail(path, "is longer than a page may be");
	text[size] = '\0';
	return text;
}

static void
write_page(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) == EOF || fclose(file) == EOF)
		fail(path, "cannot be written");
}

void
page_check_table(
    struct arena *arena, const char *path, const char *behind, const char *table)
{
	const char *page = page_read(arena, path), *begin, *end, *now;

	begin = strstr(page, arena_printf(arena, "\n%s\n\n|", behind));
	if (begin == NULL)
		fail(path, arena_printf(arena, "has no table behind '%s'", behind));
	begin += strlen(behind) + 3;
	end = strstr(begin, "\n\n");
	end = end != NULL ? end + 1 : strchr(begin, '\0');
	now = arena_copy(arena, begin, (size_t)(end - begin));
	if (getenv("WRITE_PAGES") != NULL)
		write_page(path, arena_printf(arena, "%.*s%s%s", (int)(begin - page),
				     page, table, end));
	else if (strcmp(now, table) != 0)
		fail(path,
		    arena_printf(arena,
			"the table behind '%s' is another one than `make pages` writes",
			behind));
}

const char *
page_block(struct arena *arena, const char **at_p, const char *language)
{
	const char *fence = arena_printf(arena, "\n```%s\n", language);
	const char *begin = strstr(*at_p, fence), *end;

	if (begin == NULL)
		return NULL;
	begin += strlen(fence);
	end = strstr(begin - 1, "\n```");
	if (end == NULL)
		fail(language, "a block of it does not end");
	*at_p = end + 1;
	return arena_copy(arena, begin, (size_t)(end + 1 - begin));
}

/* The lines of a block, up to its fence. */
static void
run_console(struct arena *arena, const char *line, const char *programs)
{
	while (strncmp(line, "```", 3) != 0) {
		const char *from = strchr(line, '\n') + 1, *command;
		char said[8192];
		FILE *shell;

		if (strncmp(line, "$ ", 2) != 0)
			fail(arena_copy(arena, line, strcspn(line, "\n")),
			    "is no command");
		command = arena_copy(arena, line + 2, (size_t)(from - line) - 3);
		shell = popen(
		    arena_printf(arena, "PATH=%s:$PATH; { %s; } 2>&1", programs, command),
		    "r");
		if (shell == NULL)
			fail(command, "cannot be run");
		said[fread(said, 1, sizeof said - 1, shell)] = '\0';
		pclose(shell);
		if (strncmp(from, said, strlen(said)) != 0)
			fail(command,
			    arena_printf(arena, "says\n%snot\n%.400s", said, from));
		line = from + strlen(said);
	}
}

unsigned
page_run_consoles(struct arena *arena, const char *path, const char *programs)
{
	const char *at = page_read(arena, path), *begin = "\n```console\n";
	unsigned blocks = 0;

	for (; (at = strstr(at, begin)) != NULL; blocks++) {
		at += strlen(begin);
		run_console(arena, at, programs);
	}
	return blocks;
}
