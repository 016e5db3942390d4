/* agent_history: an agent's versions: shown, compared, gone back to. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_file.h"
#include "agents.h"
#include "nearest.h"
#include "show.h"
#include "store_agents.h"
#include "tame.h"
#include "yaml_text.h"

#define HASH_LETTERS_MIN 4u /* of a version, to name it */

extern char **environ;

/* One of an agent's versions. */
struct version {
	const char *name; /* the agent's */
	uint64_t number;  /* 0: of a time without logs */
	const char *hash; /* "" where it was deleted */
	const struct value *source;
};

/* --- finding ------------------------------------------------------------------------- */

static const char *
hash_at(const struct value *log, size_t number)
{
	const char *hash = value_get_text(value_at(log, number - 1), "version");

	return number > 0 && number <= value_size(log) && hash != NULL ? hash : "";
}

/* The agent's log, which is not empty. Returns NULL after saying why there is none. */
static const struct value *
read_log(struct session *session, const char *name, enum status *status_r)
{
	struct arena *arena = session_arena(session);
	const struct value *log = NULL;
	const char *current = NULL;
	enum store_status stored;

	*status_r = STATUS_UNREACHABLE;
	if (session_store(session) == NULL)
		return NULL;
	stored = store_agent_log(session_store(session), arena, name, &log);
	if (stored != STORE_OK) {
		*status_r = (enum status)session_store_failed(session, stored);
		return NULL;
	}
	*status_r = STATUS_OK;
	if (value_size(log) > 0)
		return log;
	/* One of a time without logs, or an unknown name, which is told with the nearest. */
	*status_r = (enum status)agent_version(session, name, &current);
	if (*status_r != STATUS_OK)
		return NULL;
	return value_array_add(arena, value_empty_array(),
	    value_map(arena, "version", value_str(arena, current), "at",
		value_int(arena, 0), NULL));
}

/* The number that text names: "3", or the beginning of a version's hash (its newest number).
 * Returns 0 after saying why none. */
static uint64_t
find_number(const struct value *log, const char *name, const char *text)
{
	size_t size = strlen(text), number;
	char *end = NULL;
	unsigned long long given =
	    isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;

	if (end != NULL && *end == '\0' && given > 0 && given <= value_size(log))
		return given;
	for (number = value_size(log); size >= HASH_LETTERS_MIN && number > 0; number--)
		if (strncmp(hash_at(log, number), text, size) == 0)
			return number;
	complain(
	    "agent '%s' has no version '%s'; `flotilla agents history %s` lists them",
	    name, text, name);
	return 0;
}

static enum status
load_source(struct session *session, struct version *version)
{
	enum store_status stored;

	if (*version->hash == '\0') {
		complain("version %" PRIu64 " of agent '%s' is where it was deleted",
		    version->number, version->name);
		return STATUS_NOT_FOUND;
	}
	stored = store_agent_source(session_store(session), session_arena(session),
	    version->hash, &version->source);
	if (stored == STORE_NONE) {
		complain("the source of version %s of agent '%s' is not in Redis",
		    version->hash, version->name);
		return STATUS_NOT_FOUND;
	}
	return stored == STORE_OK ? STATUS_OK
				  : (enum status)session_store_failed(session, stored);
}

/* NAME or NAME@VERSION; without one otherwise (0: the newest). */
static enum status
find_version(struct session *session, const char *text, const struct value **log_r,
    struct version *version_r)
{
	struct arena *arena = session_arena(session);
	const char *at = strrchr(text, '@');
	enum status status;

	*version_r = (struct version){ .hash = "", .name = text };
	if (at != NULL)
		version_r->name = arena_copy(arena, text, (size_t)(at - text));
	*log_r = read_log(session, version_r->name, &status);
	if (*log_r == NULL)
		return status;
	version_r->number = value_size(*log_r);
	if (at != NULL)
		version_r->number = find_number(*log_r, version_r->name, at + 1);
	if (version_r->number == 0)
		return STATUS_NOT_FOUND;
	version_r->hash = hash_at(*log_r, version_r->number);
	return STATUS_OK;
}

/* The newest number below number whose version is another one, and not a deletion; 0: none. */
static uint64_t
number_before(const struct value *log, uint64_t number)
{
	const char *hash = hash_at(log, number);

	for (number--; number > 0; number--)
		if (*hash_at(log, number) != '\0' &&
		    strcmp(hash_at(log, number), hash) != 0)
			return number;
	return 0;
}

/* --- show, history ------------------------------------------------------------------- */

