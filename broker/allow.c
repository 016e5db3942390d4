#include "allow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "log.h"
#include "memory.h"
#include "wire.h"
#include "zap.h"

#define LOOK_MS 1000 /* how often the file is looked at */

/* One list in force. */
struct edition {
	struct arena *arena;
	const struct allow_list *list;
	struct rights_book *book;
};

struct allow {
	struct loop *loop;
	char *path;
	allow_fn *changed;
	void *arg;
	uint64_t seed;
	struct edition edition;
	struct stat seen; /* the file, when it was read last */
	struct zap *zap;
	struct timer *timer;
};

/* The status channel tells of every run: it is for those whose business that is. */
static bool
may_watch(const struct allow_entry *entry)
{
	return (entry->roles & (1u << ROLE_CLIENT | 1u << ROLE_COORDINATOR)) != 0;
}

static bool
may_connect(void *arg, const char *domain, const char *key)
{
	struct allow *allow = arg;
	const struct rights *rights = rights_find(allow->edition.book, key);

	if (rights == NULL)
		return false;
	return strcmp(domain, "status") != 0 || may_watch(rights->entry);
}

static bool
loses_watcher(const struct allow_list *before, const struct rights_book *book)
{
	size_t i;

	for (i = 0; before != NULL && i < before->count; i++) {
		const struct rights *rights = rights_find(book, before->entries[i].key);

		if (may_watch(&before->entries[i]) &&
		    (rights == NULL || !may_watch(rights->entry)))
			return true;
	}
	return false;
}

static void
edition_release(struct edition *edition)
{
	rights_book_destroy(&edition->book);
	arena_destroy(&edition->arena);
}

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size && a->st_mode == b->st_mode &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Puts the file's list in force. Returns 0, or -1 with the reason in the list's arena, which
 * is then the caller's. */
static int
read_list(struct allow *allow, struct edition *edition_r, const char **error_r)
{
	struct edition before = allow->edition;
	struct edition edition = { .arena = arena_new() };

	/* Before it is read: what changes while we read is read again. */
	if (stat(allow->path, &allow->seen) == -1)
		memset(&allow->seen, 0, sizeof allow->seen);
	edition.list = allow_list_load(edition.arena, allow->path, error_r);
	*edition_r = edition;
	if (edition.list == NULL)
		return -1;
	edition.book = rights_book_new(edition.list, allow->seed);
	allow->edition = edition;
	allow->changed(
	    allow->arg, edition.book, loses_watcher(before.list, edition.book));
	edition_release(&before);
	log_info("allow list read file=%s keys=%zu", allow->path, edition.list->count);
	return 0;
}

/* Who writes a file anew empties it first, and on a full disk that is all he can. Our start is
 * the only moment at which that means nobody. */
static bool
is_being_written(struct allow *allow)
{
	struct stat now;

	if (stat(allow->path, &now) == -1 || now.st_size > 0)
		return false;
	allow->seen = now; /* say so once */
	log_warnx("%s is empty: the allow list before stays in force; `keys: []` lets "
		  "nobody in",
	    allow->path);
	return true;
}

void
allow_reload(struct allow *allow)
{
	struct edition edition;
	const char *error;

	if (is_being_written(allow))
		return;
	if (read_list(allow, &edition, &error) == 0)
		return;
	log_warnx("the allow list before stays in force: %s", error);
	edition_release(&edition);
}

static void
on_look(void *arg)
{
	struct allow *allow = arg;
	struct stat now;

	/* One that is gone for a moment is being replaced. */
	if (stat(allow->path, &now) == 0 && !is_same_file(&now, &allow->seen))
		allow_reload(allow);
}

struct allow *
allow_new(struct loop *loop, const char *path, allow_fn *changed, void *arg,
    struct arena *arena, const char **error_r)
{
	struct allow *allow = xcalloc(1, sizeof *allow);
	struct edition edition;

	allow->loop = loop;
	allow->path = xstrdup(path);
	allow->changed = changed;
	allow->arg = arg;
	if (getentropy(&allow->seed, sizeof allow->seed) == -1)
		fatal("getentropy");
	if (read_list(allow, &edition, error_r) == -1) {
		*error_r = arena_strdup(arena, *error_r);
		edition_release(&edition);
		goto fail;
	}
	allow->zap = zap_new(loop, may_connect, allow, error_r);
	if (allow->zap == NULL)
		goto fail;
	allow->timer = timer_start(loop, LOOK_MS, LOOK_MS, on_look, allow);
	return allow;

fail:
	allow_destroy(&allow);
	return NULL;
}

void
allow_destroy(struct allow **allow_p)
{
	struct allow *allow = *allow_p;

	if (allow == NULL)
		return;
	*allow_p = NULL;
	timer_stop(&allow->timer);
	zap_destroy(&allow->zap);
	edition_release(&allow->edition);
	free(allow->path);
	free(allow);
}
