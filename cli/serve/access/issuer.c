#include "issuer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "bounds.h"
#include "fiber.h"
#include "http.h"
#include "memory.h"
#include "session.h"
#include "url.h"

#define FILE_LOOK_MS 2000u
#define URL_LOOK_MS 600000u
#define URL_SOON_MS 10000u /* behind the last time, for a key that is not there */
#define URL_MS 10000u      /* for an answer */

/* What tells that a file is another one than before. */
struct stamp {
	struct timespec modified;
	off_t size;
	ino_t inode;
};

struct issuer {
	struct loop *loop;
	const struct token_rules *rules;
	char *where;
	bool is_url;
	struct http *http; /* NULL: it is a file */
	struct token_keys *keys;
	unsigned char hash[crypto_generichash_BYTES]; /* of the text that they are from */
	struct stamp stamp;                           /* of the file */
	char *error;                                  /* that was said last, or NULL */
	struct fiber *fiber;                          /* that reads them again */
	struct fiber *destroyer; /* that waits for its end, or NULL */
	uint64_t read_ms;        /* when they were, or should have been */
	bool wants_others;       /* a token named one that is not there */
};

/* --- reading ---------------------------------------------------------------------------- */

static const char *
read_text(struct arena *arena, int fd, char **text_r, size_t *size_r)
{
	char *text = arena_alloc(arena, KEY_SET_BYTES_MAX);
	size_t size = 0;
	ssize_t got = 1;

	while (size < KEY_SET_BYTES_MAX && got > 0) {
		got = read(fd, text + size, KEY_SET_BYTES_MAX - size);
		if (got == -1)
			return arena_strdup(arena, strerror(errno));
		size += (size_t)got;
	}
	*text_r = text;
	*size_r = size;
	return size < KEY_SET_BYTES_MAX ? NULL : "larger than any set of keys";
}

/* Returns 0, or -1 with why they will not do. The same text as before has the same keys: that each is one takes 10 ms to see, or more. */
static int
take(struct issuer *issuer, struct arena *arena, const char *text, size_t size,
    const char **error_r)
{
	unsigned char hash[sizeof issuer->hash];
	struct token_keys *keys;

	crypto_generichash(hash, sizeof hash, (const unsigned char *)text, size, NULL, 0);
	if (issuer->keys != NULL && memcmp(hash, issuer->hash, sizeof hash) == 0)
		return 0;
	keys = token_keys_read(arena, text, size, error_r);
	if (keys == NULL)
		return -1;
	token_keys_destroy(&issuer->keys);
	issuer->keys = keys;
	memcpy(issuer->hash, hash, sizeof hash);
	return 0;
}

static struct stamp
stamp_of(const struct stat *found)
{
	return (struct stamp){
		.modified = found->st_mtim, .size = found->st_size, .inode = found->st_ino
	};
}

/* Another process may be writing it: what is read half is read again, since its stamp is another one then. What could not be read has
 * none, and is tried again. */