static const struct value *
version_value(struct arena *arena, const struct version *version)
{
	return value_map(arena, "name", value_str(arena, version->name), "number",
	    value_int(arena, (int64_t)version->number), "version",
	    value_str(arena, version->hash), "source", version->source, NULL);
}

enum status
agents_show(struct session *session, const struct agents_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);
	const struct value *log;
	struct version version = { .hash = "" };
	enum status status;

	(void)settings;
	if (rest[0] == NULL || rest[1] != NULL) {
		complain("usage: flotilla agents show NAME[@VERSION]");
		return STATUS_USAGE;
	}
	status = find_version(session, rest[0], &log, &version);
	if (status == STATUS_OK)
		status = load_source(session, &version);
	if (status != STATUS_OK)
		return status;
	if (session_json(session))
		printf("%s\n", tame_json(arena, version_value(arena, &version)));
	else
		printf("# %s, number %" PRIu64 ", version %.12s\n%s", version.name,
		    version.number, version.hash, yaml_text(arena, version.source));
	return STATUS_OK;
}

static void
print_entry(struct arena *arena, const struct value *log, size_t number)
{
	const struct value *entry = value_at(log, number - 1);
	const char *by = value_get_text(entry, "by");
	const char *comment = value_get_text(entry, "comment");
	const char *hash = hash_at(log, number);
	int64_t at = value_get_int(entry, "at", 0);
	int64_t back_to = value_get_int(entry, "back_to", 0);
	const char *text = comment != NULL ? comment : "";

	if (back_to > 0)
		text = arena_printf(arena, "back to %" PRId64 "%s%s", back_to,
		    *text != '\0' ? ": " : "", text);
	printf("%6zu  %-12.12s  %-12s  %-20s  %s\n", number,
	    *hash != '\0' ? hash : "(deleted)", at > 0 ? show_date(arena, at) : "-",
	    by != NULL ? by : "-", show_line(arena, text, 80));
}

enum status
agents_history(struct session *session, const struct agents_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);
	struct value_list list = { .arena = arena };
	const struct value *log;
	enum status status;
	size_t number;

	(void)settings;
	if (rest[0] == NULL || rest[1] != NULL) {
		complain("usage: flotilla agents history NAME");
		return STATUS_USAGE;
	}
	log = read_log(session, rest[0], &status);
	if (log == NULL)
		return status;
	if (session_json(session)) {
		for (number = 1; number <= value_size(log); number++)
			value_list_add(
			    &list, value_map_with(arena, value_at(log, number - 1),
				       "number", value_int(arena, (int64_t)number)));
		printf("%s\n", tame_json(arena, value_list_end(&list)));
		return STATUS_OK;
	}
	printf("%6s  %-12s  %-12s  %-20s  %s\n", "NUMBER", "VERSION", "APPLIED", "BY",
	    "COMMENT");
	for (number = value_size(log); number > 0; number--)
		print_entry(arena, log, number);
	return STATUS_OK;
}

/* --- diff ---------------------------------------------------------------------------- */

/* Writes text to a file that only its descriptor names; it closes with the process. */
static const char *
hidden_file(struct arena *arena, const char *text)
{
	FILE *file = tmpfile();

	if (file == NULL || fputs(text, file) == EOF || fflush(file) == EOF)
		return NULL;
	return arena_printf(arena, "/dev/fd/%d", dup(fileno(file)));
}

static const char *
label_of(struct arena *arena, const struct version *version)
{
	return arena_printf(arena, "%s@%" PRIu64, version->name, version->number);
}

