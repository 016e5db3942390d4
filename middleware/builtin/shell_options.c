/* shell_tool's settings: the table, what it cannot say, and the rules of redaction. */
#include "shell_options.h"

#include <ctype.h>
#include <string.h>

#include "bounds.h"
#include "options.h"
#include "pii_rule.h"

#define RULES_MAX 64u
#define SHELL_BASH "/bin/bash"

const char *const shell_policies[] = { "host", "bubblewrap", NULL };

const struct option shell_options[] = {
#include "shell_options.def"
	{ .name = "tool_name",
	    .type = OPTION_TEXT,
	    .otherwise = "\"" SHELL_TOOL_NAME "\"",
	    .text = "What the tool is called." },
	{ .name = "tool_description",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "What the model is told of it, instead of the built-in text." },
	{ .name = "shell_command",
	    .type = OPTION_TEXTS,
	    .otherwise = "[\"" SHELL_BASH "\"]",
	    .text =
		"The shell and its arguments: one of POSIX that reads commands from its "
		"standard input." },
	{ 0 },
};

static const struct option rule_options[] = {
	{ .name = "pii_type", .type = OPTION_TEXT, .required = true },
	{ .name = "strategy",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .choices = pii_strategy_names },
	{ .name = "detector", .type = OPTION_TEXT, .nullable = true },
	{ 0 },
};

/* --- redaction ------------------------------------------------------------------------ */

static enum pii_strategy
strategy_of(const struct value *rule)
{
	const char *name = value_get_text(rule, "strategy");
	unsigned i;

	for (i = 0; name != NULL && pii_strategy_names[i] != NULL; i++)
		if (strcmp(pii_strategy_names[i], name) == 0)
			return (enum pii_strategy)i;
	return PII_REDACT;
}

static struct pii_rule *
rule_new(struct arena *arena, const struct value *rule, const char **error_r)
{
	return pii_rule_new(arena, value_get_text(rule, "pii_type"), strategy_of(rule),
	    value_get_text(rule, "detector"), error_r);
}

/* Applies one rule. Returns what becomes of text, or NULL: it must not go on. */
static const char *
redact(struct arena *arena, const struct value *given, const char *text,
    struct value_list *matches)
{
	const char *error = NULL;
	struct pii_rule *rule = rule_new(arena, given, &error);
	struct pii_findings findings = { 0 };
	struct packet out = { 0 };

	if (rule == NULL)
		return NULL; /* it was checked: a process of another version */
	pii_redact(rule, text, strlen(text), &out, &findings);
	if (findings.count > 0)
		value_list_add(matches,
		    value_map(arena, "pii_type", value_get(given, "pii_type"), "count",
			value_int(arena, (int64_t)findings.count), NULL));
	if (findings.gave_up ||
	    (findings.count > 0 && pii_rule_strategy(rule) == PII_BLOCK))
		text = NULL;
	else if (findings.count > 0)
		text = arena_copy(arena, out.data, out.size);
	packet_release(&out);
	pii_rule_destroy(&rule);
	return text;
}

const char *
shell_redact(struct arena *arena, const struct value *settings, const char *text,
    struct value_list *matches, bool *is_blocked_r)
{
	const struct value *rules = value_get(settings, "redaction_rules");
	const char *left = text;
	size_t i;

	*is_blocked_r = false;
	for (i = 0; i < value_size(rules); i++) {
		left = redact(arena, value_at(rules, i), left, matches);
		if (left != NULL)
			continue;
		*is_blocked_r = true;
		return arena_printf(arena, "Output blocked: detected %s.",
		    value_get_text(value_at(rules, i), "pii_type"));
	}
	return left;
}

/* --- settings ------------------------------------------------------------------------- */

static const char *
env_flaw(struct arena *arena, const struct value *env)
{
	size_t i;

	for (i = 0; i < value_size(env); i++) {
		const char *name = env->pairs[i].key->text, *at = name;

		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
		if (at == name || *at != '\0' || isdigit((unsigned char)*name))
			return arena_printf(
			    arena, "/env: \"%s\" is no name of a variable", name);
		if (!value_is(env->pairs[i].value, VALUE_STR))
			return arena_printf(arena, "/env/%s: must be a string", name);
	}
	return NULL;
}

