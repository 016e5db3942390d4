#include "yaml_build.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "bounds.h"
#include "memory.h"
#include "yaml_breaks.h"
#include "yaml_complaint.h"
#include "yaml_pairs.h"
#include "yaml_scalar.h"
#include "yaml_surrogates.h"

#define STACK_NODES_AT_FIRST 64u

/* An array or map that has not ended. */
struct open {
	enum value_type type;
	struct place place;
	size_t index;          /* the same, in characters */
	size_t start;          /* of its nodes: items, or keys and values in turn */
	struct anchor *anchor; /* or NULL */
};

struct anchor {
	const char *name;
	struct yaml_node node; /* without value until what it names has ended */
};

/* Aliases share one value, and count as if they were copies: a few lines may mean
 * gigabytes. */
struct builder {
	struct arena *arena;
	struct yaml_breaks breaks;
	struct yaml_surrogates surrogates;
	struct yaml_node *stack; /* nodes whose container has not ended */
	size_t count, room;
	struct open opens[VALUE_DEPTH_MAX];
	size_t depth;
	struct anchor anchors[YAML_ANCHORS_MAX]; /* of this document */
	size_t anchor_count;
	size_t nodes;       /* of all documents, aliases where they stand */
	size_t bytes;       /* of their texts, likewise */
	struct place place; /* of the event at hand */
	size_t index;       /* the same, in characters */
	const char *error;
	struct yaml_node *documents;
	size_t document_count;
};

static int
refuse(struct builder *builder, const char *error)
{
	builder->error = error;
	return -1;
}

static int
refuse_at(struct builder *builder, struct place place, const char *error)
{
	builder->place = place;
	return refuse(builder, error);
}

static int
count_nodes(struct builder *builder, size_t nodes, size_t bytes)
{
	builder->nodes += nodes;
	builder->bytes += bytes;
	if (builder->nodes > YAML_NODES_MAX)
		return refuse(
		    builder, "too many values (an alias counts as what it names)");
	if (builder->bytes > YAML_TEXT_BYTES_MAX)
		return refuse(
		    builder, "too much text (an alias counts as what it names)");
	return 0;
}

/* --- the stack ---------------------------------------------------------------------- */

/* True when the next node is a key of the innermost map (or, with is_value, the value of
 * one). */
static bool
in_map(const struct builder *builder, bool is_value)
{
	const struct open *open;

	if (builder->depth == 0)
		return false;
	open = &builder->opens[builder->depth - 1];
	return open->type == VALUE_MAP && (builder->count - open->start) % 2 == is_value;
}

static int
push(struct builder *builder, struct yaml_node node)
{
	if (in_map(builder, false) && !value_is(node.value, VALUE_STR))
		return refuse_at(builder, node.place, "a key must be a string");
	if (in_map(builder, true))
		node.key = builder->stack[builder->count - 1].place;
	if (builder->count == builder->room) {
		builder->room *= 2;
		builder->stack =
		    xreallocarray(builder->stack, builder->room, sizeof *builder->stack);
	}
	builder->stack[builder->count++] = node;
	return 0;
}

/* --- anchors ------------------------------------------------------------------------ */

/* Sets *anchor_r to the new anchor of this name; leaves it NULL without one. */
static int
add_anchor(struct builder *builder, const yaml_char_t *name, struct anchor **anchor_r)
{
	struct anchor *anchor;

	if (name == NULL)
		return 0;
	if (builder->anchor_count == YAML_ANCHORS_MAX)
		return refuse(builder, "too many anchors");
	anchor = &builder->anchors[builder->anchor_count++];
	*anchor =
	    (struct anchor){ .name = arena_strdup(builder->arena, (const char *)name) };
	*anchor_r = anchor;
	return 0;
}

static void
end_anchor(struct anchor *anchor, const struct yaml_node *node)
{
	if (anchor == NULL)
		return;
	anchor->node = *node;
	anchor->node.is_merge = false;
}

static int
on_alias(struct builder *builder, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	struct yaml_node node;
	size_t i = builder->anchor_count;

	while (i > 0 && strcmp(builder->anchors[i - 1].name, name) != 0)
		i--;
	if (i == 0)
		return refuse(builder, "no anchor of this name before; a text that "
				       "begins with '*' wants quotes");
	node = builder->anchors[i - 1].node;
	if (node.value == NULL)
		return refuse(builder, "an alias inside of what it names");
	node.place = builder->place;
	if (builder->depth + node.depth > VALUE_DEPTH_MAX)
		return refuse(builder, "nested too deep");
	if (count_nodes(builder, node.size, node.bytes) == -1)
		return -1;
	return push(builder, node);
}

/* --- scalars ------------------------------------------------------------------------ */

/* Returns a copy of event's text. */
static const char *
scalar_text(struct builder *builder, const yaml_event_t *event, size_t *size_r)
{
	char *text;

	*size_r = event->data.scalar.length;
	text = arena_copy(builder->arena, event->data.scalar.value, *size_r);
	yaml_breaks_back(&builder->breaks, text, *size_r);
	return yaml_surrogates_back(&builder->surrogates, builder->arena, text, size_r,
	    event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE,
	    event->end_mark.index);
}

