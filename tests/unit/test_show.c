/* What stands on a terminal drives none. */
#include <check.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"

/* Interface under test */
#include "../../cli/show.h"
#include "../../cli/show_field.h"
#include "../../cli/show_table.h"
#include "../../cli/runs/watch_all.h"

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
	{ "{'kind':'started','agent':'a\\u202eb','thread':'c\\u2069d'}",
	    "started  agent a b on thread c d" },
	{ "{'kind':'started','agent':'a\\u200fb','thread':'c\\u061cd\\u200e'}",
	    "started  agent a b on thread c d " },
	{ "{'kind':'decided','call':'a','answer':'\\u202e\\u2066x\\u200f\\u061c'}",
	    "answered a: \"\\u202e\\u2066x\\u200f\\u061c\"" },
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

START_TEST(one_of_them_is_not_many)
{
	ck_assert_str_eq(show_count(arena, 0, "message"), "0 messages");
	ck_assert_str_eq(show_count(arena, 1, "message"), "1 message");
	ck_assert_str_eq(show_count(arena, 2, "message"), "2 messages");
}
END_TEST

/* --- on a terminal of 80 columns ------------------------------------------------------- */

#define COLUMNS 80
#define SAID_BYTES_MAX 8192u

static const char *
on_terminal_of(unsigned short columns, void (*say)(void))
{
	const struct winsize size = { .ws_row = 24, .ws_col = columns };
	char *said = arena_alloc(arena, SAID_BYTES_MAX);
	size_t used = 0;
	ssize_t more;
	int terminal;
	pid_t child = forkpty(&terminal, NULL, NULL, &size);

	ck_assert_int_ne(child, -1);
	if (child == 0) {
		say();
		fflush(stdout);
		_exit(0);
	}
	/* A terminal that nobody has any more is an error to read from. */
	while ((more = read(terminal, said + used, SAID_BYTES_MAX - 1 - used)) > 0)
		used += (size_t)more;
	said[used] = '\0';
	close(terminal);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	return said;
}

static const char *
on_terminal(void (*say)(void))
{
	return on_terminal_of(COLUMNS, say);
}

#define ANSWER                                                                           \
	"one\n\ttwo \x1b]52;c;aGk=\x07 \xc2\x9b[2J\x7f \xc3\xa9\u202et\u2066x\u2019"

static void
say_answer(void)
{
	printf("%s\n", show_text(arena, ANSWER));
}

START_TEST(an_answer_is_tame_on_a_terminal)
{
	ck_assert_str_eq(on_terminal(say_answer),
	    "one\r\n\ttwo  ]52;c;aGk=   [2J  \xc3\xa9 t x\u2019\r\n");
}
END_TEST

static void
say_wide(void)
{
	printf("%s\n", show_line(arena, "calls     0 queued, 0 running", show_width()));
}

/* A line that is wrapped pushes the first ones of `top` off the screen. */
START_TEST(a_line_fits_a_narrow_terminal)
{
	ck_assert_str_eq(on_terminal_of(20, say_wide), "calls     0 queued,\u2026\r\n");
}
END_TEST

static void
say_words(void)
{
	struct show_flow flow = { .indent = 2 };
	size_t i;

	for (i = 0; i < 64; i++)
		show_flow(&flow, "x");
	show_flow(&flow, " abcdefghijklmnopq r\n");
}

START_TEST(a_word_that_does_not_fit_is_on_the_next_line)
{
	const char *said = on_terminal(say_words);

	ck_assert_str_eq(strstr(said, "x\r"), "x\r\n  abcdefghijklmnopq r\r\n  ");
}
END_TEST

static const struct value *
parsed(const char *text)
{
	const char *error;

	return json_parse(arena, text, strlen(text), &error);
}

static void
say_debug(void)
{
	setenv("NO_COLOR", "1", 1);
	show_event(arena,
	    parsed("{\"kind\":\"debug\",\"node\":\"model\",\"next\":\"tools\","
		   "\"writes\":[{\"writer\":\"model\",\"update\":{\"messages\":[]}},"
		   "{\"update\":{\"count\":1}}]}"),
	    NULL, NULL);
}

START_TEST(a_debug_event_tells_what_was_written)
{
	const char *said = on_terminal(say_debug);

	ck_assert_ptr_nonnull(strstr(said, "debug    model -> tools\r\n"));
	ck_assert_ptr_nonnull(strstr(said, " model: {\"messages\":[]}\r\n"));
	ck_assert_ptr_nonnull(strstr(said, " ?: {\"count\":1}\r\n"));
}
END_TEST

#define FILES                                                                            \
	"{\"/a.md\":{\"content\":\"four\"},\"/b\":{\"content\":[\"one\",\"\"]},"         \
	"\"/c.png\":{\"content\":\"aGk=\",\"encoding\":\"base64\"}}"

static void
say_fields(void)
{
	setenv("NO_COLOR", "1", 1);
	show_field(arena, "files", parsed(FILES));
	show_field(arena, "files", parsed("{\"a\":1}"));
	show_field(arena, "long", value_str(arena, arena_printf(arena, "%01000d", 7)));
	show_field_written(arena, "files", parsed(FILES), "  ");
	show_field_written(
	    arena, "long", value_str(arena, arena_printf(arena, "%01000d", 7)), "  ");
	show_field_written(arena, "todos",
	    parsed("[{\"content\":\"a\",\"status\":\"completed\"}]"), "  ");
}

