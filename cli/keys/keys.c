/* keys: key pairs, and the list of those the broker lets in. */
#include <stdio.h>
#include <string.h>

#include "allow_list.h"
#include "command.h"
#include "key_file.h"
#include "keys_acl.h"
#include "keys_edit.h"
#include "tame.h"
#include "wire.h"

struct keys_settings {
	struct common_settings common;
	const char *allow;
	const char *name, *tenant;
	const char **roles, **services, **calls;
};

#define SETTING(field) offsetof(struct keys_settings, field)
static const struct setting keys_table[] = {
	COMMON_SETTINGS,
	{ "allow", SETTING_TEXT, SETTING(allow), "allow.yaml", 0, 0, NULL,
	    "the broker's allow list", 'a' },
	{ "as", SETTING_TEXT, SETTING(name), NULL, 0, 0, NULL,
	    "allow: the key's name on the list (default: that of its file)", 0 },
	{ "role", SETTING_LIST, SETTING(roles), NULL, 0, 0, NULL,
	    "allow: worker, coordinator, client, or several of them", 'r' },
	{ "service", SETTING_LIST, SETTING(services), NULL, 0, 0, NULL,
	    "allow: what a worker may serve, such as tool:search, or 'tool:*'", 0 },
	{ "call", SETTING_LIST, SETTING(calls), NULL, 0, 0, NULL,
	    "allow: what it may call (default: coordinators all, workers 'model:*' and "
	    "store)",
	    0 },
	{ "tenant", SETTING_TEXT, SETTING(tenant), NULL, 0, 0, NULL,
	    "allow: whom its calls count to", 0 },
	SETTINGS_END,
};

/* --- new, show ---------------------------------------------------------------------------- */

static enum status
run_new(struct session *session, const struct keys_settings *settings, const char *path)
{
	char public_key[KEY_TEXT_BYTES];
	const char *error;

	(void)settings;
	if (key_file_create(path, public_key, &error) == -1) {
		complain("%s", error);
		return STATUS_FAILED;
	}
	if (session_json(session))
		printf("%s\n",
		    tame_json(session_arena(session),
			value_map(session_arena(session), "file",
			    value_str(session_arena(session), path), "public",
			    value_str(session_arena(session), public_key), NULL)));
	else
		printf("%s      the pair; keep it to yourself\n"
		       "%s.pub  the public half, for others: %s\n",
		    path, path, public_key);
	return STATUS_OK;
}

static enum status
run_show(struct session *session, const struct keys_settings *settings, const char *path)
{
	char public_key[KEY_TEXT_BYTES];
	const char *error;

	(void)session;
	(void)settings;
	if (key_public(path, public_key, &error) == -1) {
		complain("%s", error);
		return STATUS_FAILED;
	}
	printf("%s\n", public_key);
	return STATUS_OK;
}

/* --- allow, revoke, list ---------------------------------------------------------------------- */

/* "keys/tools.key.pub": tools. */
static const char *
name_of_file(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;

	return arena_copy(arena, name, strcspn(name, "."));
}

/* "--role a --role b" and "--role a,b" are the same. Returns NULL for none. */
static const char *const *
split(struct arena *arena, const char **list)
{
	const char **words;
	size_t count = 0, room = 1, i;

	if (*list == NULL)
		return NULL;
	for (i = 0; list[i] != NULL; i++)
		room += strlen(list[i]) + 1;
	words = arena_alloc(arena, room * sizeof *words);
	for (; *list != NULL; list++) {
		const char *at = *list;

		while (*at != '\0') {
			size_t size = strcspn(at, ",");

			if (size > 0)
				words[count++] = arena_copy(arena, at, size);
			at += size + (at[size] == ',');
		}
	}
	words[count] = NULL;
	return words;
}

static enum status
read_roles(const char *const *role, struct allow_entry *entry)
{
	for (; role != NULL && *role != NULL; role++) {
		unsigned bit = allow_role_bit(*role);

		if (bit == 0) {
			complain(
			    "--role '%s': must be worker, coordinator or client", *role);
			return STATUS_USAGE;
		}
		entry->roles |= bit;
	}
	if (entry->roles != 0)
		return STATUS_OK;
	complain("what may this key do? Give --role worker (with --service), coordinator "
		 "or client");
	return STATUS_USAGE;
}

static enum status
run_allow(struct session *session, const struct keys_settings *settings, const char *key)
{
	struct arena *arena = session_arena(session);
	struct allow_entry entry = { .services = split(arena, settings->services),
		.calls = split(arena, settings->calls),
		.tenant = settings->tenant,
		.name = settings->name };
	const char *error;
	enum status status;

	if (key_public(key, entry.key, &error) == -1) {
		complain("%s", error);
		return STATUS_USAGE;
	}
	if (entry.name == NULL && key_is_text(key)) {
		complain("a key without its file needs a name: --as NAME");
		return STATUS_USAGE;
	}
	if (entry.name == NULL)
		entry.name = name_of_file(arena, key);
	status = read_roles(split(arena, settings->roles), &entry);
	if (status == STATUS_OK && (entry.roles & 1u << ROLE_WORKER) != 0 &&
	    (entry.services == NULL || entry.services[0] == NULL)) {
		complain("--role worker goes together with --service, what it may serve: "
			 "'tool:*', or "
			 "'*' for all");
		status = STATUS_USAGE;
	}
	if (status == STATUS_OK)
		status = keys_edit_add(arena, settings->allow, &entry);
	if (status == STATUS_OK)
		printf("%s is on %s; brokers that watch it let it in within a second\n",
		    entry.name, settings->allow);
	return status;
}

