#include "settings.h"

#include <argp.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"
#include "nearest.h"

#define EXIT_USAGE 2
#define LONG_KEY 0x1000 /* argp's key of a row without letter: this plus its index */
#define VARIABLE_BYTES_MAX 64
#define ALLOWED_BYTES_MAX 128

struct parse {
	const struct setting *table;
	void *settings;
	const struct settings_help *help;
	const char *name;   /* what it is called by in what we say */
	const char **flags; /* what argv said, a text a row, or NULL */
	const char *const *rest;
	bool takes_rest;
};

/* --- fields ------------------------------------------------------------------------- */

static void *
field_of(const struct setting *row, void *settings)
{
	return (char *)settings + row->offset;
}

static size_t
list_length(const char *const *list)
{
	size_t length = 0;

	while (list[length] != NULL)
		length++;
	return length;
}

static void
list_add(const char ***list_p, char *item)
{
	size_t length = list_length(*list_p);

	*list_p = xreallocarray(*list_p, length + 2, sizeof **list_p);
	(*list_p)[length] = item;
	(*list_p)[length + 1] = NULL;
}

static void
list_add_split(const char ***list_p, const char *text)
{
	char *copy = xstrdup(text);
	char *rest = copy;
	char *item;

	while ((item = strsep(&rest, ",")) != NULL) {
		item += strspn(item, " ");
		if (*item != '\0')
			list_add(list_p, xstrdup(item));
	}
	free(copy);
}

static int
read_integer(const struct setting *row, const char *text, int64_t *field)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || isspace((unsigned char)text[0]))
		return -1;
	if (number < row->min || number > row->max)
		return -1;
	*field = number;
	return 0;
}

static int
read_bool(const char *text, bool *field)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on",
		"0", "1" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strcmp(text, words[i]) == 0) {
			*field = i % 2 == 1;
			return 0;
		}
	}
	return -1;
}

static int
set_field(const struct setting *row, const char *text, void *settings)
{
	void *field = field_of(row, settings);

	switch (row->type) {
	case SETTING_TEXT:
		*(const char **)field = text;
		return 0;
	case SETTING_INTEGER:
		return read_integer(row, text, field);
	case SETTING_BOOL:
		return read_bool(text, field);
	case SETTING_LIST:
		list_add_split(field, text);
		return 0;
	}
	return -1;
}

static void
clear_field(const struct setting *row, void *settings)
{
	void *field = field_of(row, settings);

	switch (row->type) {
	case SETTING_TEXT:
		*(const char **)field = NULL;
		break;
	case SETTING_INTEGER:
		*(int64_t *)field = 0;
		break;
	case SETTING_BOOL:
		*(bool *)field = false;
		break;
	case SETTING_LIST:
		*(const char ***)field = xcalloc(1, sizeof(char *));
		break;
	}
}

/* --- messages ----------------------------------------------------------------------- */

/* Installed, a program's name has ours in front, "flotilla-broker": that is what its user knows. */
static const char *
shown_name(const char *program)
{
	const char *name = program_invocation_short_name;
	size_t size = strlen(name), tail = strlen(program);

	return size > tail && name[size - tail - 1] == '-' &&
		       strcmp(name + size - tail, program) == 0
		   ? name
		   : program;
}

void
settings_refuse(
    const char *program, const char *source, const char *value, const char *allowed)
{
	fprintf(stderr, "%s: %s '%s': must be %s\n", shown_name(program), source, value,
	    allowed);
	exit(EXIT_USAGE);
}

static void
refuse(const struct parse *parse, const struct setting *row, const char *source,
    const char *value)
{
	char allowed[ALLOWED_BYTES_MAX];

	if (row->type == SETTING_INTEGER)
		snprintf(allowed, sizeof allowed,
		    "a whole number from %" PRId64 " to %" PRId64 "%s%s", row->min,
		    row->max, row->unit == NULL ? "" : " ",
		    row->unit == NULL ? "" : row->unit);
	else
		snprintf(allowed, sizeof allowed, "true or false");
	settings_refuse(parse->help->program, source, value, allowed);
}

