/* What a tool file runs, and what the program is given. */
#include "tool_reading.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "bounds.h"
#include "program.h"

#define VARIABLE_PREFIX "ARG_"
#define OWN_PREFIX "FLOTILLA_"

/* --- environment -------------------------------------------------------------------- */

const char *
tool_file_path(void)
{
	const char *path = getenv("PATH");

	return path == NULL || *path == '\0' ? "/usr/local/bin:/usr/bin:/bin" : path;
}

static size_t
variable_bytes(const char *text)
{
	size_t size = 0;

	if (isdigit((unsigned char)*text))
		return 0;
	while (isalnum((unsigned char)text[size]) || text[size] == '_')
		size++;
	return size;
}

/* Returns the entry for the variable with which the line starts, or NULL. */
static const char *
environment_find(const char *const *entries, const char *line)
{
	size_t size = variable_bytes(line);

	for (; *entries != NULL; entries++)
		if (variable_bytes(*entries) == size &&
		    strncmp(*entries, line, size) == 0)
			return *entries;
	return NULL;
}

static int
check_variable(struct reading *reading, const char *path, const char *line)
{
	size_t size = variable_bytes(line);

	if (size == 0 || (line[size] != '\0' && line[size] != '='))
		return reading_refuse(reading, path,
		    "an environment entry is NAME=value, or NAME to pass on the worker's "
		    "own; "
		    "'%s' is neither",
		    line);
	if (strncmp(line, OWN_PREFIX, strlen(OWN_PREFIX)) == 0 ||
	    strncmp(line, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) == 0)
		return reading_refuse(reading, path,
		    "variables named " OWN_PREFIX "... and " VARIABLE_PREFIX
		    "... are set by the worker; take another name than %.*s",
		    (int)size, line);
	if (environment_find(reading->tool->environment, line) != NULL)
		return reading_refuse(
		    reading, path, "variable %.*s is listed twice", (int)size, line);
	return 0;
}

int
read_environment(struct reading *reading, const struct value *value)
{
	size_t i, count = value_size(value);
	const char **entries = arena_alloc(reading->arena, (count + 1) * sizeof *entries);

	reading->tool->environment = entries;
	if (value != NULL && !value_is(value, VALUE_ARRAY))
		return reading_refuse(reading, "/environment",
		    "environment must be a list such as [LANG, MODE=fast], not %s",
		    value_type_name(value->type));
	for (i = 0; i < count; i++) {
		const char *path = arena_printf(reading->arena, "/environment/%zu", i);
		const char *line = value_text(value_at(value, i));

		if (line == NULL)
			return reading_refuse(reading, path,
			    "an environment entry is text: put it in quotes");
		if (check_variable(reading, path, line) == -1)
			return -1;
		entries[i] = line;
	}
	return 0;
}

const char *
tool_file_unset(const struct command_tool *tool)
{
	const char *const *entry;

	for (entry = tool->environment; *entry != NULL; entry++)
		if (strchr(*entry, '=') == NULL && getenv(*entry) == NULL)
			return *entry;
	return NULL;
}

/* --- a command of items ------------------------------------------------------------- */

/* [grep, {pattern}] without quotes is a map to YAML. */
static int
refuse_item(struct reading *reading, const char *path, const struct value *item)
{
	const char *name = value_is(item, VALUE_MAP) && item->size == 1 &&
				   value_is_nil(item->pairs[0].value)
			       ? item->pairs[0].key->text
			       : NULL;

	if (name != NULL)
		return reading_refuse(reading, path,
		    "write \"{%s}\" with its quotes: bare braces are a map in YAML",
		    name);
	return reading_refuse(reading, path, "must be text, not %s: put it in quotes",
	    value_type_name(item->type));
}

static int
read_item(struct reading *reading, const struct value *command, size_t index,
    struct template *template_r)
{
	const char *path = arena_printf(reading->arena, "/command/%zu", index);
	const struct value *item = value_at(command, index);
	const char *text, *error;

	if (!value_is(item, VALUE_STR) && !value_is(item, VALUE_INT))
		return refuse_item(reading, path, item);
	text = value_is(item, VALUE_STR) ? item->text : json_text(reading->arena, item);
	if (template_parse(reading->arena, text, reading->tool->properties, template_r,
		&error) == -1)
		return reading_refuse(reading, path, "%s", error);
	return 0;
}

static const char *
child_path(const struct command_tool *tool)
{
	const char *line = environment_find(tool->environment, "PATH");

	return line != NULL && strchr(line, '=') != NULL ? strchr(line, '=') + 1
							 : tool_file_path();
}

/* Puts the program's path in the place of its name: what was checked is what runs. */
static int
read_program(struct reading *reading, struct template *item)
{
	struct command_tool *tool = reading->tool;
	struct template_part *part;
	const char *error;

	if (item->count != 1 || item->parts[0].is_argument)
		return reading_refuse(reading, "/command/0",
		    "the program itself cannot come from an argument");
	part = arena_alloc(reading->arena, sizeof *part);
	part->text = program_find(reading->arena, item->parts[0].text, tool->directory,
	    child_path(tool), &error);
	if (part->text == NULL)
		return reading_refuse(reading, "/command/0", "%s", error);
	item->parts = part;
	return 0;
}

