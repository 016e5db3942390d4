#include "item_key.h"

#include <string.h>

#include "bounds.h"
#include "store.h"

/* Has between 1 and max bytes, none of them a control character. */
static bool
is_name(const struct value *value, size_t max)
{
	const char *text = value_text(value);
	size_t size = value_size(value), i;

	if (text == NULL || size == 0 || size > max)
		return false;
	for (i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

const char *
item_space(struct arena *arena, const struct value *namespace, bool may_be_empty,
    const char **error_r)
{
	const char *space = "";
	size_t i;

	if (!value_is(namespace, VALUE_ARRAY) ||
	    value_size(namespace) > ITEM_LABELS_MAX ||
	    (value_size(namespace) == 0 && !may_be_empty)) {
		*error_r = arena_printf(arena,
		    "namespace: must be a list of %s labels such as [\"users\", \"7\"]",
		    may_be_empty ? "up to 16" : "1 to 16");
		return NULL;
	}
	for (i = 0; i < value_size(namespace); i++) {
		if (!is_name(value_at(namespace, i), ITEM_LABEL_BYTES_MAX)) {
			*error_r = arena_printf(arena,
			    "namespace[%zu]: a label is a text of 1 to %u bytes without "
			    "control characters",
			    i, ITEM_LABEL_BYTES_MAX);
			return NULL;
		}
		space = arena_printf(arena, "%s%s%c", space,
		    value_text(value_at(namespace, i)), ITEM_LABEL_END);
	}
	return space;
}

const char *
item_member(
    struct arena *arena, const char *space, const struct value *key, const char **error_r)
{
	if (!is_name(key, ITEM_KEY_BYTES_MAX)) {
		*error_r = arena_printf(arena,
		    "key: must be a text of 1 to %u bytes without control characters",
		    ITEM_KEY_BYTES_MAX);
		return NULL;
	}
	return arena_printf(arena, "%s%c%s", space, ITEM_KEY_BEGIN, value_text(key));
}

const struct value *
item_labels(struct arena *arena, const char *member, const char **key_r)
{
	struct value_list labels = { .arena = arena };

	*key_r = NULL;
	while (*member != '\0' && *member != ITEM_KEY_BEGIN) {
		const char *end = strchr(member, ITEM_LABEL_END);

		if (end == NULL)
			return NULL;
		value_list_add(
		    &labels, value_strn(arena, member, (size_t)(end - member)));
		member = end + 1;
	}
	if (*member == ITEM_KEY_BEGIN)
		*key_r = member + 1;
	return value_list_end(&labels);
}

unsigned
item_shard(const char *space)
{
	char first[ITEM_LABEL_BYTES_MAX + 1];
	size_t size = strcspn(space, "\37");

	if (size >= sizeof first)
		size = sizeof first - 1;
	memcpy(first, space, size);
	first[size] = '\0';
	return store_shard(first);
}