static void
variable_of(const struct setting *row, char variable[VARIABLE_BYTES_MAX])
{
	snprintf(variable, VARIABLE_BYTES_MAX, "FLOTILLA_%s", row->name);
	for (char *c = variable; *c != '\0'; c++) {
		if (*c == '-')
			*c = '_';
		else if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	}
}

static char *
row_help(const struct setting *row)
{
	char variable[VARIABLE_BYTES_MAX];
	char *help;
	const char *unit = row->unit == NULL ? "" : row->unit;
	int made;

	variable_of(row, variable);
	if (row->otherwise == NULL)
		made = asprintf(&help, "%s (%s)", row->text, variable);
	else
		made = asprintf(&help, "%s (default %s%s%s; %s)", row->text,
		    row->otherwise, *unit == '\0' ? "" : " ", unit, variable);
	if (made == -1)
		fatal("asprintf");
	return help;
}

/* --- argp --------------------------------------------------------------------------- */

static size_t
table_length(const struct setting *table)
{
	size_t length = 0;

	while (table[length].name != NULL)
		length++;
	return length;
}

static const char *
argument_name(const struct setting *row)
{
	static const char *const names[] = {
		[SETTING_TEXT] = "TEXT",
		[SETTING_INTEGER] = "N",
		[SETTING_BOOL] = NULL,
		[SETTING_LIST] = "TEXT",
	};

	return names[row->type];
}

static struct argp_option *
options_of(const struct setting *table)
{
	size_t length = table_length(table);
	struct argp_option *options = xcalloc(length + 1, sizeof *options);

	for (size_t i = 0; i < length; i++) {
		options[i].name = table[i].name;
		options[i].key =
		    table[i].letter != 0 ? table[i].letter : LONG_KEY + (int)i;
		options[i].arg = argument_name(&table[i]);
		options[i].doc = row_help(&table[i]);
	}
	return options;
}

static void
free_options(struct argp_option *options)
{
	for (size_t i = 0; options[i].name != NULL; i++)
		free((char *)options[i].doc);
	free(options);
}

/* Returns the row's index, or -1. */
static long
row_of_key(const struct setting *table, int key)
{
	size_t length = table_length(table);

	if (key >= LONG_KEY && key < LONG_KEY + (int)length)
		return key - LONG_KEY;
	for (size_t i = 0; i < length; i++) {
		if (table[i].letter != 0 && table[i].letter == key)
			return (long)i;
	}
	return -1;
}

static void
take_flag(struct parse *parse, size_t index, const char *value)
{
	const struct setting *row = &parse->table[index];

	if (row->type == SETTING_LIST)
		list_add(field_of(row, parse->settings), xstrdup(value));
	parse->flags[index] = row->type == SETTING_BOOL ? "true" : value;
}

static error_t
on_argument(int key, char *value, struct argp_state *state)
{
	struct parse *parse = state->input;
	long index;

	if (key == ARGP_KEY_ARG) {
		if (!parse->takes_rest)
			argp_error(state, "unexpected argument '%s'", value);
		return ARGP_ERR_UNKNOWN; /* all of them come at once below */
	}
	if (key == ARGP_KEY_ARGS) {
		parse->rest = (const char *const *)(state->argv + state->next);
		return 0;
	}
	index = row_of_key(parse->table, key);
	if (index == -1)
		return ARGP_ERR_UNKNOWN;
	take_flag(parse, (size_t)index, value);
	return 0;
}

/* The row that a long flag of size bytes names, whole or by its beginning, as getopt has it;
 * or NULL. */
static const struct setting *
row_of_flag(const struct setting *table, const char *flag, size_t size)
{
	const struct setting *row;

	for (row = table; row->name != NULL; row++)
		if (strncmp(row->name, flag, size) == 0)
			return row;
	return NULL;
}

_Noreturn static void
refuse_flag(const struct parse *parse, const char *flag)
{
	size_t length = table_length(parse->table);
	const char **names = xcalloc(length + 1, sizeof *names);
	const char *near;

	for (size_t i = 0; i < length; i++)
		names[i] = parse->table[i].name;
	near = nearest_name(flag, names, length);
	fprintf(stderr, "%s: unrecognized option '--%s'%s%s%s `%s --help` lists them\n",
	    parse->name, flag, near != NULL ? ", did you mean '--" : "",
	    near != NULL ? near : "", near != NULL ? "'?" : ";", parse->name);
	free(names);
	exit(EXIT_USAGE);
}

