#include "serve_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "key_file.h"
#include "tenant.h"

#define LINE_BYTES_MAX 1024
#define KEY_BYTES_MIN 16u /* what nobody guesses is longer */
#define BLANKS " \t\r\n"

/* Reads one line. Returns NULL, or what is wrong with it. */
static const char *
read_line(struct value_list *keys, char *line)
{
	struct arena *arena = keys->arena;
	const char *key, *tenant, *more;
	char *rest;
	size_t i;

	key = strtok_r(line, BLANKS, &rest);
	if (key == NULL || *key == '#')
		return NULL;
	tenant = strtok_r(NULL, BLANKS, &rest);
	more = tenant != NULL ? strtok_r(NULL, BLANKS, &rest) : NULL;
	if (more != NULL)
		return "more than a key and a tenant";
	if (strlen(key) < KEY_BYTES_MIN)
		return "a key must have 16 characters at least: `openssl rand -hex 24` "
		       "makes one";
	for (i = 0; i < keys->count; i++)
		if (value_text_is(value_get(keys->items[i], "key"), key))
			return "the key stands there twice";
	if (tenant != NULL && !tenant_is_name(tenant))
		return "a tenant has 1 to 32 letters, digits, dots, dashes and "
		       "underscores";
	value_list_add(keys, value_map(arena, "key", value_str(arena, key), "tenant",
				 tenant != NULL ? value_str(arena, tenant) : NULL, NULL));
	return NULL;
}

static const char *
read_file(struct value_list *keys, const char *path, FILE *file)
{
	char line[LINE_BYTES_MAX];
	const char *wrong = NULL;
	unsigned number = 0;

	while (wrong == NULL && fgets(line, sizeof line, file) != NULL) {
		number++;
		wrong = strlen(line) == sizeof line - 1 ? "longer than any key"
							: read_line(keys, line);
	}
	explicit_bzero(line, sizeof line);
	if (wrong != NULL)
		return arena_printf(keys->arena, "%s:%u: %s", path, number, wrong);
	return keys->count == 0 ? arena_printf(keys->arena, "%s: no key is in it", path)
				: NULL;
}

const struct value *
serve_keys_read(struct arena *arena, const char *path, const char **error_r)
{
	struct value_list keys = { .arena = arena };
	FILE *file = fopen(path, "re");
	bool is_read = false;

	if (file == NULL)
		*error_r = arena_printf(arena, "%s: %s", path, strerror(errno));
	else if (key_file_check(path, fileno(file), error_r) == 0)
		is_read = (*error_r = read_file(&keys, path, file)) == NULL;
	if (file != NULL)
		fclose(file);
	return is_read ? value_list_end(&keys) : NULL;
}