static int
read_items(struct reading *reading, const struct value *value)
{
	size_t i, count = value_size(value);
	struct template *items;

	if (count == 0 || count > TOOL_COMMAND_ITEMS_MAX)
		return reading_refuse(reading, "/command",
		    "a command has a program and at most %u items in all",
		    TOOL_COMMAND_ITEMS_MAX);
	items = arena_alloc(reading->arena, count * sizeof *items);
	for (i = 0; i < count; i++)
		if (read_item(reading, value, i, &items[i]) == -1)
			return -1;
	reading->tool->items = items;
	reading->tool->item_count = count;
	return read_program(reading, &items[0]);
}

/* --- a command for the shell -------------------------------------------------------- */

const char *
tool_file_variable(struct arena *arena, const char *name)
{
	char *variable = arena_printf(arena, VARIABLE_PREFIX "%s", name), *at;

	for (at = variable; *at != '\0'; at++)
		*at =
		    isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
	return variable;
}

/* Returns the argument whose variable is the size bytes at name, among the first count.
 */
static const char *
argument_of_variable(struct reading *reading, const char *name, size_t size, size_t count)
{
	const struct value *properties = reading->tool->properties;
	size_t i;

	for (i = 0; i < count; i++) {
		const char *key = properties->pairs[i].key->text;
		const char *variable = tool_file_variable(reading->arena, key);

		if (strlen(variable) == size && memcmp(variable, name, size) == 0)
			return key;
	}
	return NULL;
}

/* Two arguments must not share a variable. */
static int
check_variables_differ(struct reading *reading)
{
	const struct value *properties = reading->tool->properties;
	size_t i;

	for (i = 0; i < value_size(properties); i++) {
		const char *key = properties->pairs[i].key->text;
		const char *variable = tool_file_variable(reading->arena, key);
		const char *other =
		    argument_of_variable(reading, variable, strlen(variable), i);

		if (other != NULL)
			return reading_refuse(reading, "/parameters/properties",
			    "arguments '%s' and '%s' would both be the variable %s; "
			    "rename "
			    "one of them",
			    other, key, variable);
	}
	return 0;
}

/* A misspelt variable would be empty, and nobody would notice. */
static int
check_variables_known(struct reading *reading, const char *text)
{
	const char *at = text;

	while ((at = strstr(at, VARIABLE_PREFIX)) != NULL) {
		size_t size = variable_bytes(at);
		bool is_read = (at > text && at[-1] == '$') ||
			       (at > text + 1 && at[-1] == '{' && at[-2] == '$');

		if (is_read && argument_of_variable(reading, at, size,
				   value_size(reading->tool->properties)) == NULL)
			return reading_refuse(reading, "/command",
			    "$%.*s is the variable of no argument of 'parameters'",
			    (int)size, at);
		at += size;
	}
	return 0;
}

static int
read_shell(struct reading *reading, const char *text)
{
	const char *argument = template_finds(text, reading->tool->properties);

	if (*text == '\0')
		return reading_refuse(reading, "/command", "the command is empty");
	if (argument != NULL)
		return reading_refuse(reading, "/command",
		    "{%s} has no place in a shell command, where the argument could run "
		    "commands of its own; write \"$%s\", with the quotes, or make the "
		    "command a list",
		    argument, tool_file_variable(reading->arena, argument));
	if (check_variables_differ(reading) == -1 ||
	    check_variables_known(reading, text) == -1)
		return -1;
	reading->tool->shell = text;
	return 0;
}

int
read_command(struct reading *reading, const struct value *value)
{
	if (value_is(value, VALUE_ARRAY))
		return read_items(reading, value);
	if (value_is(value, VALUE_STR))
		return read_shell(reading, value->text);
	return reading_refuse(reading, value == NULL ? "" : "/command",
	    "command must be a list (a program and its arguments) or text for /bin/sh");
}

/* --- standard input ----------------------------------------------------------------- */

static int
read_input_argument(struct reading *reading, const char *text)
{
	struct template template;
	const char *error;

	if (template_parse(
		reading->arena, text, reading->tool->properties, &template, &error) == -1)
		return reading_refuse(reading, "/input", "%s", error);
	if (!template_is_argument(&template))
		return reading_refuse(reading, "/input",
		    "input must be json, none or one argument such as \"{content}\"");
	reading->tool->input = TOOL_INPUT_ARGUMENT;
	reading->tool->input_argument = template.parts[0].text;
	return 0;
}

int
read_input(struct reading *reading, const struct value *value)
{
	if (value == NULL || value_text_is(value, "json"))
		reading->tool->input = TOOL_INPUT_JSON;
	else if (value_text_is(value, "none"))
		reading->tool->input = TOOL_INPUT_NONE;
	else if (!value_is(value, VALUE_STR))
		return refuse_item(reading, "/input", value);
	else
		return read_input_argument(reading, value->text);
	return 0;
}
