/* assistants: agents as somebody wants them: with a name, a context and metadata of their own, which runs that are begun by
 * one have as well. Made and changed by HTTP (docs/http.md); an agent's name stands for the agent as it is.
 *
 * One lies in Redis, and nowhere else (docs/redis.md): a hash, and a member of the set of all. Each change is one step,
 * so that whoever dies has done it or has not; nobody holds one. What was sent and not answered is asked for again: a
 * creation and a change are known by their token. A change is made of what was read, and is STORE_STALE where others have
 * changed it since: then it is read again, and made again.
 *
 * A run has what it needs of its assistant when it is submitted, and goes on when that is changed or deleted. A cron
 * has its assistant's name, and each of its runs what that is when it is due.
 *
 * The agent is looked for when it is named, in the same step. Where it is deleted later its assistants stay: their runs are
 * refused until there is one of that name again. */
#ifndef ASSISTANTS_H
#define ASSISTANTS_H

#include "store.h"

struct assistant {
	const char *id;
	const char *agent; /* the graph */
	const char *name;
	const char *description; /* or NULL */
	const struct value
	    *config; /* as it was given, but for its context; a map, as the others */
	const struct value *context;  /* that its runs have */
	const struct value *metadata; /* likewise */

	/* What the store knows besides. */
	uint64_t version;   /* of the above: 1, and one more with each change */
	uint64_t newest;    /* the highest that there was */
	int64_t version_ms; /* when that version was made */
	int64_t created_ms, updated_ms;
	const char *token; /* of the last change */
};

/* --- pure ----------------------------------------------------------------------------- */

/* Whether id may be one's: as a run's. */
bool assistant_is_id(const char *id);

/* Its bytes, as ASSISTANT_BYTES_MAX counts them. */
size_t assistant_size(struct arena *arena, const struct assistant *assistant);

/* The numbers that a run of its has in the place of its agent's, of its config: NULL-ended. */
extern const char *const assistant_counts[];
/* One of them, as text; NULL: its agent's. */
const char *assistant_count(
    struct arena *arena, const struct assistant *assistant, const char *name);

/* What an entry of the inbox that was made without its assistant (crons.h) has by that: {agent, context?, metadata?,
 * recursion_limit?, max_concurrency?}, texts. NULL with what is wrong. */
const struct value *assistant_gives(struct arena *arena,
    const struct assistant *assistant, const struct value *entry, const char **error_r);

/* What of metadata a run keeps: texts, numbers and bools; of the others their JSON. */
const struct value *assistant_plain(struct arena *arena, const struct value *metadata);

/* --- steps ---------------------------------------------------------------------------- */

/* Keeps a new one. STORE_KNOWN: there is one of that id; STORE_TAKEN: that is an agent's name; STORE_OUTDATED: there is no such
 * agent; STORE_REJECTED: there are as many as may be, all together or of its tenant (store_error). */
enum store_status assistants_create(
    struct store *store, struct arena *arena, const struct assistant *assistant);

/* Adds a version, if it has assistant->token still: else STORE_STALE. names_agent: its agent is looked for, STORE_OUTDATED: there is none.
 * STORE_NONE: it is gone. The oldest version goes when there are ASSISTANT_VERSIONS_MAX. */
enum store_status assistants_change(struct store *store, struct arena *arena,
    const struct assistant *assistant, bool names_agent);

/* Makes a version the one that counts: assistant is as assistants_version read it. As assistants_change; STORE_NONE, too, when
 * that version is gone. */
enum store_status assistants_choose(
    struct store *store, struct arena *arena, const struct assistant *assistant);

/* STORE_NONE: there is none; where an answer was lost, that is STORE_OK as well. */
enum store_status assistants_delete(
    struct store *store, struct arena *arena, const char *id);

/* One as it is now. STORE_NONE. */
enum store_status assistants_read(struct store *store, struct arena *arena,
    const char *id, struct assistant *assistant_r);
/* As it was in that version. STORE_OUTDATED: it has none of that number, or none any more. */
enum store_status assistants_version(struct store *store, struct arena *arena,
    const char *id, uint64_t version, struct assistant *assistant_r);

struct assistant_list {
	struct assistant *items; /* config, context and description are not read */
	size_t count, room;
};
struct assistant_wish {
	const char *tenant; /* or NULL: all */
	/* assistant lives until it returns; NULL: all are. */
	bool (*is_wanted)(const struct assistant *assistant, const void *arg);
	const void *arg;
	bool sees_metadata; /* is_wanted does: else they are not read */
};
/* Those that are wanted, by id, without metadata. */
enum store_status assistants_find(struct store *store, struct arena *arena,
    const struct assistant_wish *wish, struct assistant_list *list_r);

#endif
