/* The pages hold together: each link leads somewhere, to a heading that is there, and every page of
 * docs/ is reached from README.md. Run from the project's folder. */
#include <check.h>
#include <ctype.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"

#define PAGES_MAX 200
#define PAGE_BYTES_MAX (1 << 18)

struct page {
	const char *path;
	const char *text; /* without code, in which nothing is a link */
	bool reached;
};

static struct arena *arena;
static struct page pages[PAGES_MAX];
static size_t page_count;

/* --- reading ------------------------------------------------------------------------ */

/* Blanks out fenced blocks, and code within a line unless it is a heading's. */
static void
drop_code(char *text)
{
	bool fenced = false;
	char *line, *end, *at;

	for (line = text; *line != '\0'; line = *end == '\0' ? end : end + 1) {
		bool is_fence = strncmp(line, "```", 3) == 0, is_code = fenced;

		end = line + strcspn(line, "\n");
		if (is_fence)
			fenced = !fenced;
		for (at = line; at < end; at++) {
			if (!fenced && !is_fence && *line != '#' && *at == '`')
				is_code = !is_code;
			if (fenced || is_fence || is_code)
				*at = ' ';
		}
	}
}

static void
add_page(const char *path)
{
	char *text = arena_alloc(arena, PAGE_BYTES_MAX);
	FILE *file = fopen(path, "re");
	size_t size;

	ck_assert_msg(file != NULL, "%s cannot be opened", path);
	ck_assert_uint_lt(page_count, PAGES_MAX);
	size = fread(text, 1, PAGE_BYTES_MAX - 1, file);
	ck_assert_uint_lt(size, PAGE_BYTES_MAX - 1);
	fclose(file);
	text[size] = '\0';
	drop_code(text);
	pages[page_count++] =
	    (struct page){ .path = arena_strdup(arena, path), .text = text };
}

static int
on_file(const char *path, const struct stat *status, int type, struct FTW *where)
{
	const char *ending = strrchr(path, '.');

	(void)status;
	(void)where;
	if (type == FTW_D && strstr(path, "/node_modules") != NULL)
		return FTW_SKIP_SUBTREE;
	if (type == FTW_F && ending != NULL && strcmp(ending, ".md") == 0)
		add_page(path);
	return FTW_CONTINUE;
}