static int
on_scalar(struct builder *builder, const yaml_event_t *event)
{
	bool is_key = in_map(builder, false);
	bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	const char *tag = (const char *)event->data.scalar.tag;
	struct yaml_node node = { .place = builder->place, .size = 1 };
	struct anchor *anchor = NULL;
	const char *text;
	size_t size;

	node.bytes = event->data.scalar.length;
	if (count_nodes(builder, 1, node.bytes) == -1 ||
	    add_anchor(builder, event->data.scalar.anchor, &anchor) == -1)
		return -1;
	text = scalar_text(builder, event, &size);
	if (is_key && tag == NULL)
		node.value = value_strn(builder->arena, text, size);
	else
		node.value = yaml_scalar(
		    builder->arena, text, size, is_plain, tag, &builder->error);
	if (node.value == NULL)
		return -1;
	node.is_merge = is_key && is_plain && tag == NULL && strcmp(text, "<<") == 0;
	end_anchor(anchor, &node);
	return push(builder, node);
}

/* --- arrays and maps ---------------------------------------------------------------- */

static int
start(struct builder *builder, enum value_type type, const yaml_char_t *tag,
    const yaml_char_t *anchor)
{
	const char *wanted =
	    type == VALUE_MAP ? "tag:yaml.org,2002:map" : "tag:yaml.org,2002:seq";
	const char *name = (const char *)tag;
	struct open *open = &builder->opens[builder->depth];

	if (builder->depth == VALUE_DEPTH_MAX)
		return refuse(builder, "nested too deep");
	if (name != NULL && strcmp(name, "!") != 0 && strcmp(name, wanted) != 0)
		return refuse(
		    builder, arena_printf(builder->arena, "unknown tag %s", name));
	*open =
	    (struct open){ type, builder->place, builder->index, builder->count, NULL };
	builder->depth++;
	if (count_nodes(builder, 1, 0) == -1)
		return -1;
	return add_anchor(builder, anchor, &open->anchor);
}

/* Returns the node of the container that ends, its value still to be set, and takes it
 * and its count_r nodes from the stack. */
static struct yaml_node
end(struct builder *builder, const struct yaml_node **nodes_r, size_t *count_r)
{
	const struct open *open = &builder->opens[--builder->depth];
	struct yaml_node node = { .place = open->place, .size = 1 };
	size_t i;

	*nodes_r = builder->stack + open->start;
	*count_r = builder->count - open->start;
	for (i = open->start; i < builder->count; i++) {
		node.size += builder->stack[i].size;
		node.bytes += builder->stack[i].bytes;
		if (node.depth < builder->stack[i].depth)
			node.depth = builder->stack[i].depth;
	}
	node.depth++;
	builder->count = open->start;
	return node;
}

static int
push_ended(struct builder *builder, const struct yaml_node *node)
{
	end_anchor(builder->opens[builder->depth].anchor, node);
	return push(builder, *node);
}

static int
on_sequence_end(struct builder *builder)
{
	const struct yaml_node *nodes;
	struct value_list list = { .arena = builder->arena };
	struct yaml_node node, *children;
	size_t count, i;

	node = end(builder, &nodes, &count);
	children = arena_alloc(builder->arena, count * sizeof *children);
	for (i = 0; i < count; i++) {
		children[i] = nodes[i];
		value_list_add(&list, nodes[i].value);
	}
	node.value = value_list_end(&list);
	node.children = children;
	return push_ended(builder, &node);
}

/* Adds the pairs that count keys and values may become at most to *room, and counts what
 * is merged. */
static int
count_pairs(
    struct builder *builder, const struct yaml_node *nodes, size_t count, size_t *room)
{
	const struct yaml_node *value;
	long maps, map;
	size_t i;

	for (i = 0; i < count; i += 2) {
		value = &nodes[i + 1];
		if (!nodes[i].is_merge) {
			++*room;
			continue;
		}
		maps = yaml_merged_maps(value);
		if (maps == -1)
			return refuse_at(
			    builder, value->place, "<< takes a map, or a list of maps");
		if (count_nodes(builder, value->size, value->bytes) == -1)
			return -1;
		for (map = 0; map < maps; map++)
			*room += yaml_merged_map(value, map)->value->size;
	}
	return 0;
}

/* Adds what is written here. */
static int
add_own(struct builder *builder, struct yaml_pairs *pairs, const struct yaml_node *nodes,
    size_t count)
{
	size_t i;

	for (i = 0; i < count; i += 2)
		if (!nodes[i].is_merge &&
		    !yaml_pairs_add(pairs, nodes[i].value, &nodes[i + 1]))
			return refuse_at(builder, nodes[i].place,
			    arena_printf(builder->arena, "key \"%s\" is there twice",
				nodes[i].value->text));
	return 0;
}

