/* A connection so slow that one message takes longer to cross than a silent peer is taken to live. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire_bench.h"

TCase *tcase_slow_wire(void);

#define SAID_BYTES (4u << 20)
/* Bytes a second. SLOW: SAID_BYTES take nearly twice LIVENESS_MS. SLOWER: and longer than libzmq's
 * heartbeats leave a whole frame elsewhere. TRICKLE: in LIVENESS_MS less than INFLOW_BYTES_MIN. */
#define SLOW 1500000u
#define SLOWER 450000u
#define TRICKLE 4000u

static struct wire_bench bench;
static struct child *proxy, *worker;
static char control[160];

/* --- the proxy, between the worker and the broker ---------------------------------------- */

static unsigned
proxy_port(const char *ports)
{
	FILE *file = fopen(ports, "re");
	unsigned port = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "worker %u", &port), 1);
	fclose(file);
	return port;
}

static void
start_proxy(void)
{
	char links[160], ports[160];
	FILE *file;

	snprintf(links, sizeof links, "%s/links", bench.folder);
	snprintf(ports, sizeof ports, "%s/ports", bench.folder);
	snprintf(control, sizeof control, "%s/control", bench.folder);
	file = fopen(links, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "worker 127.0.0.1 %s\n", strrchr(bench.endpoint, ':') + 1);
	fclose(file);
	proxy = child_start(
	    (const char *const[]){ "chaos-proxy", links, ports, control, NULL }, NULL);
	snprintf(bench.endpoint, sizeof bench.endpoint, "tcp://127.0.0.1:%u",
	    proxy_port(ports));
}

static void
tell_proxy(const char *command)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, control, strlen(control) + 1);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(send(fd, command, strlen(command), 0), (int)strlen(command));
	close(fd);
}

static void
limit(unsigned up, unsigned down)
{
	char command[64];

	snprintf(command, sizeof command, "worker rate %u %u", up, down);
	tell_proxy(command);
}

static void
setup(void)
{
	bench.broker_flag = NULL;
	bench.on_tcp = true;
	wire_start(&bench);
	start_proxy();
	worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	wire_served(&bench, "tool:a", 1);
}

static void
teardown(void)
{
	child_stop(&worker);
	child_stop(&proxy);
	wire_stop(&bench);
}

/* --- tests --------------------------------------------------------------------------------- */

/* Its answer says all that again. */
static struct ask *
ask_at_length(void)
{
	struct ask *ask = wire_ask(&bench, "tool:a", "answer");
	char *text = malloc(SAID_BYTES + 1u);

	ck_assert_ptr_nonnull(text);
	memset(text, 'a', SAID_BYTES);
	text[SAID_BYTES] = '\0';
	wire_set(ask, "says", text);
	free(text);
	return ask;
}

static void
expect_answer(struct ask *ask)
{
	const struct value *answer;

	wire_wait(&bench, ask);
	answer = wire_answer(ask);
	ck_assert_uint_eq(strlen(value_get_text(answer, "says")), SAID_BYTES);
	limit(0, 0);
}

static void
expect_one_session(void)
{
	ck_assert_int_eq(wire_counter(&bench, "sessions_lost"), 0);
	ck_assert_int_eq(wire_counter(&bench, "sessions_opened"), 2);
	ck_assert_uint_eq(wire_logged(&bench, "began"), 1);
}

START_TEST(a_result_that_takes_its_time_ends_no_session)
{
	limit(SLOWER, 0);
	expect_answer(ask_at_length());
	expect_one_session();
}
END_TEST

START_TEST(a_call_that_takes_its_time_ends_no_session)
{
	limit(0, SLOW);
	expect_answer(ask_at_length());
	expect_one_session();
}
END_TEST

/* Asks once more when the last answer did not say so. */
static bool
has_lost_a_session(void *arg)
{
	const struct header header = { .type = MSG_STATS };

	(void)arg;
	if (value_get_int(value_get(bench.stats, "counters"), "sessions_lost", 0) > 0)
		return true;
	links_send(bench.links, 0, &header, NULL);
	return false;
}

START_TEST(a_trickle_is_no_sign_of_life)
{
	struct ask *ask;

	limit(TRICKLE, 0);
	ask = ask_at_length();
	wire_until(&bench, has_lost_a_session, NULL, "the end of a session");
	tell_proxy("worker heal");
	expect_answer(ask);
	ck_assert_uint_eq(wire_logged(&bench, "began"), 1);
}
END_TEST

TCase *
tcase_slow_wire(void)
{
	TCase *tcase = tcase_create("slow_wire");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 90);
	tcase_add_test(tcase, a_result_that_takes_its_time_ends_no_session);
	tcase_add_test(tcase, a_call_that_takes_its_time_ends_no_session);
	tcase_add_test(tcase, a_trickle_is_no_sign_of_life);
	return tcase;
}
