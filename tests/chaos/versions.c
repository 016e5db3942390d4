#include "versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "children.h"
#include "fiber.h"
#include "memory.h"
#include "store_agents.h"

#define AGENT "changer"
#define BETWEEN_MS 1200u
#define POLL_MS 50u
#define VERSIONS_MAX 4096u

struct versions {
	struct load *load;
	unsigned begun,
	    applied; /* numbers: of the last one that was, and is known to be */
	const char *hashes[VERSIONS_MAX]; /* by number; NULL: not known */
};

struct versions *
versions_new(struct load *load)
{
	struct versions *versions = xcalloc(1, sizeof *versions);

	versions->load = load;
	return versions;
}

void
versions_destroy(struct versions **versions_p)
{
	free(*versions_p);
	*versions_p = NULL;
}

unsigned
versions_current(const struct versions *versions)
{
	return versions->applied;
}

unsigned
versions_count(const struct versions *versions)
{
	return versions->applied;
}

/* Returns whether it is known to be there. */
static bool
apply_once(struct fleet *fleet, const char *file)
{
	const char *const argv[] = { "/bin/sh", "-c",
		"exec \"$0\" \"$@\" >/dev/null 2>&1",
		arena_printf(fleet->arena, "%s/bin/flotilla", fleet->build), "agents",
		"apply", file, "--redis", fleet_redis(fleet, NULL), NULL };
	struct child *child = child_spawn(argv, NULL);
	int status;

	while (!child_has_ended(&child, &status))
		fiber_sleep(POLL_MS);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
note_hash(struct versions *versions)
{
	struct load *load = versions->load;
	struct arena *arena = arena_new();
	const char *hash;

	if (store_agent_version(load->direct, arena, AGENT, &hash) == STORE_OK)
		versions->hashes[versions->applied] = arena_strdup(load->arena, hash);
	arena_destroy(&arena);
}

/* Again until it is there: what is there already stays. */
static void
apply_next(struct versions *versions)
{
	struct fleet *fleet = versions->load->fleet;
	const char *file = fleet_write(
	    fleet, AGENT ".yaml", sort_changed(versions->load->arena, ++versions->begun));

	while (!apply_once(fleet, file))
		fiber_sleep(POLL_MS);
	versions->applied = versions->begun;
	note_hash(versions);
}

bool
versions_prepare(struct versions *versions)
{
	apply_next(versions);
	return versions->hashes[versions->applied] != NULL;
}

static void
publisher_main(void *arg)
{
	struct versions *versions = arg;

	while (versions->load->submitting && versions->begun + 1 < VERSIONS_MAX) {
		fiber_sleep(BETWEEN_MS);
		apply_next(versions);
	}
	versions->load->busy--;
}

void
versions_begin(struct versions *versions)
{
	versions->load->busy++;
	if (fiber_start(versions->load->fleet->loop, "publisher", publisher_main,
		versions) == NULL)
		abort();
}

/* --- what must hold ------------------------------------------------------------------------ */

/* The number that a text of the model ends with, or 0. */
static unsigned
number_of(const struct value *message)
{
	const char *text = value_get_text(message, "content"), *last;

	last = text != NULL ? strrchr(text, ' ') : NULL;
	return last != NULL ? (unsigned)strtoul(last, NULL, 10) : 0;
}

/* That of all texts, or of the first one; 0: there is none. */
static unsigned
number_said(struct tally *t, const struct load_run *run, const struct versions_said *said)
{
	unsigned number = 0, found;
	size_t i;

	for (i = said->from; i < said->end; i++) {
		const struct value *message = value_at(said->messages, i);

		if (!chat_is(message, "ai"))
			continue;
		found = number_of(message);
		tally(t, HOLDS_VERSION, found != 0 && (number == 0 || found == number),
		    "run %s began under version %u, and said under version %u: %s",
		    run->id, number, found, value_get_text(message, "content"));
		number = number == 0 ? found : number;
	}
	return number;
}

void
versions_check(const struct versions *versions, struct tally *t,
    const struct load_run *run, const struct versions_said *said, unsigned *before_p)
{
	const char *hash = value_get_text(said->record, "version");
	unsigned number = number_said(t, run, said);

	if (number == 0 || number >= VERSIONS_MAX)
		return;
	tally(t, HOLDS_VERSION,
	    number >= run->version_at_least && number <= versions->begun &&
		number >= *before_p,
	    "run %s had version %u, was submitted under %u or later, behind one of %u",
	    run->id, number, run->version_at_least, *before_p);
	tally(t, HOLDS_VERSION,
	    run->is_erased || versions->hashes[number] == NULL ||
		(hash != NULL && strcmp(versions->hashes[number], hash) == 0),
	    "run %s had version %u, and its record says %s", run->id, number, hash);
	*before_p = number;
}
