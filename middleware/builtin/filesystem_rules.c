/* The setting `permissions`: which paths may be read and written. Rules are asked in their order, the first that
 * means the operation and the path decides; what none means is allowed. */
#include "filesystem.h"

#include <string.h>

#include "file_glob.h"

#define PATTERNS_MAX                                                                     \
	256u /* of all rules: each path of an answer is matched against them */
#define WILDCARDS "*?{["

static const char *const modes[] = { [FILESYSTEM_ALLOW] = "allow",
	[FILESYSTEM_DENY] = "deny",
	[FILESYSTEM_INTERRUPT] = "interrupt" };

/* --- the settings ----------------------------------------------------------------------- */

static const char *
flaw_of_pattern(struct arena *arena, const char *pattern, const char *place)
{
	const char *error = "";

	if (pattern == NULL || pattern[0] != '/')
		return arena_printf(arena,
		    "%s: must be a pattern of paths, which begins "
		    "with /, as /secrets/**",
		    place);
	if (strstr(pattern, "/~") != NULL)
		return arena_printf(arena, "%s: ~ has no meaning here", place);
	if (file_glob_parse(arena, pattern, &error) == NULL)
		return arena_printf(arena, "%s: %s", place, error);
	return NULL;
}

static bool
is_mode(const struct value *mode)
{
	size_t i;

	for (i = 0; i < sizeof modes / sizeof *modes; i++)
		if (value_text_is(mode, modes[i]))
			return true;
	return false;
}

static const char *
flaw_of_keys(struct arena *arena, const struct value *rule, const char *place)
{
	size_t i;

	for (i = 0; i < value_size(rule); i++) {
		const char *key = rule->pairs[i].key->text;

		if (strcmp(key, "operations") != 0 && strcmp(key, "paths") != 0 &&
		    strcmp(key, "mode") != 0)
			return arena_printf(arena,
			    "%s/%s: a rule has operations, paths and mode", place, key);
	}
	return NULL;
}

static const char *
flaw_of_rule(struct arena *arena, const struct value *rule, const char *place)
{
	const struct value *operations = value_get(rule, "operations");
	const struct value *paths = value_get(rule, "paths");
	const struct value *mode = value_get(rule, "mode");
	const char *flaw;
	size_t i;

	if (!value_is(rule, VALUE_MAP))
		return arena_printf(
		    arena, "%s: must be a map of operations, paths and mode", place);
	flaw = flaw_of_keys(arena, rule, place);
	if (flaw != NULL)
		return flaw;
	if (!value_is(operations, VALUE_ARRAY) || operations->size == 0)
		return arena_printf(
		    arena, "%s/operations: must be a list of read and write", place);
	for (i = 0; i < operations->size; i++)
		if (!value_text_is(operations->items[i], "read") &&
		    !value_text_is(operations->items[i], "write"))
			return arena_printf(
			    arena, "%s/operations/%zu: must be read or write", place, i);
	if (!value_is(paths, VALUE_ARRAY) || paths->size == 0)
		return arena_printf(
		    arena, "%s/paths: must be a list of at least one pattern", place);
	for (i = 0; i < paths->size && flaw == NULL; i++)
		flaw = flaw_of_pattern(arena, value_text(paths->items[i]),
		    arena_printf(arena, "%s/paths/%zu", place, i));
	if (flaw == NULL && mode != NULL && !is_mode(mode))
		flaw = arena_printf(
		    arena, "%s/mode: must be allow, deny or interrupt", place);
	return flaw;
}

/* A shell reads and writes whatever it wants: only what it cannot reach may have rules beside it. */
static const char *
flaw_beside_commands(
    struct arena *arena, const struct value *setting, const struct value *rules)
{
	const struct value *routes = backend_routes(arena, setting);
	size_t i, j, k;

	for (i = 0; i < value_size(rules); i++) {
		const struct value *paths = value_get(rules->items[i], "paths");

		for (j = 0; j < value_size(paths); j++) {
			const char *path = value_text(paths->items[j]);
			bool is_in_route = false;

			for (k = 0; k < routes->size; k++)
				is_in_route =
				    is_in_route || strncmp(path, routes->items[k]->text,
						       routes->items[k]->size) == 0;
			if (!is_in_route)
				return arena_printf(arena,
				    "/permissions/%zu/paths/%zu: the backend runs "
				    "commands, "
				    "which reach every path but those of routes: a rule "
				    "must be within a route",
				    i, j);
		}
	}
	return NULL;
}

