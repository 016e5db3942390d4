/* log: one line an event to stderr: `name: event key=value ...`, with sd-daemon level
 * prefixes when stderr is a journal (JOURNAL_STREAM), plain level words else. Programs
 * log, libraries return errors. Never a prompt or tool body above debug; never a key. */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_open(const char *name, enum log_level level);
bool log_is_debug(void);
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* adds errno */
void log_warnx(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Say it and exit(1): the world is broken and a supervisor starts us again. */
_Noreturn void fatal(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* adds errno */
_Noreturn void fatalx(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