/* Has diff(1) print what differs. Returns its exit status, 2 when it could not. */
static int
run_diff(struct arena *arena, const struct version *from, const struct version *to)
{
	const char *argv[] = { "diff", "-u", "--label", label_of(arena, from), "--label",
		label_of(arena, to), hidden_file(arena, yaml_text(arena, from->source)),
		hidden_file(arena, yaml_text(arena, to->source)), NULL };
	int status = 0;
	pid_t pid;

	fflush(stdout);
	if (argv[6] == NULL || argv[7] == NULL ||
	    posix_spawnp(
		&pid, "diff", NULL, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
		return 2;
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static enum status
print_diff(struct session *session, struct version *from, struct version *to)
{
	struct arena *arena = session_arena(session);
	enum status status = load_source(session, from);

	if (status == STATUS_OK)
		status = load_source(session, to);
	if (status != STATUS_OK)
		return status;
	if (session_json(session)) {
		printf("%s\n",
		    tame_json(arena, value_map(arena, "from", version_value(arena, from),
					 "to", version_value(arena, to), NULL)));
		return STATUS_OK;
	}
	if (run_diff(arena, from, to) < 2)
		return STATUS_OK;
	complain("diff(1) cannot be run: is the package diffutils there?");
	return STATUS_FAILED;
}

enum status
agents_diff(struct session *session, const struct agents_settings *settings,
    const char *const *rest)
{
	struct version from = { .hash = "" }, to;
	const struct value *log;
	enum status status;

	(void)settings;
	if (rest[0] == NULL || (rest[1] != NULL && rest[2] != NULL)) {
		complain("usage: flotilla agents diff NAME[@VERSION] [VERSION]");
		return STATUS_USAGE;
	}
	status = find_version(session, rest[0], &log, &from);
	if (status != STATUS_OK)
		return status;
	to = from;
	if (rest[1] != NULL)
		to.number = find_number(log, from.name, rest[1]);
	else if (strchr(rest[0], '@') != NULL)
		to.number = value_size(log);
	else
		from.number = number_before(log, to.number);
	if (to.number == 0)
		return STATUS_NOT_FOUND;
	if (from.number == 0) {
		complain("agent '%s' has no version before its only one", from.name);
		return STATUS_NOT_FOUND;
	}
	from.hash = hash_at(log, from.number);
	to.hash = hash_at(log, to.number);
	return print_diff(session, &from, &to);
}

/* --- rollback, delete ---------------------------------------------------------------- */

static enum status
say_applied(struct session *session, const struct store_apply *apply,
    enum store_status stored, uint64_t number)
{
	if (stored == STORE_STALE) {
		complain("another version of '%s' was applied meanwhile; look at "
			 "`flotilla agents history %s`",
		    apply->name, apply->name);
		return STATUS_FAILED;
	}
	if (stored == STORE_NONE) {
		complain("agent '%s' is deleted already", apply->name);
		return STATUS_NOT_FOUND;
	}
	if (stored != STORE_OK && stored != STORE_KNOWN)
		return (enum status)session_store_failed(session, stored);
	if (stored == STORE_KNOWN)
		printf("%s is at version %.12s already\n", apply->name, apply->version);
	else if (*apply->version == '\0')
		printf("deleted %s; runs under way go on, and `flotilla agents rollback "
		       "%s` brings it back\n",
		    apply->name, apply->name);
	else
		printf("%s is back at number %" PRIu64
		       " (version %.12s), as number %" PRIu64 "\n",
		    apply->name, apply->back_to, apply->version, number);
	return STATUS_OK;
}

enum status
agents_rollback(struct session *session, const struct agents_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);
	struct version target = { .name = rest[0], .hash = "" };
	struct store_apply apply = { .name = rest[0],
		.by = agent_applied_by(arena),
		.comment = settings->comment };
	const struct value *log;
	enum store_status stored;
	enum status status;
	uint64_t number = 0;

	if (rest[0] == NULL || (rest[1] != NULL && rest[2] != NULL)) {
		complain("usage: flotilla agents rollback NAME [VERSION]");
		return STATUS_USAGE;
	}
	log = read_log(session, rest[0], &status);
	if (log == NULL)
		return status;
	target.number = rest[1] != NULL ? find_number(log, rest[0], rest[1])
					: number_before(log, value_size(log));
	if (target.number == 0 && rest[1] == NULL)
		complain("agent '%s' has no version before its only one", rest[0]);
	if (target.number == 0)
		return STATUS_NOT_FOUND;
	target.hash = hash_at(log, target.number);
	status = load_source(session, &target);
	if (status != STATUS_OK)
		return status;
	apply.version = target.hash;
	apply.back_to = target.number;
	/* A log of a time without logs is made by the step itself. */
	apply.expected =
	    value_get_int(value_at(log, 0), "at", 0) > 0 || value_size(log) > 1
		? (int64_t)value_size(log)
		: -1;
	stored = store_apply_agent(session_store(session), arena, &apply, &number);
	return say_applied(session, &apply, stored, number);
}

enum status
agents_delete(struct session *session, const struct agents_settings *settings,
    const char *const *rest)
{
	struct arena *arena = session_arena(session);
	struct store_apply apply = { .name = rest[0],
		.version = "",
		.by = agent_applied_by(arena),
		.comment = settings->comment,
		.expected = -1 };
	enum store_status stored;
	enum status status;
	uint64_t number = 0;

	if (rest[0] == NULL || rest[1] != NULL) {
		complain("usage: flotilla agents delete NAME");
		return STATUS_USAGE;
	}
	if (read_log(session, rest[0], &status) == NULL)
		return status;
	stored = store_apply_agent(session_store(session), arena, &apply, &number);
	return say_applied(session, &apply, stored, number);
}
