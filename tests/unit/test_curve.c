/* CURVE and ZAP on real sockets: who comes in, who does not, and what the latter is told.
 * The server runs in a process of its own: keys are a process's. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "curve.h"
#include "key_file.h"
#include "log.h"
#include "socket.h"
#include "zap.h"

TCase *tcase_curve(void);

/* Files of three pairs, and the public keys in them. */
enum { BROKER, FRIEND, STRANGER, PAIRS };
static char *folder;
static char paths[PAIRS][256];
static char keys[PAIRS][KEY_TEXT_BYTES];
static char endpoint[256], status_endpoint[256];
static const char *error;

static struct loop *loop;
static struct socket *ours;
static pid_t server;
static int log_fd;
static char said[8192];
static char heard[128];

/* --- the server ------------------------------------------------------------------------ */

static struct socket *router;

static bool
only_the_friend(void *arg, const char *domain, const char *key)
{
	(void)arg;
	return strcmp(domain, "calls") == 0 && strcmp(key, keys[FRIEND]) == 0;
}

/* Answers with the key it sees. */
static void
on_server_message(void *arg, struct parts *parts, bool truncated)
{
	const char *key = parts_sender_key(parts, 1);
	struct parts reply = { .count = 0 };

	(void)arg;
	(void)truncated;
	parts_add_frame(&reply, parts, 0);
	parts_add(&reply, key == NULL ? "none" : key, key == NULL ? 4 : strlen(key));
	socket_send(router, &reply);
}

static void
serve(bool with_keys, int ready)
{
	struct loop *own = loop_new();
	struct zap *zap = NULL;

	if (with_keys) {
		ck_assert_int_eq(curve_open(paths[BROKER], NULL, &error), 0);
		/* Without a word on who may come in nothing is bound. */
		ck_assert_ptr_null(
		    socket_router(own, endpoint, on_server_message, NULL, &error));
		zap = zap_new(own, only_the_friend, NULL, &error);
		ck_assert_ptr_nonnull(zap);
	}
	router = socket_router(own, endpoint, on_server_message, NULL, &error);
	ck_assert_msg(router != NULL, "%s", error);
	ck_assert_ptr_nonnull(socket_pub(own, status_endpoint, NULL, NULL, &error));
	ck_assert_int_eq(write(ready, "r", 1), 1);
	loop_run(own);
}

