/* What one SKILL.md says. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "literal.h"
#include "repeated.h"

/* Interface under test */
#include "skills.h"

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *warning, *error;

static const struct value *
parse(const char *text)
{
	warning = error = NULL;
	return skill_parse(
	    arena, "/s/web/SKILL.md", "web", text, strlen(text), &warning, &error);
}

START_TEST(all_that_a_skill_says_of_itself_is_read)
{
	ck_assert_value(arena,
	    parse("---\nname: web\ndescription: >\n  Looks things\n  up.\nlicense: MIT\n"
		  "compatibility: ' Python 3 '\nallowed-tools: search, read_file  now\n"
		  "metadata: {version: 1.5, author: me, fine: true}\nother: x\n---\n\n# "
		  "Web\n"),
	    "{'name': 'web', 'description': 'Looks things up.', 'path': "
	    "'/s/web/SKILL.md', 'license': 'MIT', 'compatibility': 'Python 3', "
	    "'metadata': {'version': '1.5', 'author': 'me', 'fine': 'true'}, "
	    "'allowed_tools': ['search', 'read_file', 'now']}");
	ck_assert_ptr_null(warning);
}
END_TEST

START_TEST(name_and_description_are_enough)
{
	ck_assert_value(arena, parse("---\nname: web\ndescription: d\n---\n"),
	    "{'name': 'web', 'description': 'd', 'path': '/s/web/SKILL.md', 'license': "
	    "null, 'compatibility': null, 'metadata': {}, 'allowed_tools': []}");
	ck_assert_ptr_null(warning);
}
END_TEST

static const char *const taken[] = {
	"\xef\xbb\xbf---\nname: web\ndescription: d\n---\n",
	"---  \r\nname: web\r\ndescription: d\r\n---\r\nText",
	"---\nname: web\ndescription: d\n---",
	"---\nname: web\ndescription: d\nallowed-tools: [a, ' b ', '']\nmetadata: "
	"[x]\n---\n---\nname: other\n",
};

START_TEST(the_form_is_taken_as_people_write_it)
{
	const struct value *skill = parse(taken[_i]);

	ck_assert_msg(skill != NULL, "%s", error);
	ck_assert_str_eq(value_get_text(skill, "name"), "web");
	ck_assert_str_eq(value_get_text(skill, "description"), "d");
}
END_TEST

START_TEST(tools_may_be_a_list)
{
	const struct value *skill = parse(taken[3]);

	ck_assert_value(arena, value_get(skill, "allowed_tools"), "['a', 'b']");
	ck_assert_value(arena, value_get(skill, "metadata"), "{}");
}
END_TEST

static const struct {
	const char *text, *reason;
} refused[] = {
	{ "", "does not begin with YAML" },
	{ "# Web\n", "does not begin with YAML" },
	{ "---\nname: web\ndescription: d\n", "does not begin with YAML" },
	{ "----\nname: web\n---\n", "does not begin with YAML" },
	{ "---\nname: web\n---\n", "/s/web/SKILL.md has no description" },
	{ "---\nname: ' '\ndescription: d\n---\n", "/s/web/SKILL.md has no name" },
	{ "---\ndescription: d\nname: null\n---\n", "has no name" },
	{ "---\n- name\n---\n", "is no map" },
	{ "---\n---\n", "is no map" },
	{ "---\nname: web\ndescription: [\n---\n", "/s/web/SKILL.md:" },
	{ "---\nname: a\nname: b\ndescription: d\n---\n", "/s/web/SKILL.md:3:" },
};

START_TEST(what_is_no_skill_is_refused_with_a_reason)
{
	ck_assert_ptr_null(parse(refused[_i].text));
	ck_assert_has(error, refused[_i].reason);
}
END_TEST

START_TEST(a_head_without_end_is_not_searched_for_ever)
{
	struct packet packet = { 0 };

	packet_append(&packet, "---\nname: web\ndescription: d\n", 29);
	while (packet.size < SKILL_HEAD_BYTES_MAX + 100)
		packet_append(&packet, "# comment\n", 10);
	packet_append(&packet, "---\n", 5);
	ck_assert_ptr_null(parse(packet.data));
	packet_release(&packet);
}
END_TEST

#define LETTERS_16 "aaaaaaaaaaaaaaaa"
#define LETTERS_64 LETTERS_16 LETTERS_16 LETTERS_16 LETTERS_16

static const struct {
	const char *name, *warning;
} names[] = {
	{ "web", NULL },
	{ "Web", "small letters" },
	{ "web_two", "small letters" },
	{ "-web", "small letters" },
	{ "web-", "small letters" },
	{ "we--b", "small letters" },
	{ "über-7", "not the folder's" },
	{ LETTERS_64, "not the folder's" },
	{ LETTERS_64 "a", "more than 64" },
};

START_TEST(a_name_that_is_against_the_rules_is_taken_with_a_warning)
{
	const struct value *skill = parse(
	    arena_printf(arena, "---\nname: %s\ndescription: d\n---\n", names[_i].name));

	ck_assert_str_eq(value_get_text(skill, "name"), names[_i].name);
	if (names[_i].warning == NULL)
		ck_assert_ptr_null(warning);
	else
		ck_assert_has(warning, names[_i].warning);
}
END_TEST

START_TEST(long_texts_are_cut_between_characters)
{
	const struct value *skill = parse(arena_printf(arena,
	    "---\nname: web\ndescription: %s\ncompatibility: %s\n---\n",
	    repeated(arena, "ä", 1030), repeated(arena, "ä", 501)));

	ck_assert_str_eq(
	    value_get_text(skill, "description"), repeated(arena, "ä", 1024));
	ck_assert_str_eq(
	    value_get_text(skill, "compatibility"), repeated(arena, "ä", 500));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_skills_parse(void);
TCase *
tcase_skills_parse(void)
{
	TCase *tcase = tcase_create("skills_parse");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, all_that_a_skill_says_of_itself_is_read);
	tcase_add_test(tcase, name_and_description_are_enough);
	tcase_add_loop_test(tcase, the_form_is_taken_as_people_write_it, 0, COUNT(taken));
	tcase_add_test(tcase, tools_may_be_a_list);
	tcase_add_loop_test(
	    tcase, what_is_no_skill_is_refused_with_a_reason, 0, COUNT(refused));
	tcase_add_test(tcase, a_head_without_end_is_not_searched_for_ever);
	tcase_add_loop_test(tcase,
	    a_name_that_is_against_the_rules_is_taken_with_a_warning, 0, COUNT(names));
	tcase_add_test(tcase, long_texts_are_cut_between_characters);
	return tcase;
}
