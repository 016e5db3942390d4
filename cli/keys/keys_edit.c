#include "keys_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "wire.h"

#define HEADER                                                                           \
	"# The keys that the broker lets in, and what each may do (docs/security.md).\n" \
	"keys:\n"

/* --- the file ----------------------------------------------------------------------------- */

/* Returns its text, "" when there is none yet, or NULL after saying why. */
static const char *
read_text(struct arena *arena, const char *path)
{
	FILE *in = fopen(path, "re");
	struct packet text = { 0 };
	char chunk[4096];
	const char *copy, *wrong = NULL;
	size_t size;

	if (in == NULL && errno == ENOENT)
		return "";
	if (in == NULL) {
		complain("%s: %s", path, strerror(errno));
		return NULL;
	}
	while (
	    text.size <= SPEC_BYTES_MAX && (size = fread(chunk, 1, sizeof chunk, in)) > 0)
		packet_append(&text, chunk, size);
	/* What is not read whole would be written back without the rest. */
	if (ferror(in))
		wrong = strerror(errno);
	else if (text.size > 0 && memchr(text.data, '\0', text.size) != NULL)
		wrong = "it has a NUL in it, so it is no text";
	fclose(in);
	copy = text.size == 0 ? "" : arena_copy(arena, text.data, text.size);
	packet_release(&text);
	if (wrong == NULL)
		return copy;
	complain("%s: %s", path, wrong);
	return NULL;
}

static int
write_all(int fd, const char *text)
{
	size_t size = strlen(text), done = 0;

	while (done < size) {
		ssize_t written = write(fd, text + done, size - done);

		if (written == -1 && errno != EINTR)
			return -1;
		done += written > 0 ? (size_t)written : 0;
	}
	return fsync(fd);
}

/* Returns the new file, open and empty, or -1 after saying why. Its name is the lock between two who edit: what was read before it is
 * there may be old. */
static int
begin(struct arena *arena, const char *path)
{
	const char *new_path = arena_printf(arena, "%s.new", path);
	int fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd == -1)
		complain("%s: %s%s", new_path, strerror(errno),
		    errno == EEXIST
			? "; somebody else edits the list, or has died doing it"
			: "");
	return fd;
}

/* The broker, which may be another user, is to read it as before. Who cannot give it away keeps it. */
static int
keep_rights(int fd, const char *path)
{
	struct stat before;

	if (stat(path, &before) == -1)
		return errno == ENOENT ? 0 : -1;
	if (fchown(fd, before.st_uid, before.st_gid) == -1 && errno != EPERM)
		return -1;
	return fchmod(fd, before.st_mode & 07777);
}

/* Takes fd, of begin. text NULL: nothing is to be changed. */
static enum status
finish(struct arena *arena, const char *path, int fd, const char *text)
{
	const char *new_path = arena_printf(arena, "%s.new", path);
	bool is_written =
	    text != NULL && keep_rights(fd, path) == 0 && write_all(fd, text) == 0;

	is_written = close(fd) == 0 && is_written;
	if (is_written && rename(new_path, path) == 0)
		return STATUS_OK;
	if (text != NULL)
		complain("%s: %s", path, strerror(errno));
	unlink(new_path);
	return STATUS_FAILED;
}

static const struct allow_list *
parse(struct arena *arena, const char *path, const char *text)
{
	const char *error;
	const struct allow_list *list =
	    allow_list_parse(arena, path, text, strlen(text), &error);

	if (list == NULL)
		complain("%s", error);
	return list;
}

/* --- adding ------------------------------------------------------------------------------- */

static const char *
flow_list(struct arena *arena, const char *const *texts)
{
	struct value_list list = { .arena = arena };

	for (; *texts != NULL; texts++)
		value_list_add(&list, value_str(arena, *texts));
	return json_text(arena, value_list_end(&list)); /* JSON is YAML */
}

static const char *
quoted(struct arena *arena, const char *text)
{
	return json_text(arena, value_str(arena, text));
}

static const char *
role_words(struct arena *arena, unsigned roles)
{
	const char *words = "";
	unsigned role;

	for (role = ROLE_COORDINATOR; role <= ROLE_CLIENT; role++)
		if ((roles & 1u << role) != 0)
			words = arena_printf(arena, "%s%s%s", words,
			    *words == '\0' ? "" : ", ", wire_role_name(role));
	return words;
}

static const char *
entry_text(struct arena *arena, const struct allow_entry *entry)
{
	const char *text =
	    arena_printf(arena, "- key: \"%s\"\n  name: %s\n  roles: [%s]\n", entry->key,
		quoted(arena, entry->name), role_words(arena, entry->roles));

	if (entry->services != NULL)
		text = arena_printf(
		    arena, "%s  services: %s\n", text, flow_list(arena, entry->services));
	if (entry->calls != NULL)
		text = arena_printf(
		    arena, "%s  calls: %s\n", text, flow_list(arena, entry->calls));
	if (entry->tenant != NULL)
		text = arena_printf(
		    arena, "%s  tenant: %s\n", text, quoted(arena, entry->tenant));
	return text;
}