static void
start_server(bool with_keys)
{
	int ends[2];
	char byte;

	ck_assert_int_eq(pipe(ends), 0);
	server = fork();
	if (server == 0) {
		serve(with_keys, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	close(ends[0]);
}

/* --- us ---------------------------------------------------------------------------------- */

static void
setup(void)
{
	static const char *const names[] = { "broker", "friend", "stranger" };

	folder = folder_new();
	for (int i = 0; i < PAIRS; i++) {
		snprintf(paths[i], sizeof paths[i], "%s/%s.key", folder, names[i]);
		ck_assert_int_eq(key_file_create(paths[i], keys[i], &error), 0);
	}
	snprintf(endpoint, sizeof endpoint, "ipc://%s/calls", folder);
	snprintf(status_endpoint, sizeof status_endpoint, "ipc://%s/status", folder);
	log_fd = memfd_create("log", 0);
	ck_assert_int_ne(dup2(log_fd, STDERR_FILENO), -1);
	log_open("curve", LOG_LEVEL_INFO);
}

static void
teardown(void)
{
	socket_close(&ours, 0);
	socket_shutdown();
	loop_destroy(&loop);
	curve_close();
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	folder_remove(&folder);
}

static bool
has_heard(void *arg)
{
	(void)arg;
	return heard[0] != '\0';
}

static bool
has_said(void *arg)
{
	ssize_t size = pread(log_fd, said, sizeof said - 1, 0);

	said[size > 0 ? size : 0] = '\0';
	return strstr(said, arg) != NULL;
}

static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	(void)arg;
	(void)truncated;
	snprintf(heard, sizeof heard, "%.*s", (int)parts_size(parts, 0),
	    (const char *)parts_data(parts, 0));
}

static void
connect_with(const char *key_path, const char *broker_key)
{
	struct parts parts = { .count = 0 };

	loop = loop_new();
	if (key_path != NULL)
		ck_assert_int_eq(curve_open(key_path, broker_key, &error), 0);
	ours = socket_dealer(loop, endpoint, on_message, NULL, &error);
	ck_assert_msg(ours != NULL, "%s", error);
	parts_add(&parts, "who am I", 8);
	socket_send(ours, &parts);
}

static void
expect_log(const char *words)
{
	loop_run_until(loop, has_said, (void *)words);
	ck_assert_str_eq(heard, "");
}

START_TEST(a_key_that_is_allowed_is_seen_on_body_frames)
{
	start_server(true);
	connect_with(paths[FRIEND], keys[BROKER]);
	loop_run_until(loop, has_heard, NULL);
	ck_assert_str_eq(heard, keys[FRIEND]);
}
END_TEST

START_TEST(without_keys_all_is_as_before)
{
	start_server(false);
	connect_with(NULL, NULL);
	loop_run_until(loop, has_heard, NULL);
	ck_assert_str_eq(heard, "none");
}
END_TEST

START_TEST(a_stranger_is_told_that_its_key_was_refused)
{
	start_server(true);
	connect_with(paths[STRANGER], keys[BROKER]);
	expect_log("the broker refused this key");
}
END_TEST

START_TEST(the_server_says_whom_it_refused)
{
	start_server(true);
	connect_with(paths[STRANGER], keys[BROKER]);
	expect_log(keys[STRANGER]); /* both write to the same log */
	ck_assert_ptr_nonnull(strstr(said, "key refused"));
}
END_TEST

START_TEST(who_takes_another_for_its_broker_is_told)
{
	start_server(true);
	connect_with(paths[FRIEND], keys[STRANGER]);
	expect_log("the broker's key is another");
}
END_TEST

START_TEST(who_has_no_key_is_told_to_get_one)
{
	start_server(true);
	connect_with(NULL, NULL);
	expect_log("the broker wants a key");
}
END_TEST

START_TEST(who_has_a_key_for_a_broker_without_is_told)
{
	start_server(false);
	connect_with(paths[FRIEND], keys[BROKER]);
	expect_log("the broker has no keys");
}
END_TEST

START_TEST(each_kind_of_socket_asks_for_itself)
{
	start_server(true);
	loop = loop_new();
	ck_assert_int_eq(curve_open(paths[FRIEND], keys[BROKER], &error), 0);
	ours = socket_sub(loop, status_endpoint, on_message, NULL, &error);
	ck_assert_ptr_nonnull(ours);
	expect_log("the broker refused this key");
}
END_TEST

START_TEST(a_key_without_the_brokers_does_not_connect)
{
	start_server(true);
	loop = loop_new();
	ck_assert_int_eq(curve_open(paths[FRIEND], NULL, &error), 0);
	ck_assert_ptr_null(socket_dealer(loop, endpoint, on_message, NULL, &error));
	ck_assert_ptr_nonnull(strstr(error, "--broker-key"));
}
END_TEST

TCase *
tcase_curve(void)
{
	TCase *tcase = tcase_create("curve");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_key_that_is_allowed_is_seen_on_body_frames);
	tcase_add_test(tcase, without_keys_all_is_as_before);
	tcase_add_test(tcase, a_stranger_is_told_that_its_key_was_refused);
	tcase_add_test(tcase, the_server_says_whom_it_refused);
	tcase_add_test(tcase, who_takes_another_for_its_broker_is_told);
	tcase_add_test(tcase, who_has_no_key_is_told_to_get_one);
	tcase_add_test(tcase, who_has_a_key_for_a_broker_without_is_told);
	tcase_add_test(tcase, each_kind_of_socket_asks_for_itself);
	tcase_add_test(tcase, a_key_without_the_brokers_does_not_connect);
	return tcase;
}
