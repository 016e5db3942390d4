#include "skills.h"

#include <string.h>

#include "json.h"
#include "utf8.h"

/* The way through all sources. */
struct search {
	struct turn *turn;
	struct arena *arena;
	struct backend *backend;
	struct value_fields found; /* by name */
	struct value_list errors;
	size_t folders, bytes, read;
};

static void __attribute__((format(printf, 2, 3)))
add_error(struct search *search, const char *format, ...)
{
	const char *text;
	va_list args;

	if (search->errors.count >= SKILL_ERRORS_MAX)
		return;
	va_start(args, format);
	text = arena_vprintf(search->arena, format, args);
	va_end(args);
	value_list_add(
	    &search->errors, value_strn(search->arena, text,
				 utf8_first(text, strlen(text), SKILL_ERROR_CHARS_MAX)));
}

/* The last component of a folder's path. */
static const char *
name_of(struct arena *arena, const char *path)
{
	size_t size = strlen(path), begin;

	while (size > 0 && path[size - 1] == '/')
		size--;
	for (begin = size; begin > 0 && path[begin - 1] != '/';)
		begin--;
	return arena_copy(arena, path + begin, size - begin);
}

/* Takes the skill of a file in, if it is one. */
static void
take(struct search *search, const char *path, const char *folder,
    const struct value *content)
{
	const char *warning = NULL, *error = "";
	size_t size;
	const struct value *skill =
	    skill_parse(search->arena, path, name_of(search->arena, folder),
		content->text, content->size, &warning, &error);

	if (skill == NULL) {
		/* Models write these files: what is tried in vain has an end, too. */
		search->bytes += content->size < SKILL_HEAD_BYTES_MAX
				     ? content->size
				     : SKILL_HEAD_BYTES_MAX;
		add_error(search, "%s", error);
		return;
	}
	if (warning != NULL)
		turn_note(search->turn, "%s", warning);
	size = strlen(json_text(search->arena, skill));
	if (size > SKILL_BYTES_MAX) {
		search->bytes += SKILL_HEAD_BYTES_MAX;
		add_error(search, "%s says more than %u bytes of itself", path,
		    SKILL_BYTES_MAX);
		return;
	}
	search->bytes += size;
	value_fields_set(&search->found, value_get_text(skill, "name"), skill);
}

/* Looks into a folder. Returns 0, or -1: cancelled. */
static int
look(struct search *search, const char *folder)
{
	const char *path = arena_printf(search->arena, "%s%s", folder, SKILL_FILE);
	struct backend_file file;

	switch (backend_read(search->backend, path, &file)) {
	case BACKEND_DONE:
		break;
	case BACKEND_MISSING:
		return 0;
	case BACKEND_FAILED:
		add_error(search, "%s: %s", path, search->backend->error);
		return 0;
	case BACKEND_CANCELLED:
		return -1;
	}
	search->read += value_size(file.content);
	if (file.is_base64)
		add_error(search, "%s is no text", path);
	else
		take(search, path, folder, file.content);
	return 0;
}

static int
look_through(struct search *search, const char *source)
{
	struct backend_list list;
	size_t i;

	switch (backend_ls(search->backend, source, &list)) {
	case BACKEND_DONE:
		break;
	case BACKEND_CANCELLED:
		return -1;
	default:
		add_error(search, "%s: %s", source, search->backend->error);
		return 0;
	}
	for (i = 0; i < value_size(list.items); i++) {
		const struct value *item = value_at(list.items, i);

		if (!value_get_bool(item, "is_dir", false))
			continue;
		if (search->folders++ >= SKILL_FOLDERS_MAX ||
		    search->bytes > SKILLS_BYTES_MAX ||
		    search->read > SKILLS_READ_BYTES_MAX) {
			add_error(
			    search, "%s: there are more skills than are read", source);
			return 0;
		}
		if (look(search, value_get_text(item, "path")) == -1)
			return -1;
	}
	return 0;
}

int
skills_load(struct turn *turn, struct backend *backend, const struct value *sources,
    struct skills *skills_r)
{
	struct arena *arena = turn_arena(turn);
	struct search search = { .turn = turn,
		.arena = arena,
		.backend = backend,
		.found = { .arena = arena },
		.errors = { .arena = arena } };
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(sources); i++)
		if (look_through(&search, value_text(value_at(sources, i))) == -1)
			return -1;
	for (i = 0; i < search.found.count; i++)
		value_list_add(&list, search.found.pairs[i].value);
	skills_r->found = value_list_end(&list);
	skills_r->errors = value_list_end(&search.errors);
	return 0;
}
