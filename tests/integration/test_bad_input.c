/* What is wrong is said to whoever caused it, with the place and the nearest right name; the
 * other runs go on, and nothing is lost. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "wire.h"

#define WAIT_MS 30000u

static struct fleet_kit *kit;
static struct arena *arena;
static struct cli flotilla;

static void
start_fleet(void)
{
	arena = arena_new();
	kit = kit_new();
	flotilla = (struct cli){ kit_program(kit, "flotilla"), kit_path(kit, ""), arena };
	setenv("FLOTILLA_REDIS", kit_redis(kit), 1);
	kit_flag(kit, KIT_TOOLS, "--tools",
	    kit_write(kit, "note.yaml",
		"{name: note, description: notes, command: echo noted, input: none}\n"));
	kit_flag(kit, KIT_COORDINATOR, "--served-wait-ms", "500");
	kit_start_all(kit, 1, 1, 1);
	kit_write(kit, "good.yaml",
	    "name: quick\n"
	    "model: scripted:m\n"
	    "script: {m: [{content: Done., delay_ms: 100}]}\n"
	    "---\n"
	    "name: steady\n"
	    "model: scripted:m\n"
	    "tools: [note]\n"
	    "script:\n"
	    "  m:\n"
	    "    - {content: '', delay_ms: 300, tool_calls: [{id: a, name: note, args: "
	    "{}}]}\n"
	    "    - {content: '', delay_ms: 300, tool_calls: [{id: b, name: note, args: "
	    "{}}]}\n"
	    "    - {content: '', delay_ms: 300, tool_calls: [{id: c, name: note, args: "
	    "{}}]}\n"
	    "    - {content: Done., delay_ms: 300}\n");
	kit_flotilla(kit, "agents", "apply", kit_path(kit, "good.yaml"), NULL);
}

static void
stop_fleet(void)
{
	unsetenv("FLOTILLA_REDIS"); /* the other cases run in this process, too */
	kit_destroy(&kit);
	arena_destroy(&arena);
}