/* Returns the entry of that name or key, or count. */
static size_t
find_entry(const struct allow_list *list, const char *name)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (strcmp(list->entries[i].name, name) == 0 ||
		    strcmp(list->entries[i].key, name) == 0)
			break;
	return i;
}

/* True when after is before with one entry more, at its end, of that key. */
static bool
is_one_more(const struct allow_list *before, const struct allow_list *after,
    const struct allow_entry *entry)
{
	return after != NULL && after->count == before->count + 1 &&
	       strcmp(after->entries[before->count].key, entry->key) == 0;
}

/* Returns the list with entry behind it, or NULL after saying why not. */
static const char *
with_entry(struct arena *arena, const char *path, const struct allow_entry *entry)
{
	const char *text = read_text(arena, path), *added = entry_text(arena, entry);
	const struct allow_list *before, *after;
	const char *error;

	if (text == NULL)
		return NULL;
	before = parse(arena, path, text);
	if (before == NULL)
		return NULL;
	if (find_entry(before, entry->key) < before->count ||
	    find_entry(before, entry->name) < before->count) {
		complain(
		    "%s has this key or this name already; `flotilla keys revoke %s` "
		    "takes it off",
		    path, entry->name);
		return NULL;
	}
	if (before->count == 0)
		text = arena_printf(arena, HEADER "%s", added);
	else
		text = arena_printf(arena, "%s%s%s", text,
		    text[strlen(text) - 1] == '\n' ? "" : "\n", added);
	after = allow_list_parse(arena, path, text, strlen(text), &error);
	if (is_one_more(before, after, entry))
		return text;
	if (after == NULL)
		complain("%s", error);
	complain(
	    "%s was not changed; where the list is right, add by hand:\n%s", path, added);
	return NULL;
}

enum status
keys_edit_add(struct arena *arena, const char *path, const struct allow_entry *entry)
{
	int fd = begin(arena, path);

	return fd == -1 ? STATUS_FAILED
			: finish(arena, path, fd, with_entry(arena, path, entry));
}

/* --- removing ----------------------------------------------------------------------------- */

/* Returns where line (from 1) begins. */
static const char *
line_start(const char *text, uint32_t line)
{
	while (line-- > 1) {
		const char *end = strchr(text, '\n');

		if (end == NULL)
			return text + strlen(text);
		text = end + 1;
	}
	return text;
}

/* True when after is before without entry index. */
static bool
is_without(const struct allow_list *before, const struct allow_list *after, size_t index)
{
	size_t i, j = 0;

	if (after == NULL || after->count + 1 != before->count)
		return false;
	for (i = 0; i < before->count; i++)
		if (i != index &&
		    strcmp(before->entries[i].key, after->entries[j++].key) != 0)
			return false;
	return true;
}

/* Sets *text_r to the list without the entry of that name or key, *removed_r; or says why not. */
static enum status
take_out(struct arena *arena, const char *path, const char *name, const char **text_r,
    const struct allow_entry **removed_r)
{
	const char *text = read_text(arena, path), *from, *to, *error;
	const struct allow_list *before, *after;
	size_t index;

	if (text == NULL)
		return STATUS_FAILED;
	if (access(path, F_OK) == -1) {
		complain("%s: %s", path, strerror(errno));
		return STATUS_FAILED;
	}
	before = parse(arena, path, text);
	if (before == NULL)
		return STATUS_FAILED;
	index = find_entry(before, name);
	if (index == before->count) {
		complain("no key of the name '%s' is on %s; `flotilla keys list` tells "
			 "which are",
		    name, path);
		return STATUS_NOT_FOUND;
	}
	*removed_r = &before->entries[index];
	from = line_start(text, before->entries[index].line);
	to = index + 1 < before->count ? line_start(text, before->entries[index + 1].line)
				       : text + strlen(text);
	text = arena_printf(arena, "%.*s%s", (int)(from - text), text, to);
	after = allow_list_parse(arena, path, text, strlen(text), &error);
	if (is_without(before, after, index)) {
		*text_r = text;
		return STATUS_OK;
	}
	complain(
	    "%s:%u: this entry does not stand in lines of its own; take it out by hand",
	    path, (unsigned)before->entries[index].line);
	return STATUS_FAILED;
}

enum status
keys_edit_remove(struct arena *arena, const char *path, const char *name,
    const struct allow_entry **removed_r)
{
	const char *text = NULL;
	enum status status, finished;
	int fd = begin(arena, path);

	if (fd == -1)
		return STATUS_FAILED;
	status = take_out(arena, path, name, &text, removed_r);
	finished = finish(arena, path, fd, text);
	return status == STATUS_OK ? finished : status;
}
