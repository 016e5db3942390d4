/* Files beneath a folder: one file read, written, changed. */
#include "backend_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file_walk.h"
#include "loop.h"
#include "utf8.h"
#include "work.h"

#define TEMPORARY ".flotilla-"
#define LOCK_LOOK_NS 1000000 /* how often a lock is asked for */
#define DELETE_MS 60000u

/* --- texts ------------------------------------------------------------------------------ */

const struct value *
disk_refusal(struct disk_job *job, int error)
{
	char text[128];

	if (error == ENOENT)
		return backend_missing(job->arena, job->said);
	if (error == ELOOP || error == ENOTDIR)
		return backend_refusal(job->arena,
		    "'%s' leads through something that is no folder (links are not "
		    "followed)",
		    job->said);
	return backend_refusal(
	    job->arena, "'%s': %s", job->said, strerror_r(error, text, sizeof text));
}

const char *
disk_time(struct arena *arena, int64_t ns)
{
	const int64_t second = 1000000000;
	int64_t rest = (ns % second + second) % second; /* of times before 1970, too */
	time_t seconds = (time_t)(ns / second - (ns % second < 0));
	struct tm parts;
	char text[32];

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
	return arena_printf(arena, "%s.%06" PRId64 "+00:00", text, rest / 1000);
}

/* --- reading ---------------------------------------------------------------------------- */

