/* Paths and names of files, times and bytes as texts. */
#include "backend_part.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <time.h>

#include "utf8.h"

#define PATH_SHOWN_BYTES 200u

/* --- paths ------------------------------------------------------------------------------ */

static const char *
flaw_of_path(const char *text)
{
	const char *at;

	if (strlen(text) > BACKEND_PATH_BYTES_MAX)
		return "is too long";
	if (text[0] == '~')
		return "must not begin with ~: / is the root of all files";
	if (((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z')) &&
	    text[1] == ':')
		return "has a drive in front: paths begin with /, as /notes/a.txt";
	for (at = text; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return "has a control character in it";
	return NULL;
}

const char *
backend_path(struct arena *arena, const char *text, const char **error_r)
{
	char *path = arena_alloc(arena, strlen(text) + 2), *end = path;
	const char *flaw = flaw_of_path(text), *at = text;
	size_t size;

	for (; flaw == NULL; at += size) {
		at += strspn(at, "/\\");
		size = strcspn(at, "/\\");
		if (size == 0)
			break;
		if (size == 1 && *at == '.')
			continue;
		if (size == 2 && strncmp(at, "..", 2) == 0)
			flaw = "leads upwards: .. is not allowed";
		*end++ = '/';
		memcpy(end, at, size);
		end += size;
	}
	if (flaw != NULL) {
		*error_r = arena_printf(arena, "the path '%s' %s",
		    utf8_shown(arena, text, PATH_SHOWN_BYTES), flaw);
		return NULL;
	}
	if (end == path)
		*end++ = '/';
	return path;
}

/* --- names ------------------------------------------------------------------------------ */

static const struct {
	const char *suffix, *kind, *media_type;
} suffixes[] = {
	{ ".png", "image", "image/png" },
	{ ".jpg", "image", "image/jpeg" },
	{ ".jpeg", "image", "image/jpeg" },
	{ ".gif", "image", "image/gif" },
	{ ".webp", "image", "image/webp" },
	{ ".heic", "image", "image/heic" },
	{ ".heif", "image", "image/heif" },
	{ ".mp3", "audio", "audio/mpeg" },
	{ ".wav", "audio", "audio/wav" },
	{ ".aiff", "audio", "audio/aiff" },
	{ ".aac", "audio", "audio/aac" },
	{ ".ogg", "audio", "audio/ogg" },
	{ ".flac", "audio", "audio/flac" },
	{ ".mp4", "video", "video/mp4" },
	{ ".webm", "video", "video/webm" },
	{ ".mpeg", "video", "video/mpeg" },
	{ ".mpg", "video", "video/mpeg" },
	{ ".mov", "video", "video/quicktime" },
	{ ".avi", "video", "video/x-msvideo" },
	{ ".flv", "video", "video/x-flv" },
	{ ".wmv", "video", "video/x-ms-wmv" },
	{ ".3gpp", "video", "video/3gpp" },
	{ ".pdf", "file", "application/pdf" },
	{ ".ppt", "file", "application/vnd.ms-powerpoint" },
	{ ".pptx", "file",
	    "application/"
	    "vnd.openxmlformats-officedocument.presentationml.presentation" },
};
#define SUFFIXES (sizeof suffixes / sizeof *suffixes)

static size_t
find_suffix(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash == NULL ? path : slash, '.');
	size_t i;

	for (i = 0; dot != NULL && i < SUFFIXES; i++)
		if (strcasecmp(suffixes[i].suffix, dot) == 0)
			return i;
	return SUFFIXES;
}

const char *
backend_kind(const char *path)
{
	size_t i = find_suffix(path);

	return i == SUFFIXES ? "text" : suffixes[i].kind;
}

const char *
backend_media_type(const char *path)
{
	size_t i = find_suffix(path);

	return i == SUFFIXES ? "text/plain" : suffixes[i].media_type;
}

/* --- texts ------------------------------------------------------------------------------ */

const char *
backend_now(struct arena *arena)
{
	struct timeval now;
	struct tm parts;
	char text[32];

	gettimeofday(&now, NULL);
	gmtime_r(&now.tv_sec, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
	return arena_printf(arena, "%s.%06ld+00:00", text, (long)now.tv_usec);
}

const char *
backend_printable(struct arena *arena, const char *text, size_t size)
{
	const char *end = text + size, *stop, *copy;
	struct packet printable = { 0 };

	if (memchr(text, '\0', size) == NULL)
		return text;
	for (; text < end; text = stop + 1) {
		stop = memchr(text, '\0', (size_t)(end - text));
		if (stop == NULL)
			stop = end;
		packet_append(&printable, text, (size_t)(stop - text));
		if (stop < end)
			packet_append(&printable, "\xef\xbf\xbd", 3);
	}
	copy = arena_copy(arena, printable.data, printable.size);
	packet_release(&printable);
	return copy;
}

const struct value *
backend_base64(struct arena *arena, const void *data, size_t size)
{
	size_t room = sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL);
	char *text = arena_alloc(arena, room);

	sodium_bin2base64(text, room, data, size, sodium_base64_VARIANT_ORIGINAL);
	return value_strn(arena, text, room - 1);
}

/* Its padding may be missing, and lines may be broken. */
const struct value *
backend_bytes(struct arena *arena, const struct value *base64)
{
	size_t room = (size_t)base64->size / 4 * 3 + 3, count;
	unsigned char *bytes = arena_alloc(arena, room);

	if (sodium_base642bin(bytes, room, base64->text, base64->size, "\r\n=", &count,
		NULL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0)
		return NULL;
	return value_bin(arena, bytes, count);
}
