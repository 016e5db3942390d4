#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define LINE_BYTES_MAX 4096

static char log_name[128] = "flotilla"; /* service.c: of 120 bytes at most */
static enum log_level level_max = LOG_LEVEL_INFO;
static bool is_journal;

static const char *const words[] = {
	[LOG_LEVEL_ERROR] = "error ",
	[LOG_LEVEL_WARN] = "warn ",
	[LOG_LEVEL_INFO] = "info ",
	[LOG_LEVEL_DEBUG] = "debug ",
};

static const char *const journal_prefixes[] = {
	[LOG_LEVEL_ERROR] = SD_ERR,
	[LOG_LEVEL_WARN] = SD_WARNING,
	[LOG_LEVEL_INFO] = SD_INFO,
	[LOG_LEVEL_DEBUG] = SD_DEBUG,
};

/* JOURNAL_STREAM names device and inode of the journal's socket: a child that inherits
 * the variable may still have its stderr elsewhere. */
static bool
stderr_is_journal(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	char here[64];
	struct stat st;

	if (text == NULL || fstat(STDERR_FILENO, &st) == -1)
		return false;
	snprintf(
	    here, sizeof here, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(text, here) == 0;
}

void
log_open(const char *name, enum log_level level)
{
	snprintf(log_name, sizeof log_name, "%s", name);
	level_max = level;
	is_journal = stderr_is_journal();
}

bool
log_is_debug(void)
{
	return level_max >= LOG_LEVEL_DEBUG;
}

/* What peers and users wrote may be in the text: it must not begin lines of its own. */
static void
flatten(char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = ' ';
	}
}

static size_t append(char *line, size_t used, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static size_t vappend(char *line, size_t used, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static size_t
vappend(char *line, size_t used, const char *format, va_list args)
{
	int added = vsnprintf(line + used, LINE_BYTES_MAX - used, format, args);

	if (added < 0)
		return used;
	return used + (size_t)added < LINE_BYTES_MAX ? used + (size_t)added
						     : LINE_BYTES_MAX - 1;
}

static size_t
append(char *line, size_t used, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	used = vappend(line, used, format, args);
	va_end(args);
	return used;
}

/* One write a line: lines of several processes on one stderr do not mix. */
static void say(enum log_level level, int error, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void
say(enum log_level level, int error, const char *format, va_list args)
{
	char line[LINE_BYTES_MAX + 1];
	int saved = errno;
	size_t used;

	if (level > level_max)
		return;
	used = append(line, 0,
	    "%s%s: ", is_journal ? journal_prefixes[level] : words[level], log_name);
	used = vappend(line, used, format, args);
	if (error != 0)
		used = append(line, used, ": %s", strerror(error));
	flatten(line);
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) == -1) {
		/* Nobody is there to be told. */
	}
	errno = saved;
}

void
log_debug(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_LEVEL_DEBUG, 0, format, args);
	va_end(args);
}

void
log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_LEVEL_INFO, 0, format, args);
	va_end(args);
}

void
log_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_LEVEL_WARN, errno, format, args);
	va_end(args);
}

void
log_warnx(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_LEVEL_WARN, 0, format, args);
	va_end(args);
}

void
log_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_LEVEL_ERROR, 0, format, args);
	va_end(args);
}

void
fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_LEVEL_ERROR, errno, format, args);
	va_end(args);
	exit(EXIT_FAILURE);
}

void
fatalx(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_LEVEL_ERROR, 0, format, args);
	va_end(args);
	exit(EXIT_FAILURE);
}