static int
read_file(struct issuer *issuer, struct arena *arena, const char **error_r)
{
	int fd = open(issuer->where, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat found;
	char *text = NULL;
	size_t size = 0;

	if (fd == -1 || fstat(fd, &found) == -1)
		*error_r = arena_strdup(arena, strerror(errno));
	else
		*error_r = read_text(arena, fd, &text, &size);
	if (fd != -1)
		close(fd);
	if (*error_r != NULL)
		return -1;
	issuer->stamp = stamp_of(&found);
	return take(issuer, arena, text, size, error_r);
}

static int
read_url(struct issuer *issuer, struct arena *arena, const char **error_r)
{
	const struct http_request request = { .method = "GET",
		.url = issuer->where,
		.headers = (const char *const[]){ "Accept: application/json", NULL },
		.timeout_ms = URL_MS,
		.body_bytes_max = KEY_SET_BYTES_MAX };
	struct http_response response;

	issuer->read_ms = loop_now_ms(issuer->loop);
	http_send(issuer->http, arena, &request, &response);
	if (response.failure != HTTP_OK)
		*error_r = response.reason;
	else if (response.status != 200)
		*error_r =
		    arena_printf(arena, "answered with status %ld", response.status);
	else
		return take(issuer, arena, response.body, response.body_size, error_r);
	return -1;
}

/* Returns 0, or -1 with why they are as they were. */
static int
read_keys(struct issuer *issuer, struct arena *arena, const char **error_r)
{
	*error_r = NULL;
	return issuer->is_url ? read_url(issuer, arena, error_r)
			      : read_file(issuer, arena, error_r);
}

/* --- again ------------------------------------------------------------------------------ */

const char *
issuer_shown(struct arena *arena, const char *where)
{
	return strstr(where, "://") == NULL ? where
					    : url_shown(arena, where, strlen(where));
}

static void
say(struct issuer *issuer, struct arena *arena, const char *error)
{
	if (error != NULL && (issuer->error == NULL || strcmp(issuer->error, error) != 0))
		complain("--jwt-keys %s: %s; the keys stay as they were",
		    issuer_shown(arena, issuer->where), error);
	free(issuer->error);
	issuer->error = error == NULL ? NULL : xstrdup(error);
}

static void
read_again(struct issuer *issuer)
{
	struct arena *arena = arena_new();
	const char *error;

	issuer->wants_others =
	    read_keys(issuer, arena, &error) == -1; /* is tried again soon */
	if (!fiber_cancelled())
		say(issuer, arena, error);
	arena_destroy(&arena);
}

static bool
is_due(struct issuer *issuer)
{
	uint64_t behind = loop_now_ms(issuer->loop) - issuer->read_ms;
	struct stamp stamp;
	struct stat found;

	if (issuer->is_url)
		return behind >= URL_LOOK_MS ||
		       (issuer->wants_others && behind >= URL_SOON_MS);
	if (stat(issuer->where, &found) == -1)
		return true;
	stamp = stamp_of(&found);
	return stamp.modified.tv_sec != issuer->stamp.modified.tv_sec ||
	       stamp.modified.tv_nsec != issuer->stamp.modified.tv_nsec ||
	       stamp.size != issuer->stamp.size || stamp.inode != issuer->stamp.inode;
}

static void
keep_reading(void *arg)
{
	struct issuer *issuer = arg;

	while (fiber_sleep(FILE_LOOK_MS) == 0)
		if (is_due(issuer))
			read_again(issuer);
	issuer->fiber = NULL;
	if (issuer->destroyer != NULL)
		fiber_wake(issuer->destroyer);
}

/* --- life ------------------------------------------------------------------------------- */

/* Keys that come in the open could be anybody's: not but from this machine. */
static const char *
set_where(struct issuer *issuer, struct arena *arena)
{
	const char *error;
	struct url url;

	if (strstr(issuer->where, "://") == NULL)
		return NULL;
	issuer->is_url = true;
	if (url_parse(arena, issuer->where, &url, &error) == -1)
		return error;
	if (strcmp(url.scheme, "https") != 0 &&
	    (strcmp(url.scheme, "http") != 0 || !url.is_loopback))
		return "an issuer's keys are read from a file, or by https://";
	if (url.user != NULL || url.password != NULL)
		return "a URL of public keys has no password in it";
	issuer->http = http_new(issuer->loop);
	return NULL;
}

struct issuer *
issuer_new(struct loop *loop, struct arena *arena, const char *where,
    const struct token_rules *rules, const char **error_r)
{
	struct issuer *issuer = xcalloc(1, sizeof *issuer);

	issuer->loop = loop;
	issuer->rules = rules;
	issuer->where = xstrdup(where);
	*error_r = set_where(issuer, arena);
	if (*error_r == NULL)
		read_keys(issuer, arena, error_r);
	if (issuer->keys != NULL)
		issuer->fiber = fiber_start(loop, "issuer", keep_reading, issuer);
	if (issuer->keys != NULL && issuer->fiber == NULL)
		*error_r = "there is no room for one more fiber";
	if (issuer->fiber == NULL)
		issuer_destroy(&issuer);
	return issuer;
}

void
issuer_destroy(struct issuer **issuer_p)
{
	struct issuer *issuer = *issuer_p;

	*issuer_p = NULL;
	if (issuer == NULL)
		return;
	fiber_shield(true);
	if (issuer->fiber != NULL)
		fiber_cancel(issuer->fiber);
	issuer->destroyer = fiber_current();
	while (issuer->fiber != NULL)
		fiber_wait();
	fiber_shield(false);
	http_destroy(&issuer->http);
	token_keys_destroy(&issuer->keys);
	free(issuer->error);
	free(issuer->where);
	free(issuer);
}

const char *
issuer_tenant(
    struct issuer *issuer, struct arena *arena, const char *token, const char **error_r)
{
	bool is_unknown;
	const char *tenant = token_tenant(
	    issuer->keys, issuer->rules, arena, token, time(NULL), error_r, &is_unknown);

	issuer->wants_others |= is_unknown;
	return tenant;
}
