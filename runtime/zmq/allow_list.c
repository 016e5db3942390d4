#include "allow_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "nearest.h"
#include "value.h"
#include "wire.h"
#include "yaml_file.h"

struct reading {
	struct arena *arena;
	const struct yaml *yaml;
	struct allow_entry *entries;
	size_t index; /* of the entry under way */
	const char *error;
};

/* --- refusing ------------------------------------------------------------------------- */

static int refuse(struct reading *reading, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int
refuse(struct reading *reading, const char *path, const char *format, ...)
{
	const char *reason;
	va_list args;

	va_start(args, format);
	reason = arena_vprintf(reading->arena, format, args);
	va_end(args);
	reading->error = arena_printf(reading->arena, "%s: %s",
	    yaml_place(reading->yaml, reading->arena, 0, path), reason);
	return -1;
}

static const char *
path_of(const struct reading *reading, const char *key)
{
	return arena_printf(reading->arena, "/keys/%zu%s%s", reading->index,
	    *key == '\0' ? "" : "/", key);
}

/* --- the keys of an entry --------------------------------------------------------------- */

static int
read_key(struct reading *reading, struct allow_entry *entry, const struct value *value)
{
	const char *text = value_text(value);
	size_t i;

	if (text == NULL || strlen(text) != value->size || !key_is_text(text))
		return refuse(reading, path_of(reading, "key"),
		    "a key is 40 characters of Z85 in quotes, as `flotilla keys show` "
		    "prints it");
	memcpy(entry->key, text, sizeof entry->key);
	for (i = 0; i < reading->index; i++)
		if (strcmp(reading->entries[i].key, text) == 0)
			return refuse(reading, path_of(reading, "key"),
			    "this key is on the list already, as '%s'",
			    reading->entries[i].name);
	return 0;
}

static int
read_name(struct reading *reading, struct allow_entry *entry, const struct value *value)
{
	const char *text = value_text(value);
	size_t i;

	if (text == NULL || strlen(text) != value->size ||
	    !wire_is_id(text, ID_BYTES_MAX))
		return refuse(reading, path_of(reading, "name"),
		    "a name is text of 1 to %u printable characters without spaces",
		    ID_BYTES_MAX);
	for (i = 0; i < reading->index; i++)
		if (strcmp(reading->entries[i].name, text) == 0)
			return refuse(reading, path_of(reading, "name"),
			    "there are two keys of the name '%s'", text);
	entry->name = text;
	return 0;
}

unsigned
allow_role_bit(const char *word)
{
	static const enum wire_role roles[] = { ROLE_COORDINATOR, ROLE_WORKER,
		ROLE_CLIENT };
	size_t i;

	for (i = 0; i < sizeof roles / sizeof roles[0]; i++)
		if (strcmp(wire_role_name(roles[i]), word) == 0)
			return 1u << roles[i];
	return 0;
}

static int
read_roles(struct reading *reading, struct allow_entry *entry, const struct value *value)
{
	size_t i;

	if (!value_is(value, VALUE_ARRAY) || value->size == 0)
		return refuse(reading, path_of(reading, "roles"),
		    "roles is a list of worker, coordinator, client; at least one of "
		    "them");
	for (i = 0; i < value->size; i++) {
		const char *word = value_text(value->items[i]);
		unsigned bit = word == NULL ? 0 : allow_role_bit(word);

		if (bit == 0)
			return refuse(reading,
			    arena_printf(
				reading->arena, "/keys/%zu/roles/%zu", reading->index, i),
			    "a role is worker, coordinator or client, not %s",
			    word == NULL ? value_type_name(value->items[i]->type) : word);
		entry->roles |= bit;
	}
	return 0;
}

/* "tool:*": a star is the end. */
static bool
is_pattern(const char *text)
{
	return wire_is_id(text, SERVICE_BYTES_MAX) &&
	       strchr(text, '*') ==
		   (text[strlen(text) - 1] == '*' ? text + strlen(text) - 1 : NULL);
}

static int
read_patterns(struct reading *reading, const char *key, const struct value *value,
    const char *const **patterns_r)
{
	size_t i, count = value_size(value);
	const char **patterns;

	if (!value_is(value, VALUE_ARRAY) || count > SERVICES_MAX)
		return refuse(reading, path_of(reading, key),
		    "%s is a list of at most %u services such as [\"tool:*\", "
		    "\"model:openai\"]",
		    key, SERVICES_MAX);
	patterns = arena_alloc(reading->arena, (count + 1) * sizeof *patterns);
	for (i = 0; i < count; i++) {
		const char *text = value_text(value->items[i]);

		if (text == NULL || strlen(text) != value->items[i]->size ||
		    !is_pattern(text))
			return refuse(reading,
			    arena_printf(reading->arena, "/keys/%zu/%s/%zu",
				reading->index, key, i),
			    "a service is text such as \"tool:search\", or the beginning "
			    "of some with one '*' at its end");
		patterns[i] = text;
	}
	patterns[count] = NULL;
	*patterns_r = patterns;
	return 0;
}

static int
read_services(
    struct reading *reading, struct allow_entry *entry, const struct value *value)
{
	return read_patterns(reading, "services", value, &entry->services);
}

static int
read_calls(struct reading *reading, struct allow_entry *entry, const struct value *value)
{
	return read_patterns(reading, "calls", value, &entry->calls);
}

static int
read_tenant(struct reading *reading, struct allow_entry *entry, const struct value *value)
{
	const char *text = value_text(value);

	if (text == NULL || strlen(text) != value->size ||
	    !wire_is_id(text, ID_BYTES_MAX))
		return refuse(reading, path_of(reading, "tenant"),
		    "a tenant is text of 1 to %u printable characters without spaces",
		    ID_BYTES_MAX);
	entry->tenant = text;
	return 0;
}

static int
read_sessions_max(
    struct reading *reading, struct allow_entry *entry, const struct value *value)
{
	if (!value_is(value, VALUE_INT) || value->integer < 1 ||
	    value->integer > (int64_t)SESSIONS_MAX)
		return refuse(reading, path_of(reading, "sessions_max"),
		    "sessions_max is a whole number from 1 to %u", SESSIONS_MAX);
	entry->sessions_max = (uint32_t)value->integer;
	return 0;
}

static const struct key {
	const char *name;
	int (*read)(struct reading *reading, struct allow_entry *entry,
	    const struct value *value);
	const char *why; /* it is required, or NULL */
} keys[] = {
	{ "key", read_key, "it says who is meant" },
	{ "name", read_name, "logs and `flotilla keys revoke` speak of it" },
	{ "roles", read_roles, "without a role a key opens nothing" },
	{ "services", read_services, NULL },
	{ "calls", read_calls, NULL },
	{ "tenant", read_tenant, NULL },
	{ "sessions_max", read_sessions_max, NULL },
};
#define KEY_COUNT (sizeof keys / sizeof keys[0])

/* --- entries ---------------------------------------------------------------------------- */

static int
check_key(struct reading *reading, const char *given)
{
	const char *names[KEY_COUNT], *nearest;
	size_t i;

	for (i = 0; i < KEY_COUNT; i++) {
		if (strcmp(keys[i].name, given) == 0)
			return 0;
		names[i] = keys[i].name;
	}
	nearest = nearest_name(given, names, KEY_COUNT);
	reading->error = arena_printf(reading->arena, "%s: unknown key '%s'%s%s%s",
	    yaml_key_place(reading->yaml, reading->arena, 0, path_of(reading, given)),
	    given, nearest != NULL ? "; did you mean '" : "",
	    nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
	return -1;
}

/* What is not said: a worker's middleware may ask models and the store, a coordinator anybody. */
static void
fill_defaults(struct allow_entry *entry)
{
	static const char *const none[] = { NULL }, *const all[] = { "*", NULL },
				 *const helps[] = { "model:*", "store", NULL };

	if (entry->services == NULL)
		entry->services = none;
	if (entry->calls == NULL && (entry->roles & 1u << ROLE_COORDINATOR) != 0)
		entry->calls = all;
	else if (entry->calls == NULL)
		entry->calls = (entry->roles & 1u << ROLE_WORKER) != 0 ? helps : none;
	if (entry->sessions_max == 0)
		entry->sessions_max = KEY_SESSIONS_MAX;
}

static int
check_entry(struct reading *reading, const struct allow_entry *entry)
{
	bool works = (entry->roles & 1u << ROLE_WORKER) != 0;

	if (works && entry->services == NULL)
		return refuse(reading, path_of(reading, ""),
		    "a worker's key names the services it may serve: services: "
		    "[\"tool:*\"], or [\"*\"] for all");
	if (!works && entry->services != NULL)
		return refuse(reading, path_of(reading, "services"),
		    "only workers serve something; give it the role, or leave services "
		    "away");
	return 0;
}

static uint32_t
line_of(struct reading *reading)
{
	const char *place =
	    yaml_place(reading->yaml, reading->arena, 0, path_of(reading, ""));
	const char *colon = strrchr(place, ':');

	while (colon > place && colon[-1] != ':')
		colon--;
	return (uint32_t)strtoul(colon, NULL, 10);
}

static int
read_entry(struct reading *reading, const struct value *value)
{
	struct allow_entry *entry = &reading->entries[reading->index];
	size_t i;

	if (!value_is(value, VALUE_MAP))
		return refuse(reading, path_of(reading, ""),
		    "an entry is a map with key, name and roles");
	for (i = 0; i < value->size; i++)
		if (check_key(reading, value->pairs[i].key->text) == -1)
			return -1;
	for (i = 0; i < KEY_COUNT; i++) {
		const struct value *field = value_get(value, keys[i].name);

		if (field == NULL && keys[i].why != NULL)
			return refuse(reading, path_of(reading, ""),
			    "'%s' is missing: %s", keys[i].name, keys[i].why);
		if (field != NULL && keys[i].read(reading, entry, field) == -1)
			return -1;
	}
	if (check_entry(reading, entry) == -1)
		return -1;
	fill_defaults(entry);
	entry->line = line_of(reading);
	return 0;
}

/* --- the file --------------------------------------------------------------------------- */

static int
read_root(struct reading *reading, size_t *count_r)
{
	const struct value *root = yaml_root(reading->yaml, 0);
	const struct value *list = value_get(root, "keys");

	*count_r = 0;
	if (value_is_nil(root))
		return 0;
	if (yaml_count(reading->yaml) > 1)
		return refuse(reading, "", "an allow list is one document");
	if (!value_is(root, VALUE_MAP) || root->size != 1 || list == NULL)
		return refuse(
		    reading, "", "an allow list has one key, 'keys', which is a list");
	if (value_is_nil(list))
		return 0;
	if (!value_is(list, VALUE_ARRAY))
		return refuse(reading, "/keys", "keys is a list of entries");
	if (list->size > ALLOWED_KEYS_MAX)
		return refuse(
		    reading, "/keys", "more than %u keys on one list", ALLOWED_KEYS_MAX);
	reading->entries =
	    arena_alloc(reading->arena, (list->size + 1) * sizeof *reading->entries);
	for (; reading->index < list->size; reading->index++)
		if (read_entry(reading, list->items[reading->index]) == -1)
			return -1;
	*count_r = list->size;
	return 0;
}

/* Counts lines as `flotilla keys` does, which edits the file by them. A carriage return alone
 * ends a line for YAML and not for it: no such file. Returns 0, or -1 with a reason. */
static int
count_lines(struct arena *arena, const char *name, const char *text, size_t size,
    uint32_t *lines_r, const char **error_r)
{
	size_t i, begin = 0;

	*lines_r = 1;
	for (i = 0; i + 1 < size; i++) {
		if (text[i] == '\n') {
			begin = i + 1;
			++*lines_r;
		}
		if (text[i] != '\r' || text[i + 1] == '\n')
			continue;
		*error_r = arena_printf(arena,
		    "%s:%u:%zu: a carriage return stands alone; lines end with a line "
		    "feed",
		    name, *lines_r, i - begin + 1);
		return -1;
	}
	return 0;
}

const struct allow_list *
allow_list_parse(struct arena *arena, const char *name, const char *text, size_t size,
    const char **error_r)
{
	struct allow_list *list = arena_alloc(arena, sizeof *list);
	struct yaml *yaml;
	struct reading reading = { .arena = arena };
	int result;

	if (count_lines(arena, name, text, size, &list->lines, error_r) == -1)
		return NULL;
	reading.yaml = yaml = yaml_parse(arena, name, text, size, error_r);
	if (yaml == NULL)
		return NULL;
	result = yaml_count(yaml) == 0 ? 0 : read_root(&reading, &list->count);
	yaml_destroy(&yaml);
	list->entries = reading.entries;
	*error_r = reading.error;
	return result == 0 ? list : NULL;
}

static int
check_writers(struct arena *arena, const char *path, int fd, const char **error_r)
{
	struct stat status;

	if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode)) {
		*error_r = arena_printf(arena, "%s: is not a file", path);
		return -1;
	}
	if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return 0;
	*error_r = arena_printf(arena,
	    "%s: others can write it (mode %03o), and so let anybody in; mend that with: "
	    "chmod go-w %s",
	    path, (unsigned)(status.st_mode & 0777), path);
	return -1;
}

const struct allow_list *
allow_list_load(struct arena *arena, const char *path, const char **error_r)
{
	const struct allow_list *list = NULL;
	/* Who opens a pipe would else wait for its writer, and a broker's loop with it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *in = fd == -1 ? NULL : fdopen(fd, "r");
	char *text;
	size_t size;

	if (in == NULL) {
		*error_r = arena_printf(arena, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (check_writers(arena, path, fileno(in), error_r) == 0) {
		/* One more byte than may be: then it is refused as too large. */
		text = arena_alloc(arena, SPEC_BYTES_MAX + 1);
		size = fread(text, 1, SPEC_BYTES_MAX + 1, in);
		if (ferror(in))
			*error_r = arena_printf(arena, "%s: %s", path, strerror(errno));
		else
			list = allow_list_parse(arena, path, text, size, error_r);
	}
	fclose(in);
	return list;
}

bool
allow_matches(const char *const *patterns, const char *service)
{
	for (; *patterns != NULL; patterns++) {
		size_t size = strlen(*patterns);

		if ((*patterns)[size - 1] == '*'
			? strncmp(*patterns, service, size - 1) == 0
			: strcmp(*patterns, service) == 0)
			return true;
	}
	return false;
}
