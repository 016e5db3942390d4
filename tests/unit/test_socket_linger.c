/* A peer that goes while a closed socket still has something for it: libzmq 4.3 aborts then when its heartbeat is due. */
#include <check.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Interface under test */
#include "socket.h"

TCase *tcase_socket_linger(void);

#define LINGER_MS 10000 /* longer than it is until a heartbeat */
#define BYTES 100000u
#define MANY                                                                             \
	1000u /* of so many bytes: more than the kernel keeps for who does not read */

static struct socket *router;
static int told; /* the pipe to the test */

/* Sends more than the peer reads, and closes. */
static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	static const char bytes[BYTES];
	unsigned i;

	(void)arg;
	(void)truncated;
	for (i = 0; i < MANY; i++) {
		struct parts answer = { .count = 0 };

		parts_add_frame(&answer, parts, 0);
		parts_add(&answer, bytes, sizeof bytes);
		if (socket_send(router, &answer) == -1)
			break;
	}
	socket_close(&router, LINGER_MS);
}

static bool
is_closed(void *arg)
{
	(void)arg;
	return router == NULL;
}

static void
be_the_router(void)
{
	struct loop *loop = loop_new();
	const char *error;

	router = socket_router(loop, "tcp://127.0.0.1:*", on_message, NULL, &error);
	if (router == NULL)
		_exit(2);
	dprintf(told, "%s\n", socket_endpoint(router));
	loop_run_until(loop, is_closed, NULL);
	dprintf(told, "closed\n");
	socket_end(3);
	_exit(3); /* libzmq did not abort: it is a newer one */
}

static void
read_line(FILE *from, char *line, int size)
{
	ck_assert_ptr_nonnull(fgets(line, size, from));
	line[strcspn(line, "\n")] = '\0';
}

START_TEST(a_peer_that_goes_while_we_linger_costs_no_status)
{
	int ends[2], one = 1, linger = LINGER_MS, status;
	void *context, *peer;
	char line[ENDPOINT_BYTES_MAX];
	FILE *from;
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	told = ends[1];
	pid = fork();
	if (pid == 0)
		be_the_router();
	close(ends[1]);
	from = fdopen(ends[0], "r");
	read_line(from, line, sizeof line);
	context = zmq_ctx_new();
	peer = zmq_socket(context, ZMQ_DEALER);
	zmq_setsockopt(peer, ZMQ_RCVHWM, &one, sizeof one);
	zmq_setsockopt(peer, ZMQ_LINGER, &linger, sizeof linger);
	ck_assert_int_eq(zmq_connect(peer, line), 0);
	ck_assert_int_eq(zmq_send(peer, "hi", 2, 0), 2);
	read_line(from, line, sizeof line);
	ck_assert_int_eq(zmq_send(peer, "late", 4, 0), 4);
	zmq_close(peer);
	zmq_ctx_term(context);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(
	    WIFEXITED(status) && WEXITSTATUS(status) == 3, "%#x", (unsigned)status);
	fclose(from);
}
END_TEST

TCase *
tcase_socket_linger(void)
{
	TCase *tcase = tcase_create("socket_linger");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_peer_that_goes_while_we_linger_costs_no_status);
	return tcase;
}
