#include "file_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"
#include "utf8.h"
#include "value.h"

#define LINES_BETWEEN_LOOKS 16u /* at the clock */

/* --- what both middleware have ---------------------------------------------------------- */

const char file_search_glob_parameters[] =
    "{\"type\": \"object\", \"properties\": {"
    "\"pattern\": {\"type\": \"string\", \"description\": \"What the files are "
    "called, as **/*.py\"},"
    "\"path\": {\"type\": \"string\", \"default\": \"/\", \"description\": \"The "
    "folder to look in; / is all\"}},"
    " \"required\": [\"pattern\"]}";

const char file_search_grep_parameters[] =
    "{\"type\": \"object\", \"properties\": {"
    "\"pattern\": {\"type\": \"string\", \"description\": \"A regular "
    "expression, "
    "matched against each line\"},"
    "\"path\": {\"type\": \"string\", \"default\": \"/\", \"description\": \"The "
    "folder or file to search; / is all\"},"
    "\"include\": {\"type\": [\"string\", \"null\"], \"default\": null, "
    "\"description\": \"Names of the files to search, as *.py\"},"
    "\"output_mode\": {\"type\": \"string\", \"default\": "
    "\"files_with_matches\", "
    "\"enum\": [\"files_with_matches\", \"content\", \"count\"]}},"
    " \"required\": [\"pattern\"]}";

enum file_search_mode
file_search_mode_of(const struct value *args)
{
	const struct value *mode = value_get(args, "output_mode");

	if (value_text_is(mode, "content"))
		return FILE_SEARCH_CONTENT;
	return value_text_is(mode, "count") ? FILE_SEARCH_COUNT : FILE_SEARCH_FILES;
}

struct found {
	const char *path;
	int64_t changed;
};

struct searching {
	struct file_search *search;
	struct file_walk walk;
	struct packet text;
	struct found *found; /* of names */
	size_t found_count, found_room;
	char *bytes; /* of the file that is read */
	size_t bytes_room;
	size_t costly; /* files on which the pattern took too much work */
	bool is_full;
};

/* --- the answer ----------------------------------------------------------------------- */

static void
append(struct searching *searching, const char *text)
{
	packet_append(&searching->text, text, strlen(text));
}

/* Adds a line, and says whether there is room for more. */
static bool
add_line(struct searching *searching, const char *line)
{
	if (searching->text.size + strlen(line) + 1 > FILE_SEARCH_ANSWER_BYTES) {
		searching->is_full = true;
		return false;
	}
	if (searching->text.size > 0)
		append(searching, "\n");
	append(searching, line);
	return true;
}

static void
say(struct searching *searching, const char *note)
{
	append(searching, searching->text.size > 0 ? "\n" : "");
	append(searching, note);
}

/* What the model has to know of what it does not see. */
static void
add_notes(struct searching *searching)
{
	struct file_search *search = searching->search;
	struct file_walk *walk = &searching->walk;

	if (searching->text.size == 0)
		append(searching, search->mode == FILE_SEARCH_NAMES ? "No files found"
								    : "No matches found");
	if (searching->is_full)
		say(searching, "[There is more, which was left out: narrow the search.]");
	if (walk->is_late || search->is_late)
		say(searching,
		    "[The search took too long and was stopped: there may be more. "
		    "Narrow the path or the pattern.]");
	if (walk->is_cut)
		say(searching,
		    "[There are too many files, or folders too deep: not all were "
		    "looked at. Narrow the path.]");
	if (walk->unreadable > 0)
		say(searching, arena_printf(search->arena,
				   "[%zu folders could not be read.]", walk->unreadable));
	if (searching->costly > 0)
		say(searching, arena_printf(search->arena,
				   "[The pattern takes too much work on %zu files, which "
				   "were left out: "
				   "make it simpler.]",
				   searching->costly));
}

/* --- files ---------------------------------------------------------------------------- */

static void
keep_found(struct searching *searching, const char *path, int64_t changed)
{
	struct found *grown;

	if (searching->found_count == FILE_SEARCH_FOUND_MAX) {
		searching->walk.is_cut = true;
		return;
	}
	if (searching->found_count == searching->found_room) {
		searching->found_room =
		    searching->found_room == 0 ? 256 : 2 * searching->found_room;
		grown = realloc(
		    searching->found, searching->found_room * sizeof *searching->found);
		if (grown == NULL)
			arena_exhausted();
		searching->found = grown;
	}
	searching->found[searching->found_count++] = (struct found){ path, changed };
}

/* Newest first; of the same age by name. */
static int
compare_found(const void *a, const void *b)
{
	const struct found *one = a, *other = b;

	if (one->changed != other->changed)
		return one->changed < other->changed ? 1 : -1;
	return strcmp(one->path, other->path);
}

static void
add_found(struct searching *searching)
{
	struct arena *arena = searching->search->arena;
	size_t i;

	if (searching->found_count > 0)
		qsort(searching->found, searching->found_count, sizeof *searching->found,
		    compare_found);
	for (i = 0; i < searching->found_count; i++)
		if (!add_line(
			searching, arena_printf(arena, "/%s", searching->found[i].path)))
			break;
	free(searching->found);
}

/* Reads file, of size bytes as it said. Returns how many are in searching->bytes, or -1 when
 * it is too large, or none that people write. */