static int
on_mapping_end(struct builder *builder)
{
	const struct yaml_node *nodes;
	struct yaml_node node;
	struct value *map;
	struct yaml_pairs pairs;
	size_t count, room = 0, i;

	node = end(builder, &nodes, &count);
	if (count_pairs(builder, nodes, count, &room) == -1)
		return -1;
	pairs = yaml_pairs_new(builder->arena, room);
	if (add_own(builder, &pairs, nodes, count) == -1)
		return -1;
	for (i = 0; i < count; i += 2)
		if (nodes[i].is_merge)
			yaml_pairs_merge(&pairs, &nodes[i + 1]);
	map = arena_alloc(builder->arena, sizeof *map);
	map->type = VALUE_MAP;
	map->size = (uint32_t)pairs.count;
	map->pairs = pairs.pairs;
	node.value = map;
	node.children = pairs.children;
	return push_ended(builder, &node);
}

/* --- documents ---------------------------------------------------------------------- */

static int
on_document_end(struct builder *builder)
{
	builder->documents = xreallocarray(
	    builder->documents, builder->document_count + 1, sizeof *builder->documents);
	builder->documents[builder->document_count++] = builder->stack[0];
	builder->count = 0;
	builder->anchor_count = 0;
	return 0;
}

/* Notes where event is. What is written as nothing is where its key is. */
static void
take_place(struct builder *builder, const yaml_event_t *event)
{
	const yaml_mark_t *mark = &event->start_mark;

	builder->index = mark->index;
	if (event->type == YAML_SCALAR_EVENT && mark->index == event->end_mark.index &&
	    in_map(builder, true))
		builder->place = builder->stack[builder->count - 1].place;
	else
		builder->place = (struct place){ (uint32_t)mark->line + 1,
			(uint32_t)mark->column + 1 };
}

static int
on_event(struct builder *builder, const yaml_event_t *event)
{
	take_place(builder, event);
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(builder, event);
	case YAML_ALIAS_EVENT:
		return on_alias(builder, event);
	case YAML_SEQUENCE_START_EVENT:
		return start(builder, VALUE_ARRAY, event->data.sequence_start.tag,
		    event->data.sequence_start.anchor);
	case YAML_SEQUENCE_END_EVENT:
		return on_sequence_end(builder);
	case YAML_MAPPING_START_EVENT:
		return start(builder, VALUE_MAP, event->data.mapping_start.tag,
		    event->data.mapping_start.anchor);
	case YAML_MAPPING_END_EVENT:
		return on_mapping_end(builder);
	case YAML_DOCUMENT_END_EVENT:
		return on_document_end(builder);
	default:
		return 0;
	}
}

/* Returns where the innermost bracket is that is open, or NULL. */
static const struct place *
open_bracket(const struct builder *builder, const char *text, size_t size)
{
	size_t i = builder->depth;
	char first;

	while (i-- > 0) {
		first = yaml_character(text, size, builder->opens[i].index);
		if (first == '[' || first == '{')
			return &builder->opens[i].place;
	}
	return NULL;
}

static int
complain(
    struct builder *builder, const yaml_parser_t *parser, const char *text, size_t size)
{
	builder->error = yaml_complaint(builder->arena, parser, text, size,
	    open_bracket(builder, text, size), &builder->place);
	return -1;
}

static int
read_events(struct builder *builder, yaml_parser_t *parser, const char *text, size_t size)
{
	yaml_event_t event;
	bool ended = false;
	int result = 0;

	while (result == 0 && !ended) {
		if (!yaml_parser_parse(parser, &event))
			return complain(builder, parser, text, size);
		ended = event.type == YAML_STREAM_END_EVENT;
		result = on_event(builder, &event);
		yaml_event_delete(&event);
	}
	return result;
}

static struct yaml_documents
copy_documents(const struct builder *builder)
{
	size_t size = builder->document_count * sizeof *builder->documents;
	struct yaml_node *nodes = arena_alloc(builder->arena, size);

	if (size > 0)
		memcpy(nodes, builder->documents, size);
	return (struct yaml_documents){ nodes, builder->document_count };
}

int
yaml_build(struct arena *arena, const char *text, size_t size,
    struct yaml_documents *documents_r, struct place *place_r, const char **error_r)
{
	struct builder *builder = xcalloc(1, sizeof *builder);
	yaml_parser_t parser;
	int result;

	if (!yaml_parser_initialize(&parser))
		arena_exhausted();
	builder->arena = arena;
	builder->breaks = yaml_breaks_out(arena, text, size);
	builder->surrogates = yaml_surrogates_out(arena, builder->breaks.text, size);
	builder->place = (struct place){ 1, 1 };
	builder->room = STACK_NODES_AT_FIRST;
	builder->stack = xcalloc(builder->room, sizeof *builder->stack);
	yaml_parser_set_input_string(
	    &parser, (const unsigned char *)builder->surrogates.text, size);
	result = read_events(builder, &parser, text, size);
	if (result == 0) {
		*documents_r = copy_documents(builder);
	} else {
		*place_r = builder->place;
		*error_r = builder->error;
	}
	yaml_parser_delete(&parser);
	free(builder->documents);
	free(builder->stack);
	free(builder);
	return result;
}