static void
assert_says(const char *text, const char *part)
{
	ck_assert_ptr_nonnull(text);
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

static void
assert_runs_go_on(void)
{
	struct said said = CLI(&flotilla, "submit", "quick", "Hi", "--wait");

	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(said.out, "Done.\n");
}

/* --- entries of the queue ------------------------------------------------------------------ */

#define INPUT "{\"messages\": [{\"type\": \"human\", \"content\": \"Hi\"}]}"

static const struct {
	const char *fields[8]; /* name, text, ..., NULL */
	const char *reason;    /* a part of it */
} entries[] = {
	{ { "agent", "qiuck", "input", INPUT },
	    "agent 'qiuck' is not known, did you mean 'quick'?" },
	{ { "input", INPUT }, "agent is missing" },
	{ { "agent", "quick" }, "input is missing" },
	{ { "agent", "quick", "inptu", INPUT },
	    "unknown field 'inptu'; did you mean 'input'?" },
	{ { "agent", "quick", "input", "\"a\"", "input", INPUT },
	    "field 'input' is given twice" },
	{ { "agent", "quick", "input", "{\"messages\": [}" },
	    "input is not valid JSON: " },
	{ { "agent", "quick", "input", "{\"messages\":\n [}" }, "line 2" },
	{ { "agent", "quick", "input", INPUT, "resume", "1" },
	    "input and resume: a run has one" },
	{ { "agent", "quick", "input", "17" }, "input: " },
	{ { "agent", "quick", "input", "[{\"type\": \"humna\", \"content\": \"Hi\"}]" },
	    "input: messages[0].type: must be one of human" },
	{ { "agent", "quick", "input", INPUT, "context", "{oops" },
	    "context is not valid JSON" },
	{ { "agent", "quick", "input", INPUT, "thread", "no spaces here" },
	    "thread: an id is 1 to" },
	{ { "agent", "quick", "input", INPUT, "thread", "acme:m" },
	    "does not end in a colon and a small letter" },
};

struct refusal {
	const char *run;
	int entry;
};

/* The reason with which fl:refused keeps run, or NULL. */
static const char *
kept_reason(struct fleet_client *client, const char *run)
{
	const struct value *reply = NULL;
	size_t i, j;

	ck_assert_int_eq(redis_text(client->redis, arena, WAIT_MS, &reply, "XRANGE",
			     STORE_REFUSED, "-", "+", NULL),
	    REDIS_OK);
	for (i = 0; i < value_size(reply); i++) {
		const struct value *flat = value_at(value_at(reply, i), 1);
		struct value_fields fields = { .arena = arena };

		for (j = 0; j + 1 < value_size(flat); j += 2)
			value_fields_set(&fields, redis_reply_text(value_at(flat, j)),
			    value_str(arena, redis_reply_text(value_at(flat, j + 1))));
		if (value_text_is(value_get(value_fields_end(&fields), "run"), run))
			return value_get_text(value_fields_end(&fields), "reason");
	}
	return NULL;
}

static void
submit_badly(struct fleet_client *client, void *arg)
{
	const struct refusal *refusal = arg;
	const char *const *field = entries[refusal->entry].fields;
	const char *reason = entries[refusal->entry].reason;
	struct value_pair pairs[5] = { { value_str(arena, "run"),
	    value_str(arena, refusal->run) } };
	const struct value *events = NULL, *record = NULL, *last;
	size_t count = 1;

	for (; *field != NULL; field += 2)
		pairs[count++] = (struct value_pair){ value_str(arena, field[0]),
			value_str(arena, field[1]) };
	client_submit(client, arena, value_map_of(arena, pairs, count));
	ck_assert(client_wait_end(client, refusal->run, refusal->run, WAIT_MS));
	store_events(client->store, arena, refusal->run, refusal->run, 0, 0, &events);
	last = value_at(events, value_size(events) - 1);
	ck_assert_str_eq(value_get_text(last, "status"), "refused");
	assert_says(value_get_text(value_get(last, "error"), "message"), reason);
	store_run(client->store, arena, refusal->run, refusal->run, &record);
	ck_assert_str_eq(value_get_text(record, "status"), "refused");
	assert_says(value_get_text(value_get(record, "fault"), "message"), reason);
	assert_says(kept_reason(client, refusal->run), reason);
}

START_TEST(an_entry_that_cannot_run_is_refused_with_its_reason)
{
	struct refusal refusal = { arena_printf(arena, "bad-%d", _i), _i };

	client_run(kit_redis(kit), submit_badly, &refusal);
	assert_says(CLI(&flotilla, "runs", "--state", "refused").out, refusal.run);
	ck_assert_int_eq(CLI(&flotilla, "watch", refusal.run).status, 7);
	assert_runs_go_on();
}
END_TEST

static void
submit_too_much(struct fleet_client *client, void *arg)
{
	char *text = malloc(INPUT_BYTES_MAX + 3);
	const struct value *record = NULL;

	(void)arg;
	memset(text, 'x', INPUT_BYTES_MAX + 2);
	text[0] = text[INPUT_BYTES_MAX + 1] = '"';
	text[INPUT_BYTES_MAX + 2] = '\0';
	client_submit(client, arena,
	    value_map(arena, "agent", value_str(arena, "quick"), "run",
		value_str(arena, "large"), "input", value_str(arena, text), NULL));
	free(text);
	ck_assert(client_wait_end(client, "large", "large", WAIT_MS));
	store_run(client->store, arena, "large", "large", &record);
	ck_assert_str_eq(value_get_text(record, "status"), "refused");
	assert_says(
	    value_get_text(value_get(record, "fault"), "message"), "over the limit");
}

START_TEST(an_input_over_the_limit_is_refused)
{
	client_run(kit_redis(kit), submit_too_much, NULL);
	assert_runs_go_on();
}
END_TEST

struct theft {
	struct fleet_client *client;
	const char *run;
};

static bool
is_kept(void *arg)
{
	const struct theft *theft = arg;

	return kept_reason(theft->client, theft->run) != NULL;
}

static void
submit_theft(struct fleet_client *client, void *arg)
{
	struct theft theft = { client, arg };

	client_submit(client, arena,
	    value_map(arena, "agent", value_str(arena, "quick"), "run",
		value_str(arena, arg), "thread", value_str(arena, "there"), "input",
		value_str(arena, INPUT), NULL));
	ck_assert(client_wait(client, is_kept, &theft, WAIT_MS));
	assert_says(kept_reason(client, arg), "run 'mine' belongs to thread 'here'");
}

START_TEST(a_run_id_of_another_thread_is_refused)
{
	struct said said;

	CLI(&flotilla, "submit", "quick", "Hi", "--run", "mine", "-t", "here", "--wait");
	said = CLI(
	    &flotilla, "submit", "quick", "Hi", "--run", "mine", "-t", "there", "--wait");
	ck_assert_int_eq(said.status, 7);
	assert_says(said.err, "run 'mine' belongs to thread 'here'");
	client_run(kit_redis(kit), submit_theft, (void *)"mine");
	ck_assert_int_eq(CLI(&flotilla, "state", "there").status, 3);
}
END_TEST

/* --- agent files --------------------------------------------------------------------------- */

static const struct {
	const char *text, *place, *reason;
} files[] = {
	{ "name: a\nmodel: [x\n", "bad.yaml:3:1: ", "closing bracket" },
	{ "name: a\nmodle: scripted:m\n", "bad.yaml:2:1: ", "did you mean \"model\"?" },
	{ "name: a\nmodel: scripted:m\ntools: 3\n", "bad.yaml:3:1: ", "must be a list" },
	{ "name: a\nmodel: scripted:m\nrecursion_limit: many\n",
	    "bad.yaml:3:1: ", "integer" },
	{ "name: a\nmodel: scripted:m\nmiddleware:\n  - model_rety\n",
	    "bad.yaml:4:5: ", "did you mean \"model_retry\"?" },
	{ "name: a\nmodel: scripted:m\nmiddleware:\n  - model_retry: {max_retires: 2}\n",
	    "bad.yaml:4:19: ", "did you mean \"max_retries\"?" },
	{ "name: a\nmodel: scripted:m\nmiddleware:\n  - model_retry: {max_retries: "
	  "two}\n",
	    "bad.yaml:4:19: ", "must be an integer" },
	{ "name: a\n", "bad.yaml:1:1: ", "model" },
	{ "", "bad.yaml:1:1: ", "no agent" },
};

START_TEST(a_bad_agent_file_is_refused_with_its_place)
{
	struct said said;

	kit_write(kit, "bad.yaml", files[_i].text);
	said = CLI(&flotilla, "agents", "apply", "bad.yaml");
	ck_assert_int_eq(said.status, 1);
	assert_says(said.err, files[_i].place);
	assert_says(said.err, files[_i].reason);
	ck_assert_ptr_null(strstr(CLI(&flotilla, "agents", "list").out, "\na "));
}
END_TEST

START_TEST(a_bad_file_does_not_keep_a_good_one_from_being_applied)
{
	struct said said;

	kit_write(kit, "bad.yaml", "name: a\n");
	said = CLI(&flotilla, "agents", "apply", "bad.yaml", "good.yaml");
	ck_assert_int_eq(said.status, 1);
	assert_says(said.out, "applied quick");
}
END_TEST

/* --- what nobody serves -------------------------------------------------------------------- */

START_TEST(an_unknown_tool_is_told_when_the_agent_is_applied_and_when_it_runs)
{
	struct said said;

	kit_write(kit, "unserved.yaml",
	    "{name: unserved, model: 'scripted:m', tools: [noet], "
	    "script: {m: [{content: x}]}}\n");
	said = CLI(&flotilla, "agents", "apply", "unserved.yaml");
	ck_assert_int_eq(said.status, 0); /* its worker may come later */
	assert_says(
	    said.err, "no worker has served tool 'noet' so far; did you mean 'note'?");
	said = CLI(&flotilla, "submit", "unserved", "Hi", "--wait");
	ck_assert_int_eq(said.status, 1);
	assert_says(said.err, "no worker serves 'tool:noet' (did you mean 'tool:note'?)");
	assert_runs_go_on();
}
END_TEST

START_TEST(who_serves_a_known_provider_is_told_when_nobody_does)
{
	struct said said;

	kit_write(kit, "keyless.yaml", "{name: keyless, model: 'mistralai:m'}\n");
	said = CLI(&flotilla, "submit", "keyless.yaml", "Hi", "--wait");
	ck_assert_int_eq(said.status, 1);
	assert_says(said.err, "when MISTRAL_API_KEY is in its environment");
}
END_TEST

START_TEST(an_unknown_provider_is_told_when_the_agent_runs)
{
	struct said said;

	kit_write(kit, "nobody.yaml", "{name: nobody, model: 'scirpted:m'}\n");
	said = CLI(&flotilla, "submit", "nobody.yaml", "Hi", "--wait");
	ck_assert_int_eq(said.status, 1);
	assert_says(said.err,
	    "no worker serves 'model:scirpted' (did you mean 'model:scripted'?)");
	assert_runs_go_on();
}
END_TEST

/* --- the broker's ports -------------------------------------------------------------------- */

/* Bytes that are no ZMTP, on a plain socket. */
static void
shout_at(const char *endpoint)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = endpoint + strlen("ipc://");
	char noise[4096];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t i;

	for (i = 0; i < sizeof noise; i++)
		noise[i] = (char)(i * 31 + i / 7);
	ck_assert_uint_lt(strlen(path), sizeof address.sun_path);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	for (i = 0; i < 16; i++)
		send(fd, noise, sizeof noise, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

/* Frames that are ZMTP, but nothing that the socket behind the port expects. */
static void
send_frames(void *context, int type, const char *endpoint)
{
	void *socket = zmq_socket(context, type);
	char *large = calloc(1, BODY_BYTES_MAX + 1);

	ck_assert_int_eq(zmq_connect(socket, endpoint), 0);
	zmq_send(socket, "FL\1", 3, 0);
	zmq_send(socket, "", 0, 0);
	zmq_send(socket, "a", 1, ZMQ_SNDMORE);
	zmq_send(socket, "b", 1, 0);
	zmq_send(socket, large, BODY_BYTES_MAX + 1, 0);
	zmq_setsockopt(socket, ZMQ_LINGER, &(int){ 2000 }, sizeof(int));
	zmq_close(socket);
	free(large);
}

/* A stranger's first message is answered: what it did wrong is told. */
static void
assert_told(void *context, const void *bytes, size_t size, enum wire_code expected)
{
	void *socket = zmq_socket(context, ZMQ_DEALER);
	char answer[4096];
	struct header header;
	enum wire_code code;
	const char *reason;
	int got;

	zmq_setsockopt(socket, ZMQ_RCVTIMEO, &(int){ (int)WAIT_MS }, sizeof(int));
	zmq_setsockopt(socket, ZMQ_LINGER, &(int){ 0 }, sizeof(int));
	ck_assert_int_eq(zmq_connect(socket, kit_broker(kit)), 0);
	ck_assert_int_eq(zmq_send(socket, bytes, size, 0), (int)size);
	got = zmq_recv(socket, answer, sizeof answer, 0);
	ck_assert_int_gt(got, 0);
	ck_assert_int_eq(
	    wire_decode(arena, answer, (size_t)got, &header, &code, &reason), 0);
	ck_assert_int_eq(header.type, MSG_ERROR);
	ck_assert_uint_eq(header.code, expected);
	ck_assert_ptr_nonnull(header.reason);
	zmq_close(socket);
}

START_TEST(garbage_on_the_brokers_ports_hurts_nobody)
{
	struct cli_job *job =
	    CLI_START(&flotilla, "submit", "steady", "Hi", "--wait", "--json");
	void *context = zmq_ctx_new();
	char *oversized = calloc(1, HEADER_BYTES_MAX + 1);
	struct said said;

	snprintf(oversized, HEADER_BYTES_MAX, "FL\1\1");
	assert_told(context, "no header", 9, CODE_MALFORMED);
	assert_told(context, "FL\1\3\0\0\0\0\x80", 9, CODE_NO_SESSION); /* PING */
	assert_told(context, oversized, HEADER_BYTES_MAX + 1, CODE_TOO_LARGE);
	shout_at(kit_broker(kit));
	shout_at(kit_status(kit));
	send_frames(context, ZMQ_DEALER, kit_broker(kit));
	send_frames(context, ZMQ_XSUB, kit_status(kit));
	said = cli_end(&job);
	ck_assert_msg(said.status == 0, "%s", said.err);
	assert_runs_go_on();
	zmq_ctx_term(context);
	free(oversized);
}
END_TEST

/* --- Redis --------------------------------------------------------------------------------- */

/* On a fleet of its own: what a test starts ends with it. */
START_TEST(a_redis_that_is_gone_is_told_and_nothing_is_lost)
{
	struct fleet_kit *others = kit;
	struct arena *others_arena = arena;
	struct cli_job *job;
	struct said said;

	start_fleet();
	said = CLI(&flotilla, "submit", "steady", "Hi", "--run", "during");
	ck_assert_int_eq(said.status, 0);
	kit_stop(kit, KIT_REDIS, 0);
	said = CLI(&flotilla, "submit", "quick", "Hi");
	ck_assert_int_eq(said.status, 4);
	assert_says(said.err, "no Redis at unix://");
	job = CLI_START(&flotilla, "runs");
	kit_start(kit, KIT_REDIS, 0);
	said = cli_end(&job);
	ck_assert_int_eq(said.status, 0); /* it came back in time */
	said = CLI(&flotilla, "watch", "during");
	ck_assert_msg(said.status == 0, "%s", said.err);
	assert_says(said.out, "Done.");
	assert_runs_go_on();
	stop_fleet();
	kit = others;
	arena = others_arena;
}
END_TEST

START_TEST(a_full_redis_is_told_with_what_to_do)
{
	static const char *const calls[][6] = { { "agents", "apply", "good.yaml" },
		{ "submit", "quick", "Hi" } };
	struct said said[2];
	size_t i;

	kit_redis_cli(kit, 0, "CONFIG", "SET", "maxmemory", "1mb", NULL);
	for (i = 0; i < 2; i++)
		said[i] = cli_run(&flotilla, NULL, calls[i]);
	kit_redis_cli(kit, 0, "CONFIG", "SET", "maxmemory", "0", NULL);
	for (i = 0; i < 2; i++) {
		ck_assert_msg(said[i].status == 4, "%s", said[i].err);
		assert_says(said[i].err, "OOM");
		assert_says(said[i].err, "raise its maxmemory");
	}
	assert_runs_go_on();
}
END_TEST

TCase *tcase_bad_input(void);

TCase *
tcase_bad_input(void)
{
	TCase *tcase = tcase_create("bad_input");

	tcase_set_timeout(tcase, 60);
	/* One fleet for all: what one has done to it the next would notice. */
	tcase_add_unchecked_fixture(tcase, start_fleet, stop_fleet);
	tcase_add_loop_test(tcase, an_entry_that_cannot_run_is_refused_with_its_reason, 0,
	    sizeof entries / sizeof *entries);
	tcase_add_test(tcase, an_input_over_the_limit_is_refused);
	tcase_add_test(tcase, a_run_id_of_another_thread_is_refused);
	tcase_add_loop_test(tcase, a_bad_agent_file_is_refused_with_its_place, 0,
	    sizeof files / sizeof *files);
	tcase_add_test(tcase, a_bad_file_does_not_keep_a_good_one_from_being_applied);
	tcase_add_test(
	    tcase, an_unknown_tool_is_told_when_the_agent_is_applied_and_when_it_runs);
	tcase_add_test(tcase, who_serves_a_known_provider_is_told_when_nobody_does);
	tcase_add_test(tcase, an_unknown_provider_is_told_when_the_agent_runs);
	tcase_add_test(tcase, garbage_on_the_brokers_ports_hurts_nobody);
	tcase_add_test(tcase, a_full_redis_is_told_with_what_to_do);
	tcase_add_test(tcase, a_redis_that_is_gone_is_told_and_nothing_is_lost);
	return tcase;
}