START_TEST(fields_are_shown_in_a_few_lines)
{
	const char *said = on_terminal(say_fields), *at;

	ck_assert_ptr_nonnull(strstr(said,
	    "files:\r\n  /a.md (4 bytes)\r\n  /b (5 bytes)\r\n  /c.png (4 bytes of "
	    "base64)\r\n"));
	ck_assert_ptr_nonnull(strstr(said, "files:\r\n  {\"a\":1}\r\n"));
	at = strstr(said, "long:\r\n  ");
	ck_assert_uint_eq(strcspn(strstr(at, "  "), "\r"), 5 * COLUMNS + strlen("…") - 1);
	ck_assert_ptr_nonnull(strstr(said,
	    "  files = /a.md (4 bytes), /b (5 bytes), /c.png (4 bytes of base64)\r\n"));
	at = strstr(said, "  long = \"");
	ck_assert_uint_eq(strcspn(at, "\r"), COLUMNS + strlen("…") - 1);
	ck_assert_ptr_nonnull(strstr(said, "  todos:\r\n    [x] a\r\n"));
}
END_TEST

static void
say_table(void)
{
	const struct value *rows =
	    parsed("[{\"run\":\"a-run-with-a-long-name\"},{\"run\":\"r\"},{}]");
	int width = show_column(rows, "run", "RUN");
	size_t i;

	for (i = 0; i < value_size(rows); i++)
		show_row(arena, (size_t)width + 2 + 4,
		    arena_printf(
			arena, "%-*s", width, show_cell(value_at(rows, i), "run")),
		    "fits");
	show_row(arena, COLUMNS + 1, "first",
	    "the rest \a of a line that is longer than what "
	    "the terminal has room for, and so is cut");
}

START_TEST(a_wide_table_has_two_lines_a_row)
{
	ck_assert_str_eq(on_terminal(say_table),
	    "a-run-with-a-long-name  fits\r\nr                       fits\r\n"
	    "-                       fits\r\nfirst\r\n    the rest   of a line that is "
	    "longer than what the terminal has room for, an…\r\n");
}
END_TEST

/* Topics and bodies of what watch shows. */
static const struct {
	const char *topic, *body;
} published[] = {
	{ "run.run-0123456789abcdef.started",
	    "{\"at\":1,\"agent\":\"an-agent-with-a-name-that-is-rather-long\","
	    "\"thread\":\"a-thread-with-a-name-that-is-rather-long\","
	    "\"more\":\"and yet more of what there is to be told\"}" },
	{ "run.a-run-with-an-id-that-is-very-long-indeed-as-people-have-them.step",
	    "{\"at\":1,\"step\":12,\"node\":\"a_node_with_a_name_of_some_length\","
	    "\"fields\":{\"topic\":\"\u00e9\u00e9\u00e9\u00e9\u00e9 boats\"}}" },
	{ "run.r.finished",
	    "{\"status\":\"error\",\"error\":{\"type\":\"RuntimeError\",\"message\":"
	    "\"something went wrong, and this text tells at some length what\"}}" },
	{ "run.r.token",
	    "{\"at\":1,\"content\":\"a piece of a text that is longer than any line "
	    "that the terminal has room for\"}" },
	{ "worker.worker-tools-1.up", "{\"services\":[\"tool:a\",\"tool:b\",\"tool:c\","
				      "\"tool:d\",\"tool:e\",\"tool:f\",\"tool:g\"]}" },
};

static size_t at_published;

static void
say_line(void)
{
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	printf("%s", watch_line(arena, published[at_published].topic,
			 parsed(published[at_published].body)));
}

/* Characters; colours are none. */
static size_t
columns(const char *line)
{
	size_t count = 0;

	for (; *line != '\0'; line++) {
		if (*line == '\033')
			line += strcspn(line, "m");
		else
			count += ((unsigned char)*line & 0xc0) != 0x80;
	}
	return count;
}

START_TEST(what_is_watched_fits_the_terminal)
{
	const char *line;

	at_published = (size_t)_i;
	line = on_terminal(say_line);
	ck_assert_msg(columns(line) == COLUMNS, "%zu: %s", columns(line), line);
	ck_assert_ptr_nonnull(strstr(line, "…"));
}
END_TEST

static void
say_token(void)
{
	printf("%s",
	    watch_line(arena, "run.r.token",
		parsed("{\"at\":1,\"content\":\"\\u202eab\\u200f\\u2069\\u061c\"}")));
}

START_TEST(a_token_turns_no_line_around)
{
	const char *line = on_terminal(say_token);

	ck_assert_msg(
	    strstr(line, "\"\\u202eab\\u200f\\u2069\\u061c\"") != NULL, "%s", line);
}
END_TEST

TCase *
tcase_show(void)
{
	TCase *tcase = tcase_create("show");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_headline_has_no_text_that_drives_a_terminal, 0,
	    sizeof headlines / sizeof *headlines);
	tcase_add_test(tcase, a_token_turns_no_line_around);
	tcase_add_test(tcase, one_of_them_is_not_many);
	tcase_add_test(tcase, an_answer_is_tame_on_a_terminal);
	tcase_add_test(tcase, a_debug_event_tells_what_was_written);
	tcase_add_test(tcase, a_line_fits_a_narrow_terminal);
	tcase_add_test(tcase, a_word_that_does_not_fit_is_on_the_next_line);
	tcase_add_test(tcase, fields_are_shown_in_a_few_lines);
	tcase_add_test(tcase, a_wide_table_has_two_lines_a_row);
	tcase_add_loop_test(tcase, what_is_watched_fits_the_terminal, 0,
	    sizeof published / sizeof *published);
	return tcase;
}