static ssize_t
read_text(struct searching *searching, int file, uint64_t size)
{
	uint64_t most = searching->search->file_bytes_max;
	size_t have = 0;
	ssize_t got;

	if (size > most)
		return -1;
	if (searching->bytes_room < size + 1) {
		free(searching->bytes);
		searching->bytes_room = (size_t)size + 1;
		searching->bytes = malloc(searching->bytes_room);
		if (searching->bytes == NULL)
			arena_exhausted();
	}
	while (have < size) { /* what is written meanwhile is not ours */
		got = read(file, searching->bytes + have, (size_t)size - have);
		if (got == -1 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	if (memchr(searching->bytes, '\0', have) != NULL ||
	    !utf8_valid(searching->bytes, have))
		return -1;
	return (ssize_t)have;
}

static bool
add_match(struct searching *searching, const char *path, size_t number, const char *line,
    size_t size)
{
	struct arena *arena = searching->search->arena;
	size_t shown;

	if (size > 0 && line[size - 1] == '\r')
		size--;
	shown = utf8_prefix(line, size, FILE_SEARCH_LINE_BYTES);
	return add_line(searching, arena_printf(arena, "/%s:%zu:%.*s%s", path, number,
				       (int)shown, line, shown < size ? "..." : ""));
}

/* Looks for the pattern in the lines of a text. Returns how many have it, until the mode wants no
 * more; -1 when the pattern takes too much work. */
static long
search_lines(struct searching *searching, const char *path, size_t size)
{
	const struct file_search *search = searching->search;
	const char *line = searching->bytes, *end = line + size, *stop;
	size_t number = 1, before = searching->text.size;
	long matches = 0;
	int found;

	for (; line < end; line = stop + 1, number++) {
		if (number % LINES_BETWEEN_LOOKS == 0 &&
		    file_walk_must_stop(&searching->walk))
			break;
		stop = memchr(line, '\n', (size_t)(end - line));
		if (stop == NULL)
			stop = end;
		found = pattern_find(
		    search->pattern, line, (size_t)(stop - line), 0, NULL, NULL);
		if (found == -1) {
			searching->text.size = before;
			return -1;
		}
		matches += found;
		if (found == 1 && search->mode == FILE_SEARCH_FILES)
			break;
		if (found == 1 && search->mode == FILE_SEARCH_CONTENT &&
		    !add_match(searching, path, number, line, (size_t)(stop - line)))
			break;
	}
	return matches;
}

static bool
search_file(struct searching *searching, int file, uint64_t size, const char *path)
{
	const struct file_search *search = searching->search;
	ssize_t have = read_text(searching, file, size);
	long matches = have == -1 ? 0 : search_lines(searching, path, (size_t)have);

	if (matches == -1)
		searching->costly++;
	if (matches > 0 && search->mode == FILE_SEARCH_FILES)
		add_line(searching, arena_printf(search->arena, "/%s", path));
	if (matches > 0 && search->mode == FILE_SEARCH_COUNT)
		add_line(
		    searching, arena_printf(search->arena, "/%s:%ld", path, matches));
	return !searching->is_full && !searching->walk.is_late;
}

/* A pattern without folders is of names when lines are searched: "*.c" means all of them. */
static bool
is_meant(const struct file_search *search, const char *name, const char *inside)
{
	if (search->glob == NULL)
		return true;
	if (search->mode != FILE_SEARCH_NAMES && !file_glob_has_folders(search->glob))
		return file_glob_matches(search->glob, name);
	return file_glob_matches(search->glob, inside);
}

static bool
on_file(void *arg, int folder, const char *name, const char *path, const char *inside)
{
	struct searching *searching = arg;
	const struct file_search *search = searching->search;
	uint64_t size;
	int64_t changed;
	bool more = true;
	int file;

	if (!is_meant(search, name, inside))
		return true;
	file = file_walk_open(folder, name, &size, &changed);
	if (file == -1)
		return true;
	if (search->mode == FILE_SEARCH_NAMES)
		keep_found(searching, path, changed);
	else
		more = search_file(searching, file, size, path);
	close(file);
	return more;
}

/* --- all of them ---------------------------------------------------------------------- */

static void
visit_candidates(struct searching *searching)
{
	const struct file_search *search = searching->search;
	const char *const *path;

	for (path = search->candidates; *path != NULL; path++) {
		if (searching->is_full || file_walk_must_stop(&searching->walk))
			break;
		if (file_walk_one(&searching->walk, *path) == FILE_WALK_NO_ROOT)
			break;
	}
}

void
file_search_look(void *arg, const atomic_bool *stop)
{
	struct file_search *search = arg;
	struct file_walk walk = {
		.arena = search->arena,
		.root = search->root,
		.path = search->path,
		.stop = stop,
	};

	search->end = file_walk_look(&walk);
}

void
file_search_run(void *arg, const atomic_bool *stop)
{
	struct file_search *search = arg;
	struct searching searching = { .search = search };

	searching.walk = (struct file_walk){
		.arena = search->arena,
		.root = search->root,
		.path = search->path,
		.depth =
		    search->mode == FILE_SEARCH_NAMES ? file_glob_depth(search->glob) : 0,
		.end_us = loop_now_us() + search->limit_us,
		.stop = stop,
		.visit = on_file,
		.arg = &searching,
	};
	search->end = search->candidates == NULL ? file_walk(&searching.walk)
						 : file_walk_look(&searching.walk);
	if (search->candidates != NULL && search->end == FILE_WALK_DONE)
		visit_candidates(&searching);
	add_found(&searching);
	add_notes(&searching);
	search->answer =
	    arena_copy(search->arena, searching.text.data, searching.text.size);
	packet_release(&searching.text);
	free(searching.bytes);
}
