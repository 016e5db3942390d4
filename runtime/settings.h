/* settings: a table a program, read by defaults, environment, flags, --help and docs
 * alike.
 *
 * --broker tcp://... wins over FLOTILLA_BROKER wins over the default; an empty variable
 * counts as none. A bad value is one clear message on stderr with the flag, the value and
 * what is allowed, exit status 2. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOTILLA_VERSION "1.0.0" /* what --version says */

enum setting_type { SETTING_TEXT, SETTING_INTEGER, SETTING_BOOL, SETTING_LIST };

/* One row. offset is that of the field in the program's own settings struct: const char *
 * for TEXT, int64_t for INTEGER, bool for BOOL (flag without a value), const char **
 * (NULL-ended, flag repeatable, environment and default split at commas, never NULL) for
 * LIST. */
struct setting {
	const char
	    *name; /* "model-workers": flag --model-workers, FLOTILLA_MODEL_WORKERS */
	enum setting_type type;
	size_t offset;
	const char *otherwise; /* the default, as text; NULL: unset */
	int64_t min, max;      /* of INTEGER */
	const char *unit;      /* "ms", "bytes", or NULL */
	const char *text;      /* a sentence for --help and the docs */
	char letter;           /* short flag, or 0 */
};

/* What --help says around the table. */
struct settings_help {
	const char *program; /* "flotilla submit" */
	const char *usage;   /* "AGENT [TEXT]" */
	const char *summary; /* a paragraph */
};

/* Parses argv by table (ended by a row without name) into *settings. Positional arguments
 * are left in rest_r (NULL-ended, lent for ever); with rest_r NULL there may be none.
 * --help prints usage, summary and every row with its default and variable, and exits 0;
 * --version too. Text is lent for ever. */
void settings_parse(const struct setting *table, void *settings,
    const struct settings_help *help, int argc, char **argv, const char *const **rest_r);

/* Says "program: source 'value': must be allowed" on stderr, exits with 2. source is the
 * flag. For what a table cannot check. */
_Noreturn void settings_refuse(
    const char *program, const char *source, const char *value, const char *allowed);

/* Frees what the parse allocated (for LSan-clean exits). */
void settings_release(const struct setting *table, void *settings);

#endif