static const char *
rule_flaw(struct arena *arena, const struct value *rule, size_t index)
{
	const char *path = "", *error = "";
	struct pii_rule *made;

	if (options_check(arena, "a rule", rule_options, rule, &path, &error) == NULL)
		return arena_printf(
		    arena, "/redaction_rules/%zu%s: %s", index, path, error);
	/* It would find nothing. */
	if (value_text_is(value_get(rule, "detector"), ""))
		return arena_printf(
		    arena, "/redaction_rules/%zu/detector: must not be empty", index);
	made = rule_new(arena, rule, &error);
	if (made == NULL)
		return arena_printf(arena, "/redaction_rules/%zu: %s", index, error);
	pii_rule_destroy(&made);
	return NULL;
}

static const char *
name_flaw(struct arena *arena, const char *name)
{
	size_t size = strlen(name), i;

	for (i = 0; i < size; i++)
		if (!isalnum((unsigned char)name[i]) && strchr("_-", name[i]) == NULL)
			break;
	if (size > 0 && i == size && size <= TOOL_NAME_BYTES_MAX)
		return NULL;
	return arena_printf(arena, "/tool_name: must be 1 to %u letters, digits, _ or -",
	    TOOL_NAME_BYTES_MAX);
}

static const char *
flaw_of(struct arena *arena, const struct value *settings)
{
	const struct value *rules = value_get(settings, "redaction_rules");
	const char *root = value_get_text(settings, "workspace_root");
	const char *flaw = env_flaw(arena, value_get(settings, "env"));
	size_t i;

	if (root != NULL && root[0] != '/')
		return "/workspace_root: must be an absolute path";
	if (value_size(shell_command_of(settings)) == 0)
		return "/shell_command: must name a program";
	if (value_size(rules) > RULES_MAX)
		return arena_printf(arena, "/redaction_rules: more than %u", RULES_MAX);
	if (flaw == NULL && value_has(settings, "tool_name"))
		flaw = name_flaw(arena, value_get_text(settings, "tool_name"));
	for (i = 0; i < value_size(rules) && flaw == NULL; i++)
		flaw = rule_flaw(arena, value_at(rules, i), i);
	return flaw;
}

/* The longest that a call may take, a new shell included; seconds. */
static double
longest(const struct value *settings)
{
	double command = value_get_number(settings, "command_timeout", 0);
	double end = value_get_number(settings, "termination_timeout", 0);
	double begin = value_get_number(settings, "startup_timeout", 0) *
		       (double)(value_size(value_get(settings, "startup_commands")) + 1);
	double use = begin + (command > end ? command : end);
	double stop =
	    command * (double)value_size(value_get(settings, "shutdown_commands")) + end;

	return use > stop ? use : stop;
}

/* The fleet ends a call at its deadline, and then says that the shell is lost: it must know. */
static const struct value *
with_time(struct arena *arena, const struct value *settings,
    const struct value *definition, const char **flaw_r)
{
	double seconds = longest(settings);

	if (seconds * 1000 > CALL_DEADLINE_MS_MAX)
		*flaw_r = arena_printf(arena,
		    "/command_timeout: with the timeouts of what begins and ends a shell "
		    "a call may take %.0f seconds, and no call may take more than %u",
		    seconds, CALL_DEADLINE_MS_MAX / 1000);
	return value_map_with(
	    arena, definition, "timeout_ms", value_int(arena, (int64_t)(seconds * 1000)));
}

int
shell_configure_as(struct arena *arena, struct middleware_use *use, const char *name,
    const char *description, const char **error_r)
{
	const struct value *definition = value_at(use->tools, 0);

	*error_r = flaw_of(arena, use->settings);
	if (*error_r == NULL)
		definition = with_time(arena, use->settings, definition, error_r);
	if (*error_r != NULL)
		return -1;
	if (strcmp(name, SHELL_TOOL_NAME) != 0)
		definition = value_map_with(arena,
		    value_map_with(arena, definition, "name", value_str(arena, name)),
		    "body", value_str(arena, SHELL_TOOL_NAME));
	if (description != NULL)
		definition = value_map_with(
		    arena, definition, "description", value_str(arena, description));
	use->tools = value_array(arena, &definition, 1);
	return 0;
}

int
shell_configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	return shell_configure_as(arena, use, value_get_text(use->settings, "tool_name"),
	    value_get_text(use->settings, "tool_description"), error_r);
}

const struct value *
shell_command_of(const struct value *settings)
{
	static const struct value path = {
		.type = VALUE_STR, .size = sizeof SHELL_BASH - 1, .text = SHELL_BASH
	};
	static const struct value *const items[] = { &path };
	static const struct value bash = {
		.type = VALUE_ARRAY, .size = 1, .items = items
	};
	const struct value *command = value_get(settings, "shell_command");

	return command != NULL ? command : &bash;
}
