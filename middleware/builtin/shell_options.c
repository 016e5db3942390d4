/* shell_tool's settings: the table, what it cannot say, and the rules of redaction. */
#include "shell_options.h"

#include <ctype.h>
#include <string.h>

#include "bounds.h"
#include "options.h"
#include "pii_rule.h"

#define SECONDS_MAX 86400.0
#define RULES_MAX 64u

static const char *const policies[] = { "host", "bubblewrap", NULL };

const struct option shell_options[] = {
	{ .name = "workspace_root",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "The folder in which shells begin, made if it is not there; null: a "
		    "temporary one each, which goes with its shell." },
	{ .name = "startup_commands",
	    .type = OPTION_TEXTS,
	    .otherwise = "[]",
	    .text = "Run in each new shell before the model's; when one fails the run "
		    "fails." },
	{ .name = "shutdown_commands",
	    .type = OPTION_TEXTS,
	    .otherwise = "[]",
	    .text = "Run in the shell at the end of the run; when one fails the run's "
		    "watchers "
		    "are told." },
	{ .name = "policy",
	    .type = OPTION_TEXT,
	    .otherwise = "\"host\"",
	    .choices = policies,
	    .text = "`host`: as the tool worker's user, with all that he may. "
		    "`bubblewrap`: in "
		    "namespaces of its own, its folder is all that it can write and "
		    "there is no "
		    "network; needs Debian's bubblewrap." },
	{ .name = "cpu_time_seconds",
	    .type = OPTION_INTEGER,
	    .nullable = true,
	    .min = 1,
	    .max = 1e9,
	    .text = "CPU time of each process; null: any." },
	{ .name = "memory_bytes",
	    .type = OPTION_INTEGER,
	    .nullable = true,
	    .min = 1048576,
	    .max = 1e15,
	    .text = "Memory of each process, its own data; null: any." },
	{ .name = "command_timeout",
	    .type = OPTION_NUMBER,
	    .otherwise = "30.0",
	    .min = 0.1,
	    .max = SECONDS_MAX,
	    .text =
		"Seconds that a command may take; then it is killed with its shell, and "
		"there is a new shell." },
	{ .name = "startup_timeout",
	    .type = OPTION_NUMBER,
	    .otherwise = "30.0",
	    .min = 0.1,
	    .max = SECONDS_MAX,
	    .text = "Seconds that a shell may take to begin, and each startup command." },
	{ .name = "termination_timeout",
	    .type = OPTION_NUMBER,
	    .otherwise = "10.0",
	    .min = 0,
	    .max = 3600,
	    .text =
		"Seconds that a shell which is asked to end has, until it is killed." },
	{ .name = "idle_timeout",
	    .type = OPTION_NUMBER,
	    .otherwise = "1800.0",
	    .min = 1,
	    .max = 30 * SECONDS_MAX,
	    .text =
		"Seconds without a command, after which a shell is ended: of a run that "
		"waits for a human, or whose end nobody told." },
	{ .name = "max_output_lines",
	    .type = OPTION_INTEGER,
	    .otherwise = "100",
	    .min = 1,
	    .max = 1e6,
	    .text = "Lines of a command's output; what comes behind them is counted." },
	{ .name = "max_output_bytes",
	    .type = OPTION_INTEGER,
	    .nullable = true,
	    .min = 1,
	    .max = 1e9,
	    .text = "Bytes of a command's output; never more than 1 MiB." },
	{ .name = "redaction_rules",
	    .type = OPTION_LIST,
	    .otherwise = "[]",
	    .text = "What is hidden in outputs: a list of `{pii_type, strategy, "
		    "detector}` as "
		    "of `pii`; strategy is `redact` unless it says otherwise." },
	{ .name = "restart_lost",
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "When the shell is gone, the next command begins a new one by "
		    "itself, and "
		    "its answer says so." },
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
	    .otherwise = "[\"/bin/bash\"]",
	    .text =
		"The shell and its arguments: one of POSIX that reads commands from its "
		"standard input." },
	{ .name = "env",
	    .type = OPTION_MAP,
	    .otherwise = "{}",
	    .text = "Variables of the shell besides PATH, HOME, LANG and TERM; nothing "
		    "of the "
		    "worker's own environment is in it." },
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
	if (value_size(value_get(settings, "shell_command")) == 0)
		return "/shell_command: must name a program";
	if (value_size(rules) > RULES_MAX)
		return arena_printf(arena, "/redaction_rules: more than %u", RULES_MAX);
	if (flaw == NULL)
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
shell_configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *name = value_get(use->settings, "tool_name");
	const struct value *description = value_get(use->settings, "tool_description");
	const struct value *definition = value_at(use->tools, 0);

	*error_r = flaw_of(arena, use->settings);
	if (*error_r == NULL)
		definition = with_time(arena, use->settings, definition, error_r);
	if (*error_r != NULL)
		return -1;
	if (!value_text_is(name, SHELL_TOOL_NAME))
		definition =
		    value_map_with(arena, value_map_with(arena, definition, "name", name),
			"body", value_str(arena, SHELL_TOOL_NAME));
	if (!value_is_nil(description))
		definition =
		    value_map_with(arena, definition, "description", description);
	use->tools = value_array(arena, &definition, 1);
	return 0;
}