ssize_t
disk_read_all(int file, uint64_t size, char *bytes)
{
	size_t have = 0;
	ssize_t got;

	while (have < size) { /* what is written meanwhile is not ours */
		got = read(file, bytes + have, (size_t)size - have);
		if (got == -1 && errno == EINTR)
			continue;
		if (got == -1)
			return -1;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	bytes[have] = '\0';
	return (ssize_t)have;
}

/* What stands in the way of reading or writing name of folder as a file, or NULL. *mode_r: of the file that is there, 0
 * when there is none. */
static const struct value *
flaw_of(struct disk_job *job, int folder, const char *name, mode_t *mode_r)
{
	struct stat stat;

	*mode_r = 0;
	if (name == NULL)
		return backend_refusal(job->arena, "'%s' is a folder", job->said);
	if (fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == -1)
		return errno == ENOENT ? NULL : disk_refusal(job, errno);
	*mode_r = stat.st_mode;
	if (S_ISREG(stat.st_mode))
		return NULL;
	return backend_refusal(job->arena,
	    S_ISDIR(stat.st_mode)   ? "'%s' is a folder"
	    : S_ISLNK(stat.st_mode) ? "'%s' is a link, which is not followed"
				    : "'%s' is no regular file",
	    job->said);
}

/* The bytes of name of folder as a file of a state has them: {content, encoding, modified_at}. NULL with *refusal_r. */
static const struct value *
load(struct disk_job *job, int folder, const char *name, const struct value **refusal_r)
{
	struct arena *arena = job->arena;
	uint64_t size;
	int64_t changed;
	char *bytes;
	ssize_t have;
	bool is_text;
	int file;

	errno = 0;
	file = file_walk_open(folder, name, &size, &changed);
	if (file == -1) {
		*refusal_r = disk_refusal(job, errno == 0 ? ENOENT : errno);
		return NULL;
	}
	if (size > BACKEND_FILE_BYTES_MAX) {
		close(file);
		*refusal_r = backend_refusal(arena,
		    "'%s' has more than the %u bytes that a file may have here",
		    job->said, BACKEND_FILE_BYTES_MAX);
		return NULL;
	}
	bytes = arena_take(arena, (size_t)size + 1);
	have = disk_read_all(file, size, bytes);
	if (have == -1)
		*refusal_r = disk_refusal(job, errno);
	close(file);
	if (have == -1)
		return NULL;
	is_text = memchr(bytes, '\0', (size_t)have) == NULL &&
		  utf8_valid(bytes, (size_t)have) &&
		  strcmp(backend_kind(job->name), "text") == 0;
	return value_map(arena, "content",
	    is_text ? value_strn(arena, bytes, (size_t)have)
		    : backend_base64(arena, bytes, (size_t)have),
	    "encoding", is_text ? VALUE_TEXT("utf-8") : VALUE_TEXT("base64"),
	    "modified_at", value_str(arena, disk_time(arena, changed)), NULL);
}

static const struct value *
do_read(struct disk_job *job)
{
	const struct value *refusal, *file;
	const char *name;
	mode_t mode;
	int folder = file_walk_parent(job->arena, job->root, job->path, false, &name);

	if (folder == -1)
		return disk_refusal(job, errno);
	refusal = flaw_of(job, folder, name, &mode);
	if (refusal == NULL && mode == 0)
		refusal = backend_missing(job->arena, job->said);
	file = refusal == NULL ? load(job, folder, name, &refusal) : NULL;
	close(folder);
	return file == NULL ? refusal : value_map(job->arena, "file", file, NULL);
}

/* --- writing ---------------------------------------------------------------------------- */

/* Locks folder for who changes files in it. Returns 0, or -1: it took too long. Closing it unlocks. */
static int
disk_lock(int folder, uint64_t end_us, const atomic_bool *stop)
{
	const struct timespec wait = { .tv_nsec = LOCK_LOOK_NS };

	while (flock(folder, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return 0; /* a disk without locks */
		if (atomic_load(stop) || loop_now_us() >= end_us)
			return -1;
		nanosleep(&wait, NULL);
	}
	return 0;
}

static int
write_all(int file, const char *bytes, size_t size)
{
	ssize_t went;

	while (size > 0) {
		went = write(file, bytes, size);
		if (went == -1 && errno == EINTR)
			continue;
		if (went == -1)
			return -1;
		bytes += went;
		size -= (size_t)went;
	}
	return fdatasync(file);
}

/* Puts content into name of folder, in one piece. Returns 0, or -1 with errno. */
static int
replace(struct disk_job *job, int folder, const char *name, mode_t mode,
    const struct value *content)
{
	uint64_t number = 0;
	const char *beside;
	int file, error = 0;

	(void)!getrandom(&number, sizeof number, 0);
	beside = arena_printf(job->arena, TEMPORARY "%016" PRIx64, number);
	file = openat(
	    folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (file == -1)
		return -1;
	if ((mode != 0 && fchmod(file, mode & 0777) == -1) ||
	    write_all(file, content->text, content->size) == -1)
		error = errno;
	close(file);
	if (error == 0 && renameat(folder, beside, folder, name) == -1)
		error = errno;
	if (error == 0)
		return 0;
	unlinkat(folder, beside, 0);
	errno = error;
	return -1;
}

/* The new text, or bytes, of a file by op, from what it was (NULL: it is not there). NULL with *answer_r: a refusal. */
static const struct value *
changed(struct disk_job *job, const struct value *before, const struct value **answer_r)
{
	struct arena *arena = job->arena;
	const struct value *files = before == NULL
					? value_empty_map()
					: value_map_with(arena, NULL, job->name, before);
	const struct value *op =
	    value_map_with(arena, job->op, "path", value_str(arena, job->name));
	const struct value *update, *file, *bytes;

	*answer_r = backend_map_do(arena, files, op, &update);
	if (update == NULL)
		return NULL;
	file = value_get(update, job->name);
	if (!value_text_is(value_get(file, "encoding"), "base64"))
		return value_get(file, "content");
	bytes = backend_bytes(arena, value_get(file, "content"));
	if (bytes == NULL)
		*answer_r =
		    backend_refusal(arena, "'%s': the bytes are not base64", job->said);
	return bytes;
}

static const struct value *
put(struct disk_job *job, int folder, const char *name)
{
	bool is_write = value_text_is(value_get(job->op, "op"), "write");
	const struct value *answer, *before = NULL, *content;
	mode_t mode;

	answer = flaw_of(job, folder, name, &mode);
	if (answer != NULL)
		return answer;
	if (!is_write && mode != 0) {
		before = load(job, folder, name, &answer);
		if (before == NULL)
			return answer;
	}
	content = changed(job, before, &answer);
	if (content != NULL && replace(job, folder, name, mode, content) == -1)
		return disk_refusal(job, errno);
	return answer;
}

/* write, append and edit. */
static const struct value *
do_put(struct disk_job *job, const atomic_bool *stop)
{
	bool makes = !value_text_is(value_get(job->op, "op"), "edit");
	const struct value *answer;
	const char *name;
	int folder = file_walk_parent(job->arena, job->root, job->path, makes, &name);

	if (folder == -1)
		return disk_refusal(job, errno);
	if (disk_lock(folder, job->end_us, stop) == -1)
		answer = backend_refusal(job->arena,
		    "'%s' was not changed: others change its folder for too long",
		    job->said);
	else
		answer = put(job, folder, name);
	close(folder);
	return answer;
}

/* --- all -------------------------------------------------------------------------------- */

/* Does the op of a struct disk_job. For work_run. */
static void
disk_run(void *arg, const atomic_bool *stop)
{
	struct disk_job *job = arg;
	const char *op = value_get_text(job->op, "op");

	job->end_us = loop_now_us() + job->limit_us;
	if (!file_walk_is_folder(job->root))
		job->answer = backend_refusal(job->arena,
		    "the root_dir of this backend is no folder on the tool worker's "
		    "machine");
	else if (strcmp(op, "read") == 0)
		job->answer = do_read(job);
	else if (strcmp(op, "ls") == 0)
		job->answer = disk_ls(job);
	else if (strcmp(op, "glob") == 0)
		job->answer = disk_glob(job, stop);
	else if (strcmp(op, "grep") == 0)
		job->answer = disk_grep(job, stop);
	else if (strcmp(op, "delete") == 0)
		job->answer = disk_delete(job, stop);
	else
		job->answer = do_put(job, stop);
}

/* Where path is below the root; NULL: elsewhere. */
static const char *
below(const char *shown, const char *path)
{
	size_t size = strlen(shown);

	if (strncmp(path, shown, size) != 0 || (path[size] != '/' && path[size] != '\0'))
		return NULL;
	return path + size + strspn(path + size, "/");
}

const struct value *
backend_folder_do(
    struct backend *backend, const struct backend_part *part, const struct value *op)
{
	const struct value *settings = part->settings, *answer;
	const char *error, *root = value_get_text(settings, "root_dir");
	bool deletes = value_text_is(value_get(op, "op"), "delete");
	struct disk_job job = { .root = root,
		.shown = "",
		.name = value_get_text(op, "path"),
		.op = op,
		.file_bytes_max =
		    (uint64_t)value_get_int(settings, "max_file_size_mb", 10) << 20,
		.limit_us = (deletes ? DELETE_MS : BACKEND_SEARCH_MS) * UINT64_C(1000) };

	if (value_text_is(value_get(op, "op"), "execute"))
		return backend_shell_do(backend, part, op);
	if (!value_get_bool(settings, "virtual_mode", true)) {
		job.shown = backend_path(backend->arena, root, &error);
		job.shown = job.shown == NULL || job.shown[1] == '\0' ? "" : job.shown;
	}
	job.said = backend_outside(backend->arena, op, job.name);
	job.path = below(job.shown, job.name);
	if (job.path == NULL)
		return backend_refusal(backend->arena,
		    "'%s' is outside of '%s', where the files are", job.said,
		    backend_outside(backend->arena, op, job.shown));
	job.arena = arena_new();
	answer = work_run(disk_run, &job) == -1 ? NULL
						: value_copy(backend->arena, job.answer);
	arena_destroy(&job.arena);
	return answer;
}
