/* What an agent writes into files in one thread, it knows in the next one: memory and skills on a fleet of
 * real processes, over backends that outlive threads. */
#include <check.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "fleet_kit.h"
#include "json.h"
#include "literal.h"

TCase *tcase_memory_skills(void);

/* %1$s: the backend. */
static const char agent[] =
    "name: keeper\n"
    "model: scripted:s\n"
    "middleware:\n"
    "  - filesystem: {backend: &where %s}\n"
    "  - memory: {sources: [/AGENTS.md, /more.md], backend: *where}\n"
    "  - skills: {sources: [/skills], backend: *where}\n"
    "script:\n"
    "  s:\n"
    "    - content: ''\n"
    "      tool_calls:\n"
    "        - {id: a, name: write_file, args: {file_path: /AGENTS.md, content: Be "
    "brief.}}\n"
    "        - id: b\n"
    "          name: write_file\n"
    "          args:\n"
    "            file_path: /skills/web/SKILL.md\n"
    "            content: \"---\\nname: web\\ndescription: Looks up.\\n---\\n# It\\n\"\n"
    "        - {id: c, name: write_file, args: {file_path: /skills/bad/SKILL.md, "
    "content: '# No'}}\n"
    "    - content: Noted.\n"
    "    - content: As before.\n";

static const struct value *
fields_after_run(struct fleet_kit *kit, struct arena *arena, const char *thread)
{
	const char *text, *error;
	const struct value *value;

	kit_flotilla(kit, "submit", "keeper", "go", "--thread", thread, "--wait", NULL);
	text = kit_flotilla(kit, "state", thread, "--json", NULL);
	value = json_parse(arena, text, strlen(text), &error);
	ck_assert_msg(value != NULL, "%s: %s", error, text);
	return value_get(value, "fields");
}

START_TEST(another_thread_knows_what_one_wrote)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	const char *backend = _i == 0
				  ? "{store: {namespace: [keepers]}}"
				  : arena_printf(arena, "{filesystem: {root_dir: %s}}",
					kit_path(kit, "files"));
	const struct value *fields;

	mkdir(kit_path(kit, "files"), 0700);
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply",
	    kit_write(kit, "keeper.yaml", arena_printf(arena, agent, backend)), NULL);
	fields = fields_after_run(kit, arena, "t1");
	ck_assert_value(arena, value_get(fields, "memory_contents"), "{}");
	ck_assert_value(arena, value_get(fields, "skills_metadata"), "[]");
	fields = fields_after_run(kit, arena, "t2");
	ck_assert_value(
	    arena, value_get(fields, "memory_contents"), "{'/AGENTS.md': 'Be brief.'}");
	ck_assert_value(arena, value_get(fields, "skills_metadata"),
	    "[{'name': 'web', 'description': 'Looks up.', 'path': "
	    "'/skills/web/SKILL.md', 'license': null, 'compatibility': null, 'metadata': "
	    "{}, 'allowed_tools': []}]");
	ck_assert_uint_eq(value_size(value_get(fields, "skills_load_errors")), 1);
	/* The first one knows what it knew. */
	fields = fields_after_run(kit, arena, "t1");
	ck_assert_value(arena, value_get(fields, "memory_contents"), "{}");
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_memory_skills(void)
{
	TCase *tc = tcase_create("memory_skills");

	tcase_add_loop_test(tc, another_thread_knows_what_one_wrote, 0, 2);
	tcase_set_timeout(tc, 120);
	return tc;
}