static void
setup(void)
{
	static const char *const folders[] = { "docs", "examples", "bench" };
	size_t i;

	arena = arena_new();
	page_count = 0;
	add_page("README.md");
	add_page("ARCHITECTURE.md");
	add_page("CONTRIBUTING.md");
	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		ck_assert_int_eq(
		    nftw(folders[i], on_file, 8, FTW_PHYS | FTW_ACTIONRETVAL), 0);
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* --- links -------------------------------------------------------------------------- */

/* "docs/internals/../tools.md" as "docs/tools.md". */
static const char *
plain_path(const char *path)
{
	char *plain = arena_strdup(arena, path), *up, *before;

	while ((up = strstr(plain, "/../")) != NULL) {
		for (before = up; before > plain && before[-1] != '/'; before--)
			;
		memmove(before, up + 4, strlen(up + 4) + 1);
	}
	if (strncmp(plain, "./", 2) == 0)
		plain += 2;
	up = plain + strlen(plain);
	if (up > plain && up[-1] == '/')
		up[-1] = '\0';
	return plain;
}

/* The place that the link of page means; *anchor_r: what stands behind its '#', or NULL. */
static const char *
target_of(const struct page *page, const char *link, const char **anchor_r)
{
	const char *slash = strrchr(page->path, '/'), *hash = strchr(link, '#');
	size_t size = hash != NULL ? (size_t)(hash - link) : strlen(link);
	const char *path = arena_copy(arena, link, size);

	*anchor_r = hash != NULL ? hash + 1 : NULL;
	if (size == 0)
		return page->path;
	if (slash != NULL)
		path = arena_printf(
		    arena, "%.*s/%s", (int)(slash - page->path), page->path, path);
	return plain_path(path);
}

/* The next link within the project behind *at_p, which goes behind it; NULL: there is none. */
static const char *
next_link(const char **at_p)
{
	const char *at = *at_p, *link;
	size_t size;

	while ((at = strstr(at, "](")) != NULL) {
		at += 2;
		size = strcspn(at, ") \n");
		link = arena_copy(arena, at, size);
		at += size;
		if (strstr(link, "://") != NULL)
			continue;
		*at_p = at;
		return link;
	}
	return NULL;
}

static struct page *
find_page(const char *path)
{
	size_t i;

	for (i = 0; i < page_count; i++)
		if (strcmp(pages[i].path, path) == 0)
			return &pages[i];
	return NULL;
}

/* --- anchors ------------------------------------------------------------------------ */

/* What GitHub makes of a heading: "A tool's `name`" is "a-tools-name". */
static const char *
anchor_of(const char *heading, size_t size)
{
	char *anchor = arena_alloc(arena, size + 1), *to = anchor;
	const char *at = heading, *end = heading + size;
	bool is_tag = false;

	for (; at < end; at++) {
		unsigned char c = (unsigned char)*at;

		is_tag = is_tag || c == '<';
		if (c == ' ' && !is_tag)
			*to++ = '-';
		else if (!is_tag && (isalnum(c) || c == '-' || c == '_' || c >= 0x80))
			*to++ = (char)tolower(c);
		is_tag = is_tag && c != '>';
	}
	*to = '\0';
	return anchor;
}

static bool
has_anchor(const struct page *page, const char *anchor)
{
	const char *at = page->text, *heading;
	size_t size;

	if (strstr(at, arena_printf(arena, "<a name=\"%s\">", anchor)) != NULL)
		return true;
	while ((at = strstr(at, "\n#")) != NULL) {
		heading = at + 1 + strspn(at + 1, "#");
		heading += strspn(heading, " ");
		size = strcspn(heading, "\n");
		if (strcmp(anchor_of(heading, size), anchor) == 0)
			return true;
		at = heading;
	}
	return false;
}

START_TEST(every_link_leads_somewhere)
{
	const char *link, *target, *anchor, *at;
	struct stat status;
	size_t count = 0, i;

	for (i = 0; i < page_count; i++) {
		for (at = pages[i].text; (link = next_link(&at)) != NULL; count++) {
			target = target_of(&pages[i], link, &anchor);
			ck_assert_msg(stat(target, &status) == 0,
			    "%s: %s: there is no %s", pages[i].path, link, target);
			ck_assert_msg(anchor == NULL || find_page(target) == NULL ||
					  has_anchor(find_page(target), anchor),
			    "%s: %s: no such heading", pages[i].path, link);
		}
	}
	ck_assert_uint_gt(count, 100);
}
END_TEST

/* --- reachability ------------------------------------------------------------------- */

static void reach(struct page *page);

/* A link to a folder shows what is in it. */
static void
reach_folder(const char *folder)
{
	size_t size = strlen(folder), i;

	for (i = 0; i < page_count; i++)
		if (strncmp(pages[i].path, folder, size) == 0 &&
		    pages[i].path[size] == '/' &&
		    strchr(pages[i].path + size + 1, '/') == NULL)
			reach(&pages[i]);
}

/* As deep as there are pages, at most. */
static void
reach(struct page *page)
{
	const char *link, *target, *anchor, *at = page->text;

	if (page->reached)
		return;
	page->reached = true;
	while ((link = next_link(&at)) != NULL) {
		target = target_of(page, link, &anchor);
		if (find_page(target) != NULL)
			reach(find_page(target));
		else
			reach_folder(target);
	}
}

START_TEST(every_page_is_reached_from_the_readme)
{
	size_t i;

	reach(find_page("README.md"));
	for (i = 0; i < page_count; i++)
		ck_assert_msg(
		    pages[i].reached, "no way leads from README.md to %s", pages[i].path);
}
END_TEST

TCase *tcase_doc_links(void);
TCase *
tcase_doc_links(void)
{
	TCase *tcase = tcase_create("doc_links");

	tcase_set_timeout(tcase, 60); /* it reads all there is */
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, every_link_leads_somewhere);
	tcase_add_test(tcase, every_page_is_reached_from_the_readme);
	return tcase;
}
