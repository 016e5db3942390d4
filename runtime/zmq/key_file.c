#include "key_file.h"

#include <assert.h>
#include <czmq.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

#define FILE_BYTES_MAX 4096
#define PATH_BYTES_MAX 4096
#define REASON_BYTES_MAX 512
#define KEY_BYTES 32

static char reason[REASON_BYTES_MAX];

static int refuse(const char **error_r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int
refuse(const char **error_r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	*error_r = reason;
	return -1;
}

bool
key_is_text(const char *text)
{
	uint8_t bytes[KEY_BYTES];
	bool is_key =
	    strlen(text) == KEY_TEXT_BYTES - 1 && zmq_z85_decode(bytes, text) != NULL;

	explicit_bzero(bytes, sizeof bytes);
	return is_key;
}

/* --- reading -------------------------------------------------------------------------- */

/* Returns how many bytes of the file are in text, which ends with a NUL, or -1. */
static ssize_t
read_text(int fd, char text[FILE_BYTES_MAX])
{
	ssize_t size = 0, got;

	while ((got = read(fd, text + size, (size_t)(FILE_BYTES_MAX - 1 - size))) > 0)
		size += got;
	if (got == -1)
		return -1;
	text[size] = '\0';
	return size;
}

/* Copies the value of the line `name = "value"`. Returns 1, or 0 when there is none. */
static int
find_key(const char *text, const char *name, char key_r[KEY_TEXT_BYTES])
{
	const char *line = text;

	while (line != NULL) {
		const char *at = line + strspn(line, " \t");
		size_t size = strlen(name);

		line = strchr(at, '\n');
		if (line != NULL)
			line++;
		if (strncmp(at, name, size) != 0)
			continue;
		at += size;
		at += strspn(at, " \t");
		if (*at++ != '=')
			continue;
		at += strspn(at, " \t");
		if (*at++ != '"' || strcspn(at, "\"\n") != KEY_TEXT_BYTES - 1)
			continue;
		memcpy(key_r, at, KEY_TEXT_BYTES - 1);
		key_r[KEY_TEXT_BYTES - 1] = '\0';
		return key_is_text(key_r);
	}
	return 0;
}

/* True when the file is what systemd has made for this service (key_file.h): root's, like the
 * folder, where only root can have put it, and closed to all but owner, group and ACL. */
static bool
is_credential(const char *path, const struct stat *file)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY"), *name = strrchr(path, '/');
	struct stat status, there;
	int fd;
	bool is_one;

	if (folder == NULL || name == NULL || file->st_uid != 0 || file->st_gid != 0 ||
	    (file->st_mode & (S_IWGRP | S_IXGRP | S_IRWXO)) != 0)
		return false;
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return false;
	is_one = fstat(fd, &status) == 0 && status.st_uid == 0 && status.st_gid == 0 &&
		 (status.st_mode & (S_IWGRP | S_IRWXO)) == 0 &&
		 fstatat(fd, name + 1, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		 there.st_dev == file->st_dev && there.st_ino == file->st_ino;
	close(fd);
	return is_one;
}

static bool
is_group_of_ours(gid_t group)
{
	int count = getgroups(0, NULL), i;
	gid_t *groups = xcalloc((size_t)(count > 0 ? count : 0) + 1, sizeof *groups);

	count = getgroups(count > 0 ? count : 0, groups);
	for (i = 0; i < count && groups[i] != group; i++)
		;
	free(groups);
	return i < count || group == getegid();
}

/* True when the file is root's, lent to a group of ours (key_file.h). */
static bool
is_lent_by_root(const struct stat *file)
{
	return geteuid() != 0 && file->st_uid == 0 && file->st_gid != 0 &&
	       (file->st_mode & (S_IWGRP | S_IXGRP | S_IRWXO)) == 0 &&
	       is_group_of_ours(file->st_gid);
}

int
key_file_check(const char *path, int fd, const char **error_r)
{
	struct stat status;

	if (fstat(fd, &status) == -1)
		return refuse(error_r, "%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return refuse(error_r, "%s is not a file", path);
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 &&
	    !is_credential(path, &status) && !is_lent_by_root(&status))
		return refuse(error_r,
		    "%s has a secret key and can be read by others (mode %03o); make it "
		    "yours with: chmod 600 %s",
		    path, (unsigned)(status.st_mode & 0777), path);
	return 0;
}

static int
read_pair(const char *path, const char *text, struct key_pair *pair, const char **error_r)
{
	char derived[KEY_TEXT_BYTES];

	if (find_key(text, "public-key", pair->public_key) == 0)
		return refuse(error_r,
		    "%s is no key file: it has no line public-key = \"...\" with 40 "
		    "characters; `flotilla keys new FILE` makes one",
		    path);
	if (find_key(text, "secret-key", pair->secret_key) == 0)
		return refuse(error_r,
		    "%s has no line secret-key = \"...\" with 40 characters: is it the "
		    "public half? The other one is the file without .pub",
		    path);
	if (zmq_curve_public(derived, pair->secret_key) == -1 ||
	    strcmp(derived, pair->public_key) != 0)
		return refuse(error_r,
		    "%s: its two keys do not belong together; make new ones with "
		    "`flotilla keys new`",
		    path);
	return 0;
}

/* That others may read it is right then: what it lacks is to be said. */
static bool
is_public_half(int fd)
{
	char text[FILE_BYTES_MAX], key[KEY_TEXT_BYTES];
	struct stat status;
	bool is;

	if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode) ||
	    read_text(fd, text) == -1 || lseek(fd, 0, SEEK_SET) == -1)
		return false;
	is = find_key(text, "public-key", key) && !find_key(text, "secret-key", key);
	explicit_bzero(text, sizeof text);
	explicit_bzero(key, sizeof key);
	return is;
}

