#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "watchdog.h"

/* Interfaces under test */
#include "notify.h"
#include "service.h"

struct fixture {
	struct service_settings common;
	int64_t drain_ms;
};

static const struct setting table[] = {
	SERVICE_SETTINGS,
	{ "drain-ms", SETTING_INTEGER, offsetof(struct fixture, drain_ms), "60000", 1,
	    600000, "ms", "how long the orderly end may take", 0 },
	{ .name = NULL },
};

/* The program in the child: which drain it has, and what else it does. */
enum behaviour {
	DRAINS_SOON,
	DRAINS_NEVER,
	HAS_NO_DRAIN,
	WAITS_BEFORE_IT_RUNS,
	LOOKS_FOR_A_NAME_FOR_EVER,
};

static enum behaviour behaviour;
static struct service *service;
static struct timer *timer;
static int notify_fd; /* where the child says READY=1 */
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static char folder[] = "/tmp/flotilla-service-XXXXXX";

static void
setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", folder);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(
	    bind(notify_fd, (const struct sockaddr *)&address, sizeof address), 0);
}

static void
teardown(void)
{
	close(notify_fd);
	unlink(address.sun_path);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void
wait_for(const char *expected)
{
	char text[100];
	ssize_t size = recv(notify_fd, text, sizeof text - 1, 0);

	ck_assert_int_ge(size, 0);
	text[size] = '\0';
	ck_assert_str_eq(text, expected);
}

static void
end_service(void *arg)
{
	(void)arg;
	ck_assert(service_is_draining(service));
	service_end(service);
}

/* As getaddrinfo does, on its thread, where no server answers. */
static void
hang(uv_work_t *work)
{
	(void)work;
	for (;;)
		pause();
}

static void
drain(void *arg)
{
	static uv_work_t work;

	ck_assert_ptr_eq(arg, &behaviour);
	if (behaviour == LOOKS_FOR_A_NAME_FOR_EVER)
		uv_queue_work(loop_uv(service_loop(service)), &work, hang, NULL);
	if (behaviour == DRAINS_SOON || behaviour == LOOKS_FOR_A_NAME_FOR_EVER)
		timer = timer_start(service_loop(service), 1, 0, end_service, NULL);
}

static bool
never(void *arg)
{
	(void)arg;
	return false;
}

static int
serve(const char *drain_ms)
{
	static struct fixture settings;
	static char program[] = "broker", flag[] = "--drain-ms", number[16];
	char *argv[] = { program, flag, number, NULL };

	snprintf(number, sizeof number, "%s", drain_ms);
	service = service_start("broker", table, &settings, 3, argv);
	ck_assert(!service_is_draining(service));
	if (behaviour == WAITS_BEFORE_IT_RUNS) {
		kill(getppid(), SIGUSR1);
		loop_run_until(service_loop(service), never, NULL);
	}
	service_run(service, behaviour == HAS_NO_DRAIN ? NULL : drain, &behaviour);
	timer_stop(&timer);
	return service_stop_with(
	    &service, behaviour == LOOKS_FOR_A_NAME_FOR_EVER ? 7 : 0);
}

static pid_t
start(enum behaviour does, const char *drain_ms)
{
	pid_t child;

	behaviour = does;
	child = fork();
	if (child == 0) {
		sigset_t all; /* a supervisor may have had them blocked */

		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		close(STDERR_FILENO); /* nor left it a log to write to */
		exit(serve(drain_ms));
	}
	return child;
}

static void
check_exit(pid_t child, int expected)
{
	int status;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == expected, "status %#x",
	    (unsigned)status);
}

START_TEST(it_says_ready_drains_on_the_first_signal_and_ends_with_0)
{
	pid_t child = start(DRAINS_SOON, "60000");

	wait_for("READY=1");
	kill(child, _i == 0 ? SIGTERM : SIGINT);
	wait_for("STOPPING=1\nEXTEND_TIMEOUT_USEC=60000000");
	check_exit(child, 0);
}
END_TEST

START_TEST(a_lookup_that_hangs_takes_neither_end_nor_status_away)
{
	pid_t child = start(LOOKS_FOR_A_NAME_FOR_EVER, "60000");

	wait_for("READY=1");
	kill(child, SIGTERM);
	wait_for("STOPPING=1\nEXTEND_TIMEOUT_USEC=60000000");
	check_exit(child, 7);
}
END_TEST

START_TEST(without_a_drain_it_ends_on_the_first_signal)
{
	pid_t child = start(HAS_NO_DRAIN, "60000");

	wait_for("READY=1");
	kill(child, SIGTERM);
	check_exit(child, 0);
}
END_TEST

