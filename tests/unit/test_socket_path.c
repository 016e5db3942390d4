/* Who listens at an ipc:// endpoint is not pushed aside, and leaves no file. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "children.h"

/* Interface under test */
#include "socket.h"

TCase *tcase_socket_path(void);

static char *folder;
static char endpoint[128];
static const char *path;
static struct loop *loop;
static const char *error;

static void
setup(void)
{
	folder = folder_new();
	snprintf(endpoint, sizeof endpoint, "ipc://%s/broker", folder);
	path = endpoint + 6;
	loop = loop_new();
}

static void
teardown(void)
{
	loop_destroy(&loop);
	socket_shutdown();
	folder_remove(&folder);
}

static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	(void)arg;
	(void)parts;
	(void)truncated;
}

static struct socket *
bound(void)
{
	struct socket *socket = socket_router(loop, endpoint, on_message, NULL, &error);

	ck_assert_msg(socket != NULL, "%s", error);
	return socket;
}

START_TEST(a_second_one_is_refused)
{
	struct socket *first = bound();

	ck_assert_ptr_null(socket_router(loop, endpoint, on_message, NULL, &error));
	ck_assert_str_eq(error, zmq_strerror(EADDRINUSE));
	ck_assert_int_eq(access(path, F_OK), 0);
	socket_close(&first, 0);
	ck_assert_int_eq(access(path, F_OK), -1);
	first = bound(); /* at once: libzmq may still have to close the other */
	socket_close(&first, 0);
}
END_TEST

/* Returns a socket that listens at path, which is not ours. */
static int
another(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

START_TEST(what_a_killed_one_has_left_is_in_nobodys_way)
{
	struct socket *ours;
	int fd = another();

	close(fd);
	ck_assert_int_eq(access(path, F_OK), 0);
	ours = bound();
	/* Nor is what another has put there ours to remove. */
	ck_assert_int_eq(unlink(path), 0);
	fd = another();
	socket_close(&ours, 0);
	ck_assert_int_eq(access(path, F_OK), 0);
	close(fd);
}
END_TEST

/* Fills the queue of whoever listens at path. */
static void
knock(int *knocking, size_t count)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	for (size_t i = 0; i < count; i++) {
		knocking[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(knocking[i], (struct sockaddr *)&address, sizeof address);
	}
}

START_TEST(who_has_many_at_the_door_is_there)
{
	int fd = another(), knocking[8];

	knock(knocking, 8);
	ck_assert_ptr_null(socket_router(loop, endpoint, on_message, NULL, &error));
	ck_assert_str_eq(error, zmq_strerror(EADDRINUSE));
	ck_assert_int_eq(access(path, F_OK), 0);
	for (size_t i = 0; i < 8; i++)
		close(knocking[i]);
	close(fd);
}
END_TEST

TCase *
tcase_socket_path(void)
{
	TCase *tcase = tcase_create("socket_path");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_second_one_is_refused);
	tcase_add_test(tcase, who_has_many_at_the_door_is_there);
	tcase_add_test(tcase, what_a_killed_one_has_left_is_in_nobodys_way);
	return tcase;
}
