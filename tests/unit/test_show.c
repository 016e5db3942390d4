/* What stands on a terminal drives none. */
#include <check.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"

/* Interface under test */
#include "../../cli/show.h"

TCase *tcase_show(void);

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

static const char *
headline(const char *event)
{
	const char *error;

	return show_headline(arena, json_parse(arena, event, strlen(event), &error));
}

static const struct {
	const char *event, *shown;
} headlines[] = {
	{ "{}", "?" },
	{ "{'kind':'a\\u001bb'}", "a b" },
	{ "{'kind':'step','node':'a\\u001bb'}", "step 0   a b" },
	{ "{'kind':'step'}", "step 0   ?" },
	{ "{'kind':'finished','status':'a\\u009bb'}", "finished a b" },
	{ "{'kind':'finished','status':'error','error':{}}", "finished error: ?: ?" },
	{ "{'kind':'finished','error':{'type':'a\\u007fb','message':'c\\u001bd'}}",
	    "finished ?: a b: c d" },
	{ "{'kind':'started','agent':'a\\u001bb','thread':'c\\u001bd'}",
	    "started  agent a b on thread c d" },
	{ "{'kind':'started'}", "started  agent ?" },
	{ "{'kind':'webhook','status':'failed','text':'a\\u001bb'}",
	    "webhook  failed: a b" },
	{ "{'kind':'webhook'}", "webhook  ?: ?" },
	{ "{'kind':'interrupted','when':'a\\u001bb'}", "paused   a b ?" },
	{ "{'kind':'uncertain','tool':'a\\u001bb'}", "uncertain a b (?): ?" },
	{ "{'kind':'decided','call':'a\\u001bb','answer':'\\u009b'}",
	    "answered a b: \"\\u009b\"" },
};

START_TEST(a_headline_has_no_text_that_drives_a_terminal)
{
	char event[256], *at;

	snprintf(event, sizeof event, "%s", headlines[_i].event);
	for (at = event; *at != '\0'; at++)
		if (*at == '\'')
			*at = '"';
	ck_assert_str_eq(headline(event), headlines[_i].shown);
}
END_TEST

#define ANSWER "one\n\ttwo \x1b]52;c;aGk=\x07 \xc2\x9b[2J\x7f \xc3\xa9"

START_TEST(an_answer_is_tame_on_a_terminal)
{
	char said[256] = "";
	int terminal;
	pid_t child = forkpty(&terminal, NULL, NULL, NULL);
	FILE *in;

	ck_assert_int_ne(child, -1);
	if (child == 0) {
		printf("%s\n", show_text(arena, ANSWER));
		fflush(stdout);
		_exit(0);
	}
	in = fdopen(terminal, "r");
	ck_assert_ptr_nonnull(fgets(said, sizeof said, in));
	ck_assert_ptr_nonnull(
	    fgets(said + strlen(said), (int)(sizeof said - strlen(said)), in));
	fclose(in);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_str_eq(said, "one\r\n\ttwo  ]52;c;aGk=    [2J  \xc3\xa9\r\n");
}
END_TEST

TCase *
tcase_show(void)
{
	TCase *tcase = tcase_create("show");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_headline_has_no_text_that_drives_a_terminal, 0,
	    sizeof headlines / sizeof *headlines);
	tcase_add_test(tcase, an_answer_is_tame_on_a_terminal);
	return tcase;
}
