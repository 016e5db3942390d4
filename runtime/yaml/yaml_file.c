#include "yaml_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "memory.h"
#include "place.h"
#include "utf8.h"
#include "yaml_build.h"

struct yaml {
	const char *name;
	struct yaml_documents documents;
};

static const char *
placed(struct arena *arena, const char *name, struct place place)
{
	return arena_printf(
	    arena, "%s:%" PRIu32 ":%" PRIu32, name, place.line, place.column);
}

static bool
is_control(char byte)
{
	return ((uint8_t)byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n') ||
	       byte == 0x7f;
}

/* Returns how many bytes from the start may be in a YAML file. */
static size_t
text_span(const char *text, size_t size)
{
	size_t i = 0, valid = utf8_span(text, size);

	while (i < valid && !is_control(text[i]))
		i++;
	return i;
}

/* Returns where the first %TAG line is that is too many, or size: libyaml compares each
 * with all before. */
static size_t
tags_span(const char *text, size_t size)
{
	size_t i, tags = 0;

	for (i = 0; i + 4 <= size; i++)
		if (text[i] == '%' && memcmp(text + i, "%TAG", 4) == 0 &&
		    (i == 0 || text[i - 1] == '\n' || text[i - 1] == '\r') &&
		    ++tags > YAML_TAGS_MAX)
			return i;
	return size;
}

static int
build(struct yaml *yaml, struct arena *arena, const char *text, size_t size,
    const char **error_r)
{
	struct place place = { 1, 1 };
	size_t span = text_span(text, size);
	const char *reason;

	if (size > SPEC_BYTES_MAX) {
		reason = arena_printf(arena, "larger than %u bytes", SPEC_BYTES_MAX);
	} else if (span < size) {
		place = place_of(text, span);
		reason = "neither UTF-8 nor printable";
	} else if ((span = tags_span(text, size)) < size) {
		place = place_of(text, span);
		reason = "too many %TAG lines";
	} else if (yaml_build(arena, text, size, &yaml->documents, &place, &reason) ==
		   0) {
		return 0;
	}
	*error_r =
	    arena_printf(arena, "%s: %s", placed(arena, yaml->name, place), reason);
	return -1;
}

struct yaml *
yaml_parse(struct arena *arena, const char *name, const char *text, size_t size,
    const char **error_r)
{
	struct yaml *yaml = xcalloc(1, sizeof *yaml);

	yaml->name = arena_strdup(arena, name);
	if (build(yaml, arena, text, size, error_r) == -1)
		yaml_destroy(&yaml);
	return yaml;
}

struct yaml *
yaml_load(struct arena *arena, const char *path, const char **error_r)
{
	char *text =
	    xcalloc(1, SPEC_BYTES_MAX + 1); /* a byte more shows it is too large */
	FILE *file = fopen(path, "re");
	struct yaml *yaml = NULL;
	size_t size;

	if (file != NULL) {
		size = fread(text, 1, SPEC_BYTES_MAX + 1, file);
		if (!ferror(file))
			yaml = yaml_parse(arena, path, text, size, error_r);
	}
	if (file == NULL || ferror(file))
		*error_r = arena_printf(arena, "%s: %s", path, strerror(errno));
	if (file != NULL)
		fclose(file);
	free(text);
	return yaml;
}

void
yaml_destroy(struct yaml **yaml_p)
{
	free(*yaml_p);
	*yaml_p = NULL;
}

size_t
yaml_count(const struct yaml *yaml)
{
	return yaml->documents.count;
}

const struct value *
yaml_root(const struct yaml *yaml, size_t index)
{
	return index < yaml->documents.count ? yaml->documents.nodes[index].value : NULL;
}

/* --- places ------------------------------------------------------------------------- */

/* Returns true when key is the step of size bytes, with ~1 for a slash and ~0 for ~. */
static bool
is_step(const struct value *key, const char *step, size_t size)
{
	size_t i, at = 0;
	char byte;

	for (i = 0; i < size; i++, at++) {
		byte = step[i];
		if (byte == '~' && i + 1 < size)
			byte = step[++i] == '1' ? '/' : '~';
		if (at >= key->size || key->text[at] != byte)
			return false;
	}
	return at == key->size;
}

/* Returns the node that step of size bytes leads to, or NULL. */
static const struct yaml_node *
child(const struct yaml_node *node, const char *step, size_t size)
{
	unsigned long index;
	char *end;
	size_t i;

	if (node->value->type == VALUE_ARRAY) {
		index = strtoul(step, &end, 10);
		return end == step + size && size > 0 && index < node->value->size
			   ? &node->children[index]
			   : NULL;
	}
	if (node->value->type != VALUE_MAP)
		return NULL;
	for (i = 0; i < node->value->size; i++)
		if (is_step(node->value->pairs[i].key, step, size))
			return &node->children[i];
	return NULL;
}

/* Returns the node at path, or its nearest ancestor; *exact_r tells. */
static const struct yaml_node *
node_at(const struct yaml_node *node, const char *path, bool *exact_r)
{
	const struct yaml_node *next;
	size_t size;

	while (*path == '/') {
		size = strcspn(++path, "/");
		next = child(node, path, size);
		if (next == NULL)
			break;
		node = next;
		path += size;
	}
	*exact_r = *path == '\0';
	return node;
}

static const char *
place_at(const struct yaml *yaml, struct arena *arena, size_t index, const char *path,
    bool of_key)
{
	struct place place = { 1, 1 };
	const struct yaml_node *node;
	bool exact;

	if (index < yaml->documents.count) {
		node = node_at(&yaml->documents.nodes[index], path, &exact);
		place = of_key && exact && node->key.line > 0 ? node->key : node->place;
	}
	return placed(arena, yaml->name, place);
}

const char *
yaml_place(const struct yaml *yaml, struct arena *arena, size_t index, const char *path)
{
	return place_at(yaml, arena, index, path, false);
}

const char *
yaml_key_place(
    const struct yaml *yaml, struct arena *arena, size_t index, const char *path)
{
	return place_at(yaml, arena, index, path, true);
}