const char *
key_file_shown(const char *path)
{
	return key_is_text(path) && access(path, F_OK) == -1 ? "..." : path;
}

int
key_file_load(const char *path, struct key_pair *pair_r, const char **error_r)
{
	char text[FILE_BYTES_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), result = -1;

	memset(pair_r, 0, sizeof *pair_r);
	if (fd == -1 && key_is_text(path))
		return refuse(
		    error_r, "it is a key itself: a file with the pair is wanted");
	if (fd == -1)
		return refuse(error_r, "%s: %s", path, strerror(errno));
	if (key_file_check(path, fd, error_r) == 0 || is_public_half(fd)) {
		if (read_text(fd, text) == -1)
			refuse(error_r, "%s: %s", path, strerror(errno));
		else
			result = read_pair(path, text, pair_r, error_r);
	}
	close(fd);
	explicit_bzero(text, sizeof text);
	if (result == -1)
		explicit_bzero(pair_r, sizeof *pair_r);
	return result;
}

int
key_public(
    const char *key_or_path, char public_key_r[KEY_TEXT_BYTES], const char **error_r)
{
	char text[FILE_BYTES_MAX];
	int fd, found;

	if (key_is_text(key_or_path)) {
		memcpy(public_key_r, key_or_path, KEY_TEXT_BYTES);
		return 0;
	}
	fd = open(key_or_path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return refuse(error_r,
		    "'%s' is neither a public key (40 characters of Z85) nor a file with "
		    "one: %s",
		    key_or_path, strerror(errno));
	found = read_text(fd, text) != -1 && find_key(text, "public-key", public_key_r);
	close(fd);
	explicit_bzero(text, sizeof text);
	if (!found)
		return refuse(error_r,
		    "%s is no key file: it has no line public-key = \"...\" with 40 "
		    "characters",
		    key_or_path);
	return 0;
}

/* --- making --------------------------------------------------------------------------- */

/* Claims the name: what is there is never written over. */
static int
claim(const char *path, mode_t mode, const char **error_r)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	if (fd == -1 && errno == EEXIST)
		return refuse(error_r,
		    "%s is there already and was not touched; remove it, or take another "
		    "name",
		    path);
	if (fd == -1)
		return refuse(error_r, "%s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

/* zcert_save_... say nothing of a write that failed: what counts is what can be read. */
static bool
is_saved(const char *path, const char *pub_path, const char *public_key)
{
	char read[KEY_TEXT_BYTES];
	struct key_pair pair;
	const char *error;
	bool saved = key_file_load(path, &pair, &error) == 0 &&
		     key_public(pub_path, read, &error) == 0 &&
		     strcmp(pair.public_key, public_key) == 0 &&
		     strcmp(read, public_key) == 0;

	explicit_bzero(&pair, sizeof pair);
	return saved;
}

static int
save(zcert_t *cert, const char *path, const char *pub_path, const char **error_r)
{
	if (claim(path, 0600, error_r) == -1)
		return -1;
	if (claim(pub_path, 0644, error_r) == -1) {
		unlink(path);
		return -1;
	}
	/* Both exist by now, so their modes stay. */
	if (zcert_save_secret(cert, path) == 0 &&
	    zcert_save_public(cert, pub_path) == 0 && chmod(path, 0600) == 0 &&
	    chmod(pub_path, 0644) == 0 &&
	    is_saved(path, pub_path, zcert_public_txt(cert)))
		return 0;
	refuse(error_r, "%s cannot be written: is the disk full?", path);
	unlink(path);
	unlink(pub_path);
	return -1;
}

int
key_file_create(const char *path, char public_key_r[KEY_TEXT_BYTES], const char **error_r)
{
	char pub_path[PATH_BYTES_MAX];
	zcert_t *cert = zcert_new();
	int result;

	if (cert == NULL)
		return refuse(error_r, "ZeroMQ was built without CURVE");
	snprintf(pub_path, sizeof pub_path, "%s.pub", path);
	result = save(cert, path, pub_path, error_r);
	memcpy(public_key_r, zcert_public_txt(cert), KEY_TEXT_BYTES);
	zcert_destroy(&cert);
	return result;
}
