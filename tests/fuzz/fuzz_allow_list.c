/* An allow list is refused with its place, or says of each key what it may do. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allow_list.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_patterns(const char *const *patterns)
{
	for (; *patterns != NULL; patterns++)
		if (!wire_is_id(*patterns, SERVICE_BYTES_MAX) ||
		    !allow_matches(patterns, *patterns))
			abort();
}

static void
check_entry(const struct allow_list *list, size_t index)
{
	const struct allow_entry *entry = &list->entries[index];
	size_t i;

	if (!key_is_text(entry->key) || !wire_is_id(entry->name, ID_BYTES_MAX) ||
	    entry->roles == 0 || entry->sessions_max == 0 || entry->line == 0 ||
	    entry->line > list->lines)
		abort();
	check_patterns(entry->services);
	check_patterns(entry->calls);
	for (i = 0; i < index; i++)
		if (strcmp(list->entries[i].key, entry->key) == 0 ||
		    strcmp(list->entries[i].name, entry->name) == 0)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *error = NULL;
	const struct allow_list *list =
	    allow_list_parse(arena, "fuzz", (const char *)data, size, &error);
	size_t i;

	if (list == NULL && strncmp(error, "fuzz:", 5) != 0)
		abort();
	for (i = 0; list != NULL && i < list->count; i++)
		check_entry(list, i);
	arena_destroy(&arena);
	return 0;
}
