/* middleware: what an agent's `middleware` may list, and with which settings. */
#include "middleware.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "nearest.h"
#include "option_text.h"
#include "registry.h"
#include "show.h"
#include "tame.h"

struct middleware_settings {
	struct common_settings common;
	const char **plugins;
};

static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "plugin", SETTING_LIST, offsetof(struct middleware_settings, plugins), NULL, 0,
	    0, NULL, "a shared object with middleware; may be given several times", 0 },
	SETTINGS_END,
};

/* --- as values ---------------------------------------------------------------------- */

static const struct value *
hooks_of(struct arena *arena, const struct middleware *one)
{
	struct value_list list = { .arena = arena };
	int hook;

	for (hook = 0; hook < HOOK_COUNT; hook++) {
		if (middleware_has_hook(one, (enum hook)hook))
			value_list_add(&list,
			    value_map(arena, "name",
				value_str(arena, hook_name((enum hook)hook)), "runs_in",
				value_str(arena, hook_process((enum hook)hook)), NULL));
	}
	return value_list_end(&list);
}

static const struct value *
default_of(struct arena *arena, const struct option *option)
{
	const char *error;

	return option->otherwise == NULL ? NULL
					 : json_parse(arena, option->otherwise,
					       strlen(option->otherwise), &error);
}

static const struct value *
settings_of(struct arena *arena, const struct middleware *one)
{
	struct value_list list = { .arena = arena };
	const struct option *option;

	for (option = one->options; option != NULL && option->name != NULL; option++)
		value_list_add(
		    &list, value_map(arena, "name", value_str(arena, option->name),
			       "type", value_str(arena, option_kind_text(arena, option)),
			       "required", value_bool(option->required), "default",
			       default_of(arena, option), "means",
			       value_str(arena, option->text), NULL));
	return value_list_end(&list);
}

static const struct value *
fields_of(struct arena *arena, const struct middleware *one)
{
	struct value_list list = { .arena = arena };
	const struct field *field;

	for (field = one->fields; field != NULL && field->name != NULL; field++)
		value_list_add(&list, value_str(arena, field->name));
	return value_list_end(&list);
}

static const struct value *
tools_of(struct arena *arena, const struct middleware *one)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; one->tools != NULL && one->tools[i] != NULL; i++)
		if (!one->tools[i]->internal)
			value_list_add(&list, value_str(arena, one->tools[i]->name));
	return value_list_end(&list);
}

static const struct value *
describe(struct arena *arena, const struct middleware *one)
{
	return value_map(arena, "name", value_str(arena, one->name), "summary",
	    value_str(arena, one->summary), "hooks", hooks_of(arena, one), "settings",
	    settings_of(arena, one), "state", fields_of(arena, one), "tools",
	    tools_of(arena, one), NULL);
}

/* --- for people --------------------------------------------------------------------- */

static void
print_tools(const struct value *names)
{
	size_t i;

	if (value_size(names) == 0)
		return;
	printf("\nTools, in worker-tools:");
	for (i = 0; i < value_size(names); i++)
		printf("%s %s", i == 0 ? "" : ",", value_text(value_at(names, i)));
	putchar('\n');
}

static void
print_setting(struct arena *arena, const struct value *setting)
{
	const struct value *otherwise = value_get(setting, "default");
	struct show_flow flow = { .indent = 6, .column = 6 };

	printf(
	    "  %s: %s", value_get_text(setting, "name"), value_get_text(setting, "type"));
	if (value_get_bool(setting, "required", false))
		fputs("; required", stdout);
	else if (otherwise != NULL)
		printf("; default %s", tame_json(arena, otherwise));
	fputs("\n      ", stdout);
	show_flow(&flow, value_get_text(setting, "means"));
	putchar('\n');
}

static void
print_fields(struct arena *arena, const struct middleware *one)
{
	const struct field *field = one->fields;

	if (field == NULL)
		return;
	printf("\nState:\n");
	for (; field->name != NULL; field++)
		printf("  %-30s %s\n", field->name, field_text(arena, field));
}

static void
print_one(struct arena *arena, const struct middleware *middleware)
{
	const struct value *one = describe(arena, middleware);
	const struct value *hooks = value_get(one, "hooks");
	const struct value *settings = value_get(one, "settings");
	size_t i;

	printf("%s: %s\n\nHooks:%s\n", value_get_text(one, "name"),
	    value_get_text(one, "summary"), value_size(hooks) == 0 ? " none" : "");
	for (i = 0; i < value_size(hooks); i++)
		printf("  %-21s in %s\n", value_get_text(value_at(hooks, i), "name"),
		    value_get_text(value_at(hooks, i), "runs_in"));
	printf("\nSettings:%s\n", value_size(settings) == 0 ? " none" : "");
	for (i = 0; i < value_size(settings); i++)
		print_setting(arena, value_at(settings, i));
	print_fields(arena, middleware);
	print_tools(value_get(one, "tools"));
}

/* --- the command -------------------------------------------------------------------- */

static enum status
list(struct session *session)
{
	struct arena *arena = session_arena(session);
	const char *const *names = registry_names();
	struct value_list all = { .arena = arena };
	size_t i;

	for (i = 0; names[i] != NULL; i++) {
		const struct middleware *one = registry_find(names[i]);

		if (session_json(session))
			value_list_add(&all, describe(arena, one));
		else
			printf("%-26s %s\n", one->name, one->summary);
	}
	if (session_json(session))
		printf("%s\n", tame_json(arena, value_list_end(&all)));
	return STATUS_OK;
}

static enum status
unknown(const char *name)
{
	const char *const *names = registry_names();
	const char *near;
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	near = nearest_name(name, names, count);
	complain("there is no middleware '%s'%s%s%s `flotilla middleware` lists them",
	    name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?" : ";");
	return STATUS_NOT_FOUND;
}

static enum status
run(struct session *session, const void *given, const char *const *rest)
{
	const struct middleware_settings *settings = given;
	int status = session_load_plugins((const char *const *)settings->plugins);
	const struct middleware *one;

	if (status != STATUS_OK)
		return (enum status)status;
	if (rest[0] == NULL)
		return list(session);
	one = registry_find(rest[0]);
	if (one == NULL)
		return unknown(rest[0]);
	if (session_json(session))
		printf("%s\n", tame_json(session_arena(session),
				   describe(session_arena(session), one)));
	else
		print_one(session_arena(session), one);
	return STATUS_OK;
}

const struct command command_middleware = {
	.name = "middleware",
	.usage = "[NAME]",
	.summary = "lists the middleware that agents can have, with its settings",
	.text =
	    "Without NAME all of it in a line each; with NAME its hooks and where they "
	    "run, its settings, state fields and tools. Needs no fleet.",
	.table = table,
	.settings_size = sizeof(struct middleware_settings),
	.arguments_max = 1,
	.keyless = true,
	.run = run,
};