const char *
filesystem_rules_flaw(struct arena *arena, const struct value *settings)
{
	const struct value *rules = value_get(settings, "permissions");
	const struct value *tools = value_get(settings, "tools");
	const struct value *setting = value_get(settings, "backend");
	const char *flaw = NULL;
	size_t i, patterns = 0;

	for (i = 0; i < value_size(rules) && flaw == NULL; i++) {
		flaw = flaw_of_rule(
		    arena, rules->items[i], arena_printf(arena, "/permissions/%zu", i));
		patterns += value_size(value_get(rules->items[i], "paths"));
	}
	if (flaw == NULL && patterns > PATTERNS_MAX)
		flaw = arena_printf(arena,
		    "/permissions: must have at most %u patterns together", PATTERNS_MAX);
	if (flaw == NULL && backend_executes(setting) &&
	    (value_size(tools) == 0 || value_contains(tools, "all") ||
		value_contains(tools, "execute")))
		flaw = flaw_beside_commands(arena, setting, rules);
	return flaw;
}

/* --- one path --------------------------------------------------------------------------- */

struct pattern_of_paths {
	const char *text; /* in form */
	const struct file_glob *glob;
};

struct rule {
	enum filesystem_access mode;
	bool reads, writes;
	struct pattern_of_paths *patterns;
	size_t count;
};

struct filesystem_rules {
	struct arena *arena;
	struct rule *items;
	size_t count;
};

static enum filesystem_access
mode_of(const struct value *rule)
{
	const struct value *mode = value_get(rule, "mode");

	if (value_text_is(mode, modes[FILESYSTEM_DENY]))
		return FILESYSTEM_DENY;
	return value_text_is(mode, modes[FILESYSTEM_INTERRUPT]) ? FILESYSTEM_INTERRUPT
								: FILESYSTEM_ALLOW;
}

/* text as paths are, which file_glob.h takes it for anyway: without doubled slashes and ".". */
static const char *
in_form(struct arena *arena, const char *text)
{
	char *form = arena_alloc(arena, strlen(text) + 2), *end = form;
	size_t size;

	for (; *text != '\0'; text += size) {
		text += strspn(text, "/");
		size = strcspn(text, "/");
		if (size == 0 || (size == 1 && *text == '.'))
			continue;
		*end++ = '/';
		memcpy(end, text, size);
		end += size;
	}
	if (end == form)
		*end = '/';
	return form;
}

static struct rule
rule_of(struct arena *arena, const struct value *given)
{
	const struct value *paths = value_get(given, "paths");
	const struct value *operations = value_get(given, "operations");
	struct rule rule = { .mode = mode_of(given),
		.reads = value_contains(operations, "read"),
		.writes = value_contains(operations, "write") };
	const char *error;
	size_t i;

	rule.patterns = arena_alloc(arena, value_size(paths) * sizeof *rule.patterns);
	for (i = 0; i < value_size(paths); i++) {
		const char *text = value_text(paths->items[i]);
		const struct file_glob *glob = file_glob_parse(arena, text, &error);

		if (glob != NULL)
			rule.patterns[rule.count++] =
			    (struct pattern_of_paths){ in_form(arena, text), glob };
	}
	return rule;
}

struct filesystem_rules *
filesystem_rules_of(struct arena *arena, const struct value *settings)
{
	const struct value *given = value_get(settings, "permissions");
	struct filesystem_rules *rules = arena_alloc(arena, sizeof *rules);

	rules->arena = arena;
	rules->items = arena_alloc(arena, value_size(given) * sizeof *rules->items);
	for (; rules->count < value_size(given); rules->count++)
		rules->items[rules->count] = rule_of(arena, given->items[rules->count]);
	return rules;
}

static bool
means(const struct rule *rule, bool writes, const char *path)
{
	size_t i;

	if (!(writes ? rule->writes : rule->reads))
		return false;
	for (i = 0; i < rule->count; i++)
		if (file_glob_matches(rule->patterns[i].glob, path))
			return true;
	return false;
}

