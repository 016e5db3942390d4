/* Agents of a YAML or JSON file, one a document. */
#include <string.h>

#include "bounds.h"
#include "loader.h"
#include "utf8.h"
#include "yaml_file.h"

struct file {
	struct arena *arena;
	struct yaml *yaml;
	const char *path;
	const char *name; /* agents without a name have the file's */
	const struct spec **specs;
	size_t count;
};

/* "agents/support.yaml" is "support". */
static const char *
name_of(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash == NULL ? path : slash + 1;
	const char *dot = strrchr(base, '.');

	return dot == NULL || dot == base ? base
					  : arena_copy(arena, base, (size_t)(dot - base));
}

/* A key says where better than its value, which may begin on another line. What is wrong may quote the whole of it. */
static const char *
reason_at(struct file *file, size_t index, const char *path, const char *error)
{
	bool is_long = strlen(error) > REASON_BYTES_MAX;

	return arena_printf(file->arena, "%s: %s%s",
	    yaml_key_place(file->yaml, file->arena, index, path),
	    is_long ? utf8_shown(file->arena, error, REASON_BYTES_MAX) : error,
	    is_long ? " ..." : "");
}

static const char *
load_document(struct file *file, size_t index)
{
	const char *path, *error;
	const struct value *source = load_code(
	    file->arena, yaml_root(file->yaml, index), file->path, &path, &error);
	struct spec *spec = NULL;
	size_t i;

	if (source != NULL)
		spec = spec_load(file->arena, source, file->name, &path, &error);
	if (spec == NULL)
		return reason_at(file, index, path, error);
	for (i = 0; i < file->count; i++) {
		if (strcmp(file->specs[i]->name, spec->name) == 0)
			return reason_at(file, index, "/name",
			    arena_printf(file->arena,
				"there are two agents \"%s\" in this file: give each "
				"its name",
				spec->name));
	}
	spec->objection = deep_agent_objection(file->arena, source, &path);
	if (spec->objection != NULL)
		spec->objection = reason_at(file, index, path, spec->objection);
	file->specs[file->count++] = spec;
	return NULL;
}

/* Returns what is wrong, or NULL. Empty documents, as behind a last "---", are skipped.
 */
static const char *
load_documents(struct file *file)
{
	size_t count = yaml_count(file->yaml), i;
	const char *error = NULL;

	file->specs = arena_alloc(file->arena, count * sizeof *file->specs);
	for (i = 0; i < count && error == NULL; i++) {
		if (!value_is_nil(yaml_root(file->yaml, i)))
			error = load_document(file, i);
	}
	return error;
}

long
spec_load_file(struct arena *arena, const char *path, const struct spec *const **specs_r,
    const char **error_r)
{
	struct file file = { .arena = arena, .path = path, .name = name_of(arena, path) };
	const char *error;

	file.yaml = yaml_load(arena, path, error_r);
	if (file.yaml == NULL)
		return -1;
	error = load_documents(&file);
	yaml_destroy(&file.yaml);
	if (error == NULL && file.count == 0)
		error =
		    arena_printf(arena, "%s:1:1: there is no agent in this file", path);
	if (error != NULL) {
		*error_r = error;
		return -1;
	}
	*specs_r = file.specs;
	return (long)file.count;
}