static enum status
run_revoke(
    struct session *session, const struct keys_settings *settings, const char *name)
{
	const struct allow_entry *removed;
	enum status status =
	    keys_edit_remove(session_arena(session), settings->allow, name, &removed);

	if (status == STATUS_OK)
		printf("%s is no longer on %s; its sessions end within a second\n",
		    removed->name, settings->allow);
	return status;
}

static const struct value *
texts_value(struct arena *arena, const char *const *texts)
{
	struct value_list list = { .arena = arena };

	for (; *texts != NULL; texts++)
		value_list_add(&list, value_str(arena, *texts));
	return value_list_end(&list);
}

static const struct value *
roles_value(struct arena *arena, unsigned roles)
{
	struct value_list list = { .arena = arena };
	unsigned role;

	for (role = ROLE_COORDINATOR; role <= ROLE_CLIENT; role++)
		if ((roles & 1u << role) != 0)
			value_list_add(&list, value_str(arena, wire_role_name(role)));
	return value_list_end(&list);
}

static const struct value *
entry_value(struct arena *arena, const struct allow_entry *entry)
{
	return value_map(arena, "name", value_str(arena, entry->name), "key",
	    value_str(arena, entry->key), "roles", roles_value(arena, entry->roles),
	    "services", texts_value(arena, entry->services), "calls",
	    texts_value(arena, entry->calls), "tenant",
	    entry->tenant == NULL ? NULL : value_str(arena, entry->tenant),
	    "sessions_max", value_int(arena, entry->sessions_max), NULL);
}

static const char *
words(struct arena *arena, const struct value *texts)
{
	const char *line = "";
	size_t i;

	for (i = 0; i < value_size(texts); i++)
		line = arena_printf(arena, "%s%s%s", line, i == 0 ? "" : ",",
		    value_text(value_at(texts, i)));
	return *line == '\0' ? "-" : line;
}

static void
print_entry(struct arena *arena, const struct value *entry)
{
	printf("%-16s %s  %-26s %-24s %-12s %s\n", value_get_text(entry, "name"),
	    value_get_text(entry, "key"), words(arena, value_get(entry, "roles")),
	    words(arena, value_get(entry, "services")),
	    words(arena, value_get(entry, "calls")),
	    value_has(entry, "tenant") ? value_get_text(entry, "tenant") : "-");
}

static enum status
run_list(struct session *session, const struct keys_settings *settings, const char *none)
{
	struct arena *arena = session_arena(session);
	struct value_list entries = { .arena = arena };
	const struct allow_list *list;
	const char *error;
	size_t i;

	(void)none;
	list = allow_list_load(arena, settings->allow, &error);
	if (list == NULL) {
		complain("%s", error);
		return STATUS_FAILED;
	}
	for (i = 0; i < list->count; i++)
		value_list_add(&entries, entry_value(arena, &list->entries[i]));
	if (session_json(session)) {
		printf("%s\n", tame_json(arena, value_list_end(&entries)));
		return STATUS_OK;
	}
	printf("%-16s %-40s  %-26s %-24s %-12s %s\n", "NAME", "KEY", "ROLES", "SERVES",
	    "CALLS", "TENANT");
	for (i = 0; i < entries.count; i++)
		print_entry(arena, entries.items[i]);
	return STATUS_OK;
}

static enum status
run_acl(struct session *session, const struct keys_settings *settings, const char *none)
{
	(void)session;
	(void)settings;
	(void)none;
	keys_acl_print();
	return STATUS_OK;
}

/* --- the command -------------------------------------------------------------------------------- */

static const struct verb {
	const char *name;
	const char *argument; /* what it takes, or NULL */
	enum status (*run)(struct session *session, const struct keys_settings *settings,
	    const char *argument);
} verbs[] = {
	{ "new", "FILE", run_new },
	{ "show", "FILE", run_show },
	{ "allow", "FILE|KEY", run_allow },
	{ "revoke", "NAME|KEY", run_revoke },
	{ "list", NULL, run_list },
	{ "redis-acl", NULL, run_acl },
};

static enum status
run_keys(struct session *session, const void *given, const char *const *rest)
{
	const struct verb *verb = verbs;
	const struct verb *end = verbs + sizeof verbs / sizeof verbs[0];

	while (rest[0] != NULL && verb < end && strcmp(verb->name, rest[0]) != 0)
		verb++;
	if (rest[0] == NULL || verb == end) {
		complain("keys: say new, show, allow, revoke, list or redis-acl; "
			 "`flotilla keys --help` tells more");
		return STATUS_USAGE;
	}
	if ((rest[1] == NULL) != (verb->argument == NULL)) {
		complain("usage: flotilla keys %s%s%s", verb->name,
		    verb->argument == NULL ? "" : " ",
		    verb->argument == NULL ? "" : verb->argument);
		return STATUS_USAGE;
	}
	return verb->run(session, given, rest[1]);
}

const struct command command_keys = {
	.name = "keys",
	.usage =
	    "new FILE | show FILE | allow FILE|KEY | revoke NAME|KEY | list | redis-acl",
	.summary = "key pairs, and who is let in",
	.text = "new makes a key pair, show prints a file's public key. allow puts a key "
		"on the list of those the broker lets in, with what it may do; revoke "
		"takes it off, and list prints them. redis-acl prints users for Redis "
		"with the least rights. docs/security.md has the whole story.",
	.table = keys_table,
	.settings_size = sizeof(struct keys_settings),
	.arguments_max = 2,
	.keyless = true,
	.run = run_keys,
};
