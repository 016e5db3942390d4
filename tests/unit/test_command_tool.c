#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "children.h"
#include "json.h"
#include "literal.h"
#include "process_bench.h"
#include "tool_trial.h"

/* Interface under test */
#include "../../worker-tools/command_tool.h"

TCase *tcase_command_tool(void);

#define HEAD "name: t\ndescription: d\n"
#define CAT_A HEAD "parameters: {properties: {a: {}}}\ncommand: [cat]\ninput: \"{a}\"\n"
#define ECHO_RUN                                                                         \
	HEAD "command: echo \"${FLOTILLA_STATE-none} ${FLOTILLA_CONTEXT-none}\"\n"

static struct tool_trial trial;
static struct arena *arena;
static char *folder;

static void
set_up(void)
{
	tool_trial_open(&trial);
	arena = trial.arena;
	folder = folder_new();
}

static void
tear_down(void)
{
	folder_remove(&folder);
	tool_trial_close(&trial);
}

static const char *
path_of(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static struct tool_result *
run_command(void *arg, struct tool_request *request)
{
	return command_tool_run(trial.loop, arg, request);
}

/* Calls the tool of the file text. */
static void
call(const char *text, const char *args)
{
	const char *error = NULL;
	const struct tool_file *file =
	    tool_file_parse(arena, path_of("t.yaml"), text, strlen(text), &error);

	ck_assert_msg(file != NULL, "%s: %s", text, error);
	trial.run = run_command;
	trial.arg = (void *)file->tools[0];
	tool_trial_call(&trial, file->tools[0]->definition, args);
}

static const char *
content_of(const char *text, const char *args)
{
	call(text, args);
	return tool_trial_answer(&trial, "success");
}

static const struct fault *
fault_of(const char *text)
{
	call(text, "{}");
	return tool_trial_fault(&trial);
}

static const struct {
	const char *text, *args, *content;
} results[] = {
	{ HEAD "command: [cat]\n", "{\"a\": [1, \"x y\"]}", "{\"a\":[1,\"x y\"]}" },
	{ HEAD "parameters: {properties: {n: {default: 5}, m: {default: 1}}}\n"
	       "command: [cat]\n",
	    "{\"m\": 2}", "{\"n\":5,\"m\":2}" },
	{ HEAD "command: [cat]\ninput: none\n", "{\"a\": 1}", "" },
	{ CAT_A, "{\"a\": \"x\\ny\\n\\n\"}", "x\ny\n" },
	{ CAT_A, "{\"a\": [1]}", "[1]" },
	{ CAT_A, "{}", "" },
	{ HEAD "parameters: {properties: {a: {}, b: {}, c: {default: 9}}}\n"
	       "command: [printf, --, '<%s>', '{a}', '{b}', 'x{c}']\n",
	    "{\"a\": \"$(id); `id` && *\"}", "<$(id); `id` && *><x9>" },
	{ HEAD "parameters: {properties: {a: {}, b-c: {}, d: {}}}\n"
	       "command: printf '<%s>' \"$ARG_A\" \"$ARG_B_C\" \"${ARG_D-none}\"\n",
	    "{\"a\": \"'; id; \\\"\", \"b-c\": {\"x\": true}}",
	    "<'; id; \"><{\"x\":true}><none>" },
	{ HEAD "parameters: {properties: {a: {}}}\ncommand: env | grep ^ARG_ | sort\n",
	    "{\"a\": 1, \"PATH\": \"/evil\", \"b\": 2}", "ARG_A=1" },
	{ HEAD "command: pwd\ndirectory: /\n", "{}", "/" },
	{ HEAD "command: echo $0 $FLOTILLA_TOOL $FLOTILLA_RUN $FLOTILLA_TOOL_CALL_ID "
	       "$FLOTILLA_IDEMPOTENCY_KEY\n",
	    "{}", "t t run_1 call_7 run_1/3/call_7" },
	{ HEAD "command: [printf, '[1, 2]']\noutput: json\n", "{}", "[1,2]" },
	{ HEAD "command: echo to stderr >&2; echo out\n", "{}", "out" },
};

START_TEST(gives_a_program_its_arguments_and_takes_its_output)
{
	ck_assert_str_eq(
	    content_of(results[_i].text, results[_i].args), results[_i].content);
}
END_TEST

START_TEST(shows_a_program_only_the_variables_its_file_lists)
{
	setenv("OPENAI_API_KEY", "secret", 1);
	setenv("LISTED", "yes", 1);
	setenv("PATH", "/usr/bin:/bin", 1);
	unsetenv("UNSET");
	ck_assert_str_eq(content_of(HEAD "environment: [LISTED, UNSET, GIVEN=a=b]\n"
					 "command: [env]\n",
			     "{}"),
	    "LISTED=yes\nGIVEN=a=b\nPATH=/usr/bin:/bin\nFLOTILLA_TOOL=t\n"
	    "FLOTILLA_RUN=run_1\nFLOTILLA_THREAD=thread_1\nFLOTILLA_TOOL_CALL_ID=call_7\n"
	    "FLOTILLA_IDEMPOTENCY_KEY=run_1/3/call_7");
}
END_TEST

#define COMMAND HEAD "output: command\ncommand: [printf, '%s', '"

/* A tool message of its own needs no id. */
START_TEST(a_program_may_write_a_command)
{
	call(COMMAND "{\"content\": \"x\", \"artifact\": 1, \"goto\": \"end\", "
		     "\"update\": {\"a\": 2, \"messages\": [\"Hi\"]}}']\n",
	    "{}");
	ck_assert_str_eq(json_text(arena, value_get(trial.body, "commands")),
	    "[{\"update\":{\"a\":2,\"messages\":[{\"type\":\"tool\",\"content\":\"x\","
	    "\"artifact\":1,\"tool_call_id\":\"call_7\",\"status\":\"success\","
	    "\"name\":\"t\"},{\"type\":\"human\",\"content\":\"Hi\"}]},\"goto\":\"end\"}"
	    "]");
	call(COMMAND
	    "{\"update\": {\"messages\": {\"role\": \"tool\", \"content\": \"No.\", "
	    "\"status\": \"error\"}}}']\n",
	    "{}");
	ck_assert_str_eq(tool_trial_answer(&trial, "error"), "No.");
	call(COMMAND "{\"update\": {\"messages\": [{\"remove\": \"all\"}]}}']\n", "{}");
	ck_assert(!value_has(trial.body, "fault"));
}
END_TEST

static const struct {
	const char *text, *message;
} bad_commands[] = {
	{ COMMAND "{\"content\": 1, \"to\": 2}']\n", "wrote a command with 'to'; " },
	{ COMMAND "{\"update\": {\"messages\": [\"Hi\"]}}']\n",
	    "gave a command without a tool message that answers the call call_7" },
	{ COMMAND "{\"content\": 1, \"update\": {\"messages\": [{\"type\": \"tool\", "
		  "\"content\": \"x\"}]}}']\n",
	    "gave 2 tool messages that answer the call" },
	{ COMMAND "{\"content\": 1, \"update\": {\"messages\": [1]}}']\n",
	    "gave a message that is none: " },
	{ HEAD "output: command\noutput_bytes_max: 10\n"
	       "command: ['printf', '{\"content\": \"x\"}']\n",
	    "wrote more than its output_bytes_max of 10 bytes" },
};

START_TEST(a_command_that_is_none_is_the_tools_error)
{
	const struct fault *fault = fault_of(bad_commands[_i].text);

	ck_assert_msg(strstr(fault->message, bad_commands[_i].message) != NULL, "%s",
	    fault->message);
	ck_assert(!fault->fatal);
}
END_TEST

/* Each only where the file asks for it. */
START_TEST(tells_a_program_of_the_run_what_its_file_names)
{
	trial.state = literal(arena, "{'a': {'b': [1]}, 'secret': 2}");
	ck_assert_str_eq(content_of(ECHO_RUN, "{}"), "none none");
	ck_assert_str_eq(content_of(ECHO_RUN "reads: [a, c]\ncontext: true\n", "{}"),
	    "{\"a\":{\"b\":[1]}} null");
	trial.context = literal(arena, "{'user': 'ann'}");
	ck_assert_str_eq(content_of(ECHO_RUN "reads: []\ncontext: true\n", "{}"),
	    "{} {\"user\":\"ann\"}");
}
END_TEST

/* Of each line that has something. */
START_TEST(tells_what_a_program_streams_while_somebody_listens)
{
	static const char tool[] =
	    HEAD "streams: true\ninput: none\ncommand: |\n"
		 "  printf '{\"a\": 1}\\n\\nhalf \\377\\n2' >&\"$FLOTILLA_STREAM_FD\"\n"
		 "  echo end\n";

	ck_assert_str_eq(content_of(tool, "{}"), "end");
	ck_assert_uint_eq(trial.told.count, 0);
	trial.listens = true;
	ck_assert_str_eq(content_of(tool, "{}"), "end");
	ck_assert_str_eq(json_text(arena, value_list_end(&trial.told)),
	    "[{\"a\":1},\"half \xef\xbf\xbd\",2]");
	ck_assert_str_eq(
	    content_of(HEAD "command: echo ${FLOTILLA_STREAM_FD-none}\n", "{}"), "none");
}
END_TEST

START_TEST(gives_a_program_none_of_our_descriptors)
{
	ck_assert_str_eq(content_of(HEAD "command: ls /proc/self/fd | wc -l\n", "{}"),
	    "4"); /* 0, 1, 2 and that of the folder */
}
END_TEST

START_TEST(gives_a_program_its_limits_and_no_new_privileges)
{
	const char *ask =
	    "command: |\n  ulimit -c -S; ulimit -c -H; ulimit -d; ulimit -t\n"
	    "  ulimit -f; ulimit -n; ulimit -p\n"
	    "  sed -n 's/NoNewPrivs:.//p' /proc/self/status\n";

	/* Kilobytes and blocks of 512 bytes, as sh counts. */
	ck_assert_str_eq(
	    content_of(arena_printf(arena, HEAD "timeout_ms: 30000\n%s", ask), "{}"),
	    "0\n0\n4194304\n120\n2097152\n1024\n4096\n1");
	ck_assert_str_eq(
	    content_of(arena_printf(arena,
			   HEAD "limits: {memory_bytes: 33554432, cpu_seconds: 7, "
				"file_bytes: 1048576, open_files: 32, processes: 900, "
				"gain_privileges: true}\n%s",
			   ask),
		"{}"),
	    "0\n0\n32768\n7\n2048\n32\n900\n0");
}
END_TEST

START_TEST(runs_what_stands_beside_the_file)
{
	FILE *script = fopen(path_of("here.sh"), "w");

	fputs("#!/bin/sh\ncat word\n", script);
	fclose(script);
	script = fopen(path_of("word"), "w");
	fputs("beside\n", script);
	fclose(script);
	chmod(path_of("here.sh"), 0755);
	ck_assert_str_eq(content_of(HEAD "command: [./here.sh]\n", "{}"), "beside");
}
END_TEST

/* Returns {"a": "xxx..."} of a million x. */
static const char *
megabyte(void)
{
	char *text = arena_alloc(arena, 1000001);

	memset(text, 'x', 1000000);
	return arena_printf(arena, "{\"a\": \"%s\"}", text);
}

START_TEST(passes_megabytes_both_ways)
{
	ck_assert_uint_eq(strlen(content_of(HEAD "parameters: {properties: {a: {}}}\n"
						 "command: [cat]\ninput: \"{a}\"\n",
			      megabyte())),
	    1000000);
}
END_TEST

START_TEST(does_not_mind_a_program_that_ignores_its_input)
{
	ck_assert_str_eq(content_of(HEAD "command: echo done\n", megabyte()), "done");
}
END_TEST

static const struct {
	const char *text, *type, *message;
} failures[] = {
	{ HEAD "command: |\n  echo 'OSError: [Errno 28] full' >&2; exit 1\n", "OSError",
	    "[Errno 28] full" },
	/* Names that end a run: of a program they are only its last words. */
	{ HEAD "command: echo asyncio.exceptions.CancelledError >&2; exit 1\n",
	    "ToolException", "exited with status 1: asyncio.exceptions.CancelledError" },
	{ HEAD "command: |\n  echo 'GraphInterrupt: ()' >&2; exit 1\n", "ToolException",
	    "exited with status 1: GraphInterrupt: ()" },
	{ HEAD "command: exit 4\n", "ToolException",
	    "exited with status 4 and wrote nothing to stderr" },
	{ HEAD "command: kill -9 $$\n", "ToolException",
	    "was ended by signal 9 (Killed)" },
	{ HEAD "command: sleep 60\ntimeout_ms: 50\n", "TimeoutError",
	    "took longer than its timeout_ms of 50 and was stopped" },
	{ HEAD "command: [yes]\noutput_bytes_max: 1000\n", "ToolException",
	    "wrote more than its output_bytes_max of 1000 bytes and was stopped" },
	/* Programs that try. */
	{ HEAD "limits: {cpu_seconds: 1}\ncommand: while :; do :; done\n",
	    "ToolException", "used more than its cpu_seconds of 1 and was stopped" },
	{ HEAD "limits: {file_bytes: 1000000}\n"
	       "command: exec head -c 1000001 /dev/zero > big\n",
	    "ToolException",
	    "wrote a file of more than its file_bytes of 1000000 and was stopped" },
	{ HEAD "limits: {memory_bytes: 16777216}\n"
	       "command: head -c 100000000 /dev/zero | tail -n 1 > /dev/null\n",
	    "ToolException", "exited with status 1: tail: memory exhausted" },
	{ HEAD "command: echo '{'\noutput: json\n", "ToolException",
	    "wrote no JSON although its output is json: " },
};

START_TEST(fails_in_the_programs_words)
{
	const struct fault *fault = fault_of(failures[_i].text);

	ck_assert_str_eq(fault->type, failures[_i].type);
	ck_assert_msg(strncmp(fault->message, failures[_i].message,
			  strlen(failures[_i].message)) == 0,
	    "%s", fault->message);
	ck_assert(fault->retryable);
	ck_assert(!fault->fatal);
}
END_TEST

START_TEST(tells_the_model_what_it_must_not_pass)
{
	call(HEAD "parameters: {properties: {a: {}}}\ncommand: [cat, '{a}']\n",
	    "{\"a\": \"-n\"}");
	ck_assert_ptr_nonnull(
	    strstr(tool_trial_answer(&trial, "error"), "begins with '-'"));
	call(HEAD "parameters: {properties: {a: {}}}\ncommand: echo\n",
	    "{\"a\": \"x\\u0000y\"}");
	ck_assert_ptr_nonnull(strstr(tool_trial_answer(&trial, "error"), "NUL"));
}
END_TEST

START_TEST(says_that_a_program_has_gone_since)
{
	const struct fault *fault;
	FILE *script = fopen(path_of("here.sh"), "w");

	fputs("#!/no/such/interpreter\n", script);
	fclose(script);
	chmod(path_of("here.sh"), 0755);
	fault = fault_of(HEAD "command: [./here.sh]\n");
	ck_assert_str_eq(fault->type, "ToolException");
	ck_assert_ptr_nonnull(strstr(fault->message, "could not be started"));
}
END_TEST

/* A child that ignores SIGTERM, and a grandchild that does. */
#define STUBBORN                                                                         \
	"trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > pid; > started; "                \
	"while :; do sleep 1; done' & wait; while :; do sleep 1; done"

static bool
has_started(void *arg)
{
	(void)arg;
	return access(path_of("started"), F_OK) == 0;
}

/* Has a tool be late, once it has started: on a machine with much to do it may be late before. */
static void
be_late(const char *keys, const char *command)
{
	unsigned timeout_ms = 50;
	const char *text;

	do {
		timeout_ms *= 2;
		text = arena_printf(arena, HEAD "%stimeout_ms: %u\ncommand: |\n  %s\n",
		    keys, timeout_ms, command);
		ck_assert_str_eq(fault_of(text)->type, "TimeoutError");
	} while (!has_started(NULL));
}

START_TEST(leaves_no_grandchild_behind_when_it_is_late)
{
	be_late("", STUBBORN);
	pb_check_is_gone(path_of("pid"));
}
END_TEST

/* It takes longer to end than a tool usually may. */
START_TEST(gives_a_late_program_the_grace_that_its_file_says)
{
	be_late("grace_ms: 4000\n",
	    "trap 'sleep 0.5; : > ended; exit' TERM; : > started; "
	    "while :; do sleep 0.01; done");
	ck_assert_int_eq(access(path_of("ended"), F_OK), 0);
}
END_TEST

START_TEST(leaves_no_grandchild_behind_when_it_is_cancelled)
{
	const struct fault *fault;

	trial.cancels = has_started;
	fault = fault_of(HEAD "command: |\n  " STUBBORN "\n");
	ck_assert(fault->control);
	ck_assert_str_eq(fault->type, "CancelledError");
	pb_check_is_gone(path_of("pid"));
}
END_TEST

static const char careful[] =
    HEAD "interrupts: true\ninput: none\ncommand: |\n"
	 "  echo \"$FLOTILLA_ANSWERS ${FLOTILLA_ANSWER-none}\" >> ran\n"
	 "  case ${FLOTILLA_ANSWER-} in\n"
	 "    yes) echo paid; exit 0 ;;\n"
	 "    '') echo '{\"pay\": 3}' ;;\n"
	 "    *) echo '\"sure?\"' ;;\n"
	 "  esac\n"
	 "  exit 75\n";

static const char *
question_of(const char *answers)
{
	trial.answers = answers == NULL ? NULL : literal(arena, answers);
	call(careful, "{}");
	return json_text(arena, value_get(trial.body, "interrupt"));
}

START_TEST(asks_a_human_and_goes_on_with_the_answers)
{
	ck_assert_str_eq(question_of(NULL), "{\"pay\":3}");
	ck_assert_str_eq(question_of("[{'n': 1}]"), "\"sure?\"");
	trial.answers = literal(arena, "['no', 'yes']");
	ck_assert_str_eq(content_of(careful, "{}"), "paid");
	ck_assert_str_eq(content_of(HEAD "directory: .\ncommand: cat ran\n", "{}"),
	    "[] none\n[{\"n\":1}] {\"n\":1}\n[\"no\",\"yes\"] yes");
	/* Nobody else is told of answers. */
	ck_assert_str_eq(
	    content_of(HEAD "command: echo ${FLOTILLA_ANSWERS-none}\n", "{}"), "none");
}
END_TEST

START_TEST(cannot_be_given_an_answer_that_no_variable_holds)
{
	char *long_text = arena_alloc(arena, TOOL_ARGUMENT_BYTES_MAX + 2);

	memset(long_text, 'x', TOOL_ARGUMENT_BYTES_MAX + 1);
	trial.answers =
	    value_array_add(arena, value_empty_array(), value_str(arena, long_text));
	call(careful, "{}");
	ck_assert_ptr_nonnull(
	    strstr(tool_trial_answer(&trial, "error"), "FLOTILLA_ANSWERS"));
}
END_TEST

TCase *
tcase_command_tool(void)
{
	TCase *tcase = tcase_create("command_tool");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, gives_a_program_its_arguments_and_takes_its_output, 0,
	    sizeof results / sizeof results[0]);
	tcase_add_test(tcase, shows_a_program_only_the_variables_its_file_lists);
	tcase_add_test(tcase, a_program_may_write_a_command);
	tcase_add_loop_test(tcase, a_command_that_is_none_is_the_tools_error, 0,
	    sizeof bad_commands / sizeof bad_commands[0]);
	tcase_add_test(tcase, tells_a_program_of_the_run_what_its_file_names);
	tcase_add_test(tcase, gives_a_program_none_of_our_descriptors);
	tcase_add_test(tcase, tells_what_a_program_streams_while_somebody_listens);
	tcase_add_test(tcase, gives_a_program_its_limits_and_no_new_privileges);
	tcase_add_test(tcase, runs_what_stands_beside_the_file);
	tcase_add_test(tcase, passes_megabytes_both_ways);
	tcase_add_test(tcase, does_not_mind_a_program_that_ignores_its_input);
	tcase_add_loop_test(
	    tcase, fails_in_the_programs_words, 0, sizeof failures / sizeof failures[0]);
	tcase_add_test(tcase, tells_the_model_what_it_must_not_pass);
	tcase_add_test(tcase, says_that_a_program_has_gone_since);
	tcase_add_test(tcase, leaves_no_grandchild_behind_when_it_is_late);
	tcase_add_test(tcase, gives_a_late_program_the_grace_that_its_file_says);
	tcase_add_test(tcase, leaves_no_grandchild_behind_when_it_is_cancelled);
	tcase_add_test(tcase, asks_a_human_and_goes_on_with_the_answers);
	tcase_add_test(tcase, cannot_be_given_an_answer_that_no_variable_holds);
	return tcase;
}
