/* $ref: what $id, $anchor and JSON pointers mean within one document. */
#include <stdlib.h>
#include <string.h>

#include "schema_check.h"
#include "uri.h"

/* A schema of the document: the base its references are read from. */
struct node {
	const struct value *schema;
	const char *base;
	const struct value *target; /* of its $ref, once found */
};

/* What a URI without a pointer names: a schema with an $id, or "<base>#<anchor>". */
struct named {
	const char *uri;
	const struct value *schema;
	struct named *next;
};

struct ref_index {
	struct arena *arena;
	bool ref_alone;
	struct node *nodes; /* sorted by address */
	size_t count, room;
	struct named *names;
};

/* Where the walk is. */
struct walk {
	struct ref_index *index;
	const char *base;
};

bool
ref_stands_alone(const struct value *root)
{
	static const char *const old[] = { "draft-03", "draft-04", "draft-06",
		"draft-07" };
	const char *dialect = value_get_text(root, "$schema");
	size_t i;

	for (i = 0; dialect != NULL && i < sizeof old / sizeof *old; i++) {
		if (strstr(dialect, old[i]) != NULL)
			return true;
	}
	return false;
}

/* --- the index ---------------------------------------------------------------------- */

static void
add_name(struct ref_index *index, const char *uri, const struct value *schema)
{
	struct named *named = arena_alloc(index->arena, sizeof *named);

	named->uri = uri;
	named->schema = schema;
	named->next = index->names;
	index->names = named;
}

static void
add_node(struct ref_index *index, const struct value *schema, const char *base)
{
	struct node *nodes;

	if (index->count == index->room) {
		index->room = index->room == 0 ? 32 : 2 * index->room;
		nodes = arena_alloc(index->arena, index->room * sizeof *nodes);
		if (index->count > 0)
			memcpy(nodes, index->nodes, index->count * sizeof *nodes);
		index->nodes = nodes;
	}
	index->nodes[index->count++] = (struct node){ .schema = schema, .base = base };
}

/* Returns the base within schema: its own $id's when it has one. Notes its names. */
static const char *
name_schema(struct ref_index *index, const struct value *schema, const char *base)
{
	const char *id = value_get_text(schema, "$id");
	const char *anchor = value_get_text(schema, "$anchor");
	char *uri;

	/* Beside a $ref of draft 7 an $id is nothing. */
	if (index->ref_alone && value_is(value_get(schema, "$ref"), VALUE_STR))
		return base;
	if (id != NULL && id[0] == '#') {
		anchor = id + 1; /* as draft 7 writes $anchor */
	} else if (id != NULL) {
		uri = arena_strdup(index->arena, uri_resolve(index->arena, base, id));
		uri[strcspn(uri, "#")] = '\0';
		base = uri;
		add_name(index, base, schema);
	}
	if (anchor != NULL && anchor[0] != '\0')
		add_name(
		    index, arena_printf(index->arena, "%s#%s", base, anchor), schema);
	return base;
}

static int
walk_schema(void *arg, const struct value *schema, const struct place *place)
{
	const struct walk *walk = arg;
	struct walk inner = *walk;

	(void)place;
	if (!value_is(schema, VALUE_MAP))
		return 0;
	inner.base = name_schema(walk->index, schema, walk->base);
	add_node(walk->index, schema, inner.base);
	return schema_each(walk->index->arena, schema, NULL, walk_schema, &inner);
}

static int
compare_node(const void *a, const void *b)
{
	uintptr_t left = (uintptr_t)((const struct node *)a)->schema;
	uintptr_t right = (uintptr_t)((const struct node *)b)->schema;

	return (left > right) - (left < right);
}

static struct ref_index *
index_new(struct arena *arena, const struct value *root, bool ref_alone)
{
	struct ref_index *index = arena_alloc(arena, sizeof *index);
	struct walk walk = { .index = index, .base = "" };

	index->arena = arena;
	index->ref_alone = ref_alone;
	add_name(index, "", root);
	walk_schema(&walk, root, NULL);
	if (index->count > 0)
		qsort(index->nodes, index->count, sizeof *index->nodes, compare_node);
	return index;
}

static struct node *
find_node(const struct ref_index *index, const struct value *schema)
{
	struct node key = { .schema = schema };

	if (index->count == 0)
		return NULL;
	return bsearch(
	    &key, index->nodes, index->count, sizeof *index->nodes, compare_node);
}

static const struct value *
find_name(const struct ref_index *index, const char *uri)
{
	const struct named *named;

	for (named = index->names; named != NULL; named = named->next) {
		if (strcmp(named->uri, uri) == 0)
			return named->schema;
	}
	return NULL;
}

/* --- JSON pointers ------------------------------------------------------------------ */

/* ~1 is a slash, ~0 a tilde. */
static void
unescape(char *token)
{
	const char *from = token;

	while (*from != '\0') {
		if (from[0] == '~' && (from[1] == '0' || from[1] == '1')) {
			*token++ = from[1] == '0' ? '~' : '/';
			from += 2;
		} else {
			*token++ = *from++;
		}
	}
	*token = '\0';
}

static const struct value *
step_into(const struct value *value, const char *token)
{
	char *end;
	unsigned long index;

	if (value_is(value, VALUE_MAP))
		return value_get(value, token);
	if (!value_is(value, VALUE_ARRAY) || token[0] < '0' || token[0] > '9')
		return NULL;
	index = strtoul(token, &end, 10);
	return *end == '\0' ? value_at(value, index) : NULL;
}

/* Follows pointer ("/a/0", decoded) from value. */
static const struct value *
follow(struct arena *arena, const struct value *value, const char *pointer)
{
	char *token = arena_strdup(arena, pointer), *end;

	while (value != NULL && token != NULL) {
		token++; /* the slash */
		end = strchr(token, '/');
		if (end != NULL)
			*end = '\0';
		unescape(token);
		value = step_into(value, token);
		token = end;
	}
	return value;
}

/* --- looking up --------------------------------------------------------------------- */

static const struct value *
resolve(struct ref_index *index, const char *base, const char *ref, const char **error_r)
{
	struct arena *arena = index->arena;
	char *uri = arena_strdup(arena, uri_resolve(arena, base, ref));
	char *hash = strchr(uri, '#');
	const struct value *target;
	const char *fragment = "";

	if (hash != NULL) {
		*hash = '\0';
		fragment = uri_decode(arena, hash + 1);
	}
	target = find_name(index, uri);
	if (target == NULL) {
		*error_r = arena_printf(arena,
		    "the $ref \"%s\" leads out of the schema, and nothing is fetched",
		    ref);
		return NULL;
	}
	if (fragment[0] == '/')
		target = follow(arena, target, fragment);
	else if (fragment[0] != '\0')
		target = find_name(index, arena_printf(arena, "%s#%s", uri, fragment));
	if (target == NULL)
		*error_r = arena_printf(arena, "the $ref \"%s\" leads to nothing", ref);
	return target;
}

const struct value *
ref_find(struct arena *arena, struct ref_index **index_p, const struct value *root,
    bool ref_alone, const struct value *schema, const char **error_r)
{
	const char *ref = value_get_text(schema, "$ref");
	const struct value *target;
	struct node *node;

	if (*index_p == NULL)
		*index_p = index_new(arena, root, ref_alone);
	node = find_node(*index_p, schema);
	if (node != NULL && node->target != NULL)
		return node->target;
	target = resolve(*index_p, node == NULL ? "" : node->base, ref, error_r);
	if (node != NULL)
		node->target = target;
	return target;
}