/* Finds mistyped flags before argp does, which would not say what is near. */
static void
check_flags(const struct parse *parse, int argc, char **argv)
{
	static const struct setting own[] = { { .name = "help", .type = SETTING_BOOL },
		{ .name = "usage", .type = SETTING_BOOL },
		{ .name = "version", .type = SETTING_BOOL }, { .name = NULL } };
	const struct setting *row;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *flag = argv[i] + 2;
		size_t size = strncmp(argv[i], "--", 2) == 0 ? strcspn(flag, "=") : 0;
		long index = argv[i][0] == '-' && strlen(argv[i]) == 2
				 ? row_of_key(parse->table, argv[i][1])
				 : -1;

		row = index != -1 ? &parse->table[index] : NULL;
		if (size > 0) {
			row = row_of_flag(parse->table, flag, size);
			if (row == NULL && row_of_flag(own, flag, size) == NULL) {
				flag[size] = '\0';
				refuse_flag(parse, flag);
			}
		}
		if (row != NULL && row->type != SETTING_BOOL &&
		    (size == 0 || flag[size] == '\0'))
			i++; /* its value */
	}
}

static void
read_argv(struct parse *parse, int argc, char **argv)
{
	struct argp_option *options = options_of(parse->table);
	struct argp argp = {
		.options = options,
		.parser = on_argument,
		.args_doc = parse->help->usage,
		.doc = parse->help->summary,
	};
	static char version[128];
	char *name = argv[0];

	snprintf(version, sizeof version, "%s %s", parse->name, FLOTILLA_VERSION);
	argp_program_version = version;
	argp_err_exit_status = EXIT_USAGE;
	check_flags(parse, argc, argv);
	argv[0] = (char *)parse->name; /* argp says it, only */
	argp_parse(&argp, argc, argv, 0, NULL, parse);
	argv[0] = name;
	free_options(options);
}

/* --- one row: flag, variable, default ----------------------------------------------- */

static const char *
variable_value(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && *value != '\0' ? value : NULL;
}

static void
settle(const struct parse *parse, size_t index)
{
	const struct setting *row = &parse->table[index];
	char source[VARIABLE_BYTES_MAX];
	const char *value;

	variable_of(row, source);
	value = parse->flags[index];
	if (value != NULL)
		snprintf(source, sizeof source, "--%s", row->name);
	else
		value = variable_value(source);
	if (value == NULL)
		value = row->otherwise;
	if (value == NULL || (row->type == SETTING_LIST && parse->flags[index] != NULL))
		return;
	if (set_field(row, value, parse->settings) == -1)
		refuse(parse, row, source, value);
}

void
settings_parse(const struct setting *table, void *settings,
    const struct settings_help *help, int argc, char **argv, const char *const **rest_r)
{
	size_t length = table_length(table);
	struct parse parse = {
		.table = table,
		.settings = settings,
		.name = shown_name(help->program),
		.help = help,
		.flags = xcalloc(length + 1, sizeof(char *)),
		.rest = (const char *const *)(argv + argc),
		.takes_rest = rest_r != NULL,
	};

	for (size_t i = 0; i < length; i++) {
		assert(table[i].type != SETTING_INTEGER || table[i].min < table[i].max);
		clear_field(&table[i], settings);
	}
	read_argv(&parse, argc, argv);
	for (size_t i = 0; i < length; i++)
		settle(&parse, i);
	free(parse.flags);
	if (rest_r != NULL)
		*rest_r = parse.rest;
}

static void
free_list(const char ***list_p)
{
	for (size_t i = 0; *list_p != NULL && (*list_p)[i] != NULL; i++)
		free((char *)(*list_p)[i]);
	free(*list_p);
	*list_p = NULL;
}

void
settings_release(const struct setting *table, void *settings)
{
	for (size_t i = 0; table[i].name != NULL; i++) {
		if (table[i].type == SETTING_LIST)
			free_list(field_of(&table[i], settings));
	}
}