enum filesystem_access
filesystem_access(const struct filesystem_rules *rules, bool writes, const char *path)
{
	size_t i;

	for (i = 0; i < rules->count; i++)
		if (means(&rules->items[i], writes, path))
			return rules->items[i].mode;
	return FILESYSTEM_ALLOW;
}

const struct value *
filesystem_readable(const struct filesystem_rules *rules, const struct value *items)
{
	struct value_list list = { .arena = rules->arena };
	size_t i;

	if (rules->count == 0)
		return items;
	for (i = 0; i < value_size(items); i++)
		if (filesystem_access(rules, false,
			value_get_text(items->items[i], "path")) != FILESYSTEM_DENY)
			value_list_add(&list, items->items[i]);
	return value_list_end(&list);
}

/* --- all beneath a path ----------------------------------------------------------------- */

/* The folder of pattern's components before the first with a wildcard: "/work" of "/work/a*", "/" of "/x*". */
static const char *
anchor_of(struct arena *arena, const char *pattern)
{
	size_t size = strcspn(pattern, WILDCARDS);

	if (pattern[size] != '\0')
		while (size > 0 && pattern[size - 1] != '/')
			size--;
	while (size > 0 && pattern[size - 1] == '/')
		size--;
	return size == 0 ? "/" : arena_copy(arena, pattern, size);
}

/* Whether inner is outer or in it. */
static bool
is_in(const char *inner, const char *outer)
{
	size_t size = strlen(outer);

	if (strcmp(outer, "/") == 0)
		return true;
	return strncmp(inner, outer, size) == 0 &&
	       (inner[size] == '/' || inner[size] == '\0');
}

/* Whether a path above target, or target, is one that pattern means. */
static bool
means_above(
    struct arena *arena, const struct pattern_of_paths *pattern, const char *target)
{
	size_t i, size = strlen(target);

	for (i = 1; i <= size; i++)
		if ((target[i] == '/' || target[i] == '\0') &&
		    file_glob_matches(pattern->glob, arena_copy(arena, target, i)))
			return true;
	return false;
}

/* Whether target, or something beneath it, may be what pattern means. */
static bool
overlaps(struct arena *arena, const struct pattern_of_paths *pattern, const char *target)
{
	const char *anchor = anchor_of(arena, pattern->text), *suffix;

	if (pattern->text[strcspn(pattern->text, WILDCARDS)] == '\0')
		return is_in(anchor, target) || is_in(target, anchor);
	if (strcmp(anchor, "/") == 0 || is_in(anchor, target))
		return true;
	if (!is_in(target, anchor))
		return false;
	/* Of one component more, it means nothing below itself. */
	suffix = pattern->text + strlen(anchor) + 1;
	if (strchr(suffix, '/') != NULL || strstr(suffix, "**") != NULL)
		return true;
	return means_above(arena, pattern, target);
}

bool
filesystem_asks_beneath(
    const struct filesystem_rules *rules, bool writes, const char *path)
{
	size_t i, j;

	for (i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];

		if (rule->mode != FILESYSTEM_INTERRUPT ||
		    !(writes ? rule->writes : rule->reads))
			continue;
		for (j = 0; j < rule->count; j++)
			if (overlaps(rules->arena, &rule->patterns[j], path))
				return true;
	}
	return false;
}

const char *
filesystem_denies_delete(
    const struct filesystem_rules *rules, const char *path, bool has_more)
{
	struct arena *arena = rules->arena;
	const char *found = NULL;
	size_t i, j;

	if (!has_more && filesystem_access(rules, true, path) != FILESYSTEM_DENY)
		return NULL;
	for (i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];

		for (j = 0;
		     rule->mode == FILESYSTEM_DENY && rule->writes && j < rule->count;
		     j++) {
			const struct pattern_of_paths *pattern = &rule->patterns[j];

			if (has_more ? overlaps(arena, pattern, path)
				     : file_glob_matches(pattern->glob, path))
				found = found == NULL ? pattern->text
						      : arena_printf(arena, "%s, %s",
							    found, pattern->text);
		}
	}
	return found;
}