START_TEST(a_supervisor_that_wants_signs_of_life_gets_them)
{
	pid_t child;

	setenv("WATCHDOG_USEC", "60000", 1);
	child = start(HAS_NO_DRAIN, "60000");
	unsetenv("WATCHDOG_USEC");
	wait_for("READY=1");
	wait_for("WATCHDOG=1");
	wait_for("WATCHDOG=1");
	kill(child, SIGTERM);
	check_exit(child, 0);
}
END_TEST

START_TEST(a_supervisor_that_does_not_read_holds_nobody_up)
{
	int sent = 0;

	while (notify("WATCHDOG=1") == 0)
		sent++;
	ck_assert_int_gt(sent, 0);
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

START_TEST(without_a_supervisor_nothing_is_said)
{
	unsetenv("NOTIFY_SOCKET");
	ck_assert_int_eq(notify("WATCHDOG=1"), -1);
	ck_assert_uint_eq(notify_watchdog_ms(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	ck_assert_uint_eq(notify_watchdog_ms(), 10000);
	unsetenv("WATCHDOG_USEC");
}
END_TEST

START_TEST(restarts_are_what_the_supervisor_says)
{
	static const struct {
		const char *text;
		uint64_t count;
	} rows[] = { { "3", 3 }, { "", 0 }, { "-1", 0 }, { "many", 0 },
		{ "99999999999999", 0 } };
	size_t i;

	ck_assert_uint_eq(notify_restarts(), 0);
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		setenv("FLOTILLA_RESTARTS", rows[i].text, 1);
		ck_assert_uint_eq(notify_restarts(), rows[i].count);
	}
	unsetenv("FLOTILLA_RESTARTS");
}
END_TEST

static void
stand_still(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

START_TEST(one_that_stands_still_ends_itself)
{
	static char program[] = "broker", flag[] = "--stuck-ms=100";
	char *argv[] = { program, flag, NULL };
	static struct fixture settings;
	pid_t child = fork();

	if (child == 0) {
		close(STDERR_FILENO);
		service = service_start("broker", table, &settings, 2, argv);
		timer_start(service_loop(service), 1, 0, stand_still, NULL);
		service_run(service, NULL, NULL);
		_exit(99);
	}
	check_exit(child, WATCHDOG_STATUS);
}
END_TEST

/* --- two programs in one process -------------------------------------------------------- */

static struct service *parts[2];
static const char *const reload_words[] = { "0 reloads", "1 reloads" };

static void
say(void *arg)
{
	notify(arg);
}

static void
on_part_ended(void *arg)
{
	struct service **part = arg;

	notify(part == parts ? "0 ended" : "1 ended");
	if (part == parts)
		service_end(parts[1]);
	else
		service_end(service);
}

static void
drain_parts(void *arg)
{
	struct service **all = arg;

	if (service_is_draining(all[0]) && service_is_draining(all[1]))
		service_end(all[0]);
}

/* reloading: how many parts want to hear SIGHUP. */
static pid_t
start_parts(size_t reloading)
{
	static char program[] = "hub", quiet[] = "--log-level=error";
	char *argv[] = { program, quiet, NULL };
	static struct fixture settings;
	pid_t child = fork();
	size_t i;

	if (child > 0)
		return child;
	service = service_start("hub", table, &settings, 2, argv);
	for (i = 0; i < 2; i++)
		parts[i] = service_part(service, on_part_ended, &parts[i]);
	for (i = 0; i < reloading; i++)
		service_on_reload(parts[i], say, (void *)(uintptr_t)reload_words[i]);
	if (service_loop(parts[0]) != service_loop(service) ||
	    service_is_draining(parts[0]))
		exit(99);
	service_run(service, drain_parts, parts);
	exit(service_stop(&service));
}

START_TEST(parts_drain_as_one_and_each_says_when_it_has_ended)
{
	pid_t child = start_parts(0);

	wait_for("READY=1");
	kill(child, SIGTERM);
	wait_for("STOPPING=1\nEXTEND_TIMEOUT_USEC=60000000");
	wait_for("0 ended");
	wait_for("1 ended");
	check_exit(child, 0);
}
END_TEST

START_TEST(sighup_reloads_each_part_that_asked_for_it)
{
	pid_t child = start_parts(2);

	wait_for("READY=1");
	kill(child, SIGHUP);
	wait_for("1 reloads");
	wait_for("0 reloads");
	kill(child, SIGTERM);
	wait_for("STOPPING=1\nEXTEND_TIMEOUT_USEC=60000000");
	wait_for("0 ended");
	wait_for("1 ended");
	check_exit(child, 0);
	child = start_parts(1);
	wait_for("READY=1");
	kill(child, SIGHUP);
	wait_for("0 reloads");
	kill(child, SIGTERM);
	check_exit(child, 0);
}
END_TEST

START_TEST(a_second_signal_ends_it_at_once_with_1)
{
	pid_t child = start(DRAINS_NEVER, "60000");

	wait_for("READY=1");
	kill(child, SIGTERM);
	wait_for("STOPPING=1\nEXTEND_TIMEOUT_USEC=60000000");
	kill(child, SIGTERM);
	check_exit(child, 1);
}
END_TEST

START_TEST(a_drain_that_takes_too_long_ends_it_with_1)
{
	pid_t child = start(DRAINS_NEVER, "10");

	wait_for("READY=1");
	kill(child, SIGTERM);
	check_exit(child, 1);
}
END_TEST

START_TEST(a_signal_before_it_runs_ends_it_with_0)
{
	sigset_t usr1;
	int number;
	pid_t child;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	child = start(WAITS_BEFORE_IT_RUNS, "60000");
	ck_assert_int_eq(sigwait(&usr1, &number), 0);
	kill(child, SIGTERM);
	check_exit(child, 0);
}
END_TEST

START_TEST(its_name_tells_program_machine_and_process_unless_given)
{
	static char program[] = "broker", flag[] = "--name", name[] = "east-1";
	static char quiet[] = "--log-level=error";
	char *plain[] = { program, quiet, NULL };
	char *named[] = { program, quiet, flag, name, NULL };
	char host[33] = "", expected[64];
	struct fixture settings;

	gethostname(host, sizeof host - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(expected, sizeof expected, "broker-%s-%ld", host, (long)getpid());
	service = service_start("broker", table, &settings, 2, plain);
	ck_assert_str_eq(settings.common.name, expected);
	ck_assert_int_eq(service_stop(&service), EXIT_SUCCESS);
	ck_assert_ptr_null(service);
	service = service_start("broker", table, &settings, 4, named);
	ck_assert_str_eq(settings.common.name, "east-1");
	ck_assert_int_eq(service_stop(&service), EXIT_SUCCESS);
}
END_TEST

static void
check_refused(const char *flag)
{
	static char program[] = "broker";
	char *argv[] = { program, strdup(flag), NULL };
	static struct fixture settings;
	pid_t child = fork();

	if (child == 0) {
		close(STDERR_FILENO);
		service_start("broker", table, &settings, 2, argv);
		_exit(99);
	}
	check_exit(child, 2);
	free(argv[1]);
}

START_TEST(an_unknown_log_level_is_refused)
{
	check_refused("--log-level=loud");
}
END_TEST

/* No peer would read a message with it. */
START_TEST(a_name_that_no_message_may_have_is_refused)
{
	char name[160];

	check_refused("--name=my broker");
	check_refused("--name=br\xc3\xb6ker");
	snprintf(name, sizeof name, "--name=%0121d", 1);
	check_refused(name);
}
END_TEST

START_TEST(sessions_are_32_hex_digits_and_never_the_same)
{
	char one[33], other[33];

	service_session(one);
	service_session(other);
	ck_assert_uint_eq(strlen(one), 32);
	ck_assert_uint_eq(strspn(one, "0123456789abcdef"), 32);
	ck_assert_str_ne(one, other);
}
END_TEST

TCase *tcase_service(void);

TCase *
tcase_service(void)
{
	TCase *tcase = tcase_create("service");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, it_says_ready_drains_on_the_first_signal_and_ends_with_0, 0, 2);
	tcase_add_test(tcase, a_lookup_that_hangs_takes_neither_end_nor_status_away);
	tcase_add_test(tcase, without_a_drain_it_ends_on_the_first_signal);
	tcase_add_test(tcase, a_supervisor_that_wants_signs_of_life_gets_them);
	tcase_add_test(tcase, a_supervisor_that_does_not_read_holds_nobody_up);
	tcase_add_test(tcase, without_a_supervisor_nothing_is_said);
	tcase_add_test(tcase, restarts_are_what_the_supervisor_says);
	tcase_add_test(tcase, one_that_stands_still_ends_itself);
	tcase_add_test(tcase, parts_drain_as_one_and_each_says_when_it_has_ended);
	tcase_add_test(tcase, sighup_reloads_each_part_that_asked_for_it);
	tcase_add_test(tcase, a_second_signal_ends_it_at_once_with_1);
	tcase_add_test(tcase, a_drain_that_takes_too_long_ends_it_with_1);
	tcase_add_test(tcase, a_signal_before_it_runs_ends_it_with_0);
	tcase_add_test(tcase, its_name_tells_program_machine_and_process_unless_given);
	tcase_add_test(tcase, an_unknown_log_level_is_refused);
	tcase_add_test(tcase, a_name_that_no_message_may_have_is_refused);
	tcase_add_test(tcase, sessions_are_32_hex_digits_and_never_the_same);
	return tcase;
}
