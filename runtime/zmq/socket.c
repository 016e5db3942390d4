#include "socket.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "curve.h"
#include "memory.h"
#include "socket_call.h"
#include "socket_endpoint.h"
#include "socket_path.h"
#include "socket_watch.h"

#define BATCH 100u /* messages read from one socket in one turn */
#define QUEUE_MESSAGES_MAX 10000
/* Of what is published, for each reader that leaves it unread: nobody sends it again, and it may be large. */
#define PUBLISHED_MESSAGES_MAX 1000
#define HANDSHAKE_MS 5000
#define CONNECT_MS 5000
#define BACKLOG 1024
#define HEARTBEAT_EVERY_MS 2000 /* libzmq's own */
#define SILENT_MS 6000          /* a connection by which nothing comes, or goes, is cut */
#define RECONNECT_MS 50
#define RECONNECT_MS_MAX                                                                 \
	250 /* far below RECOVERY_MS: who lives is back in a new broker's window */
#define DOMAIN_OF_ROUTER "calls" /* what a ZAP handler is asked for */
#define DOMAIN_OF_PUB "status"

struct socket {
	struct loop *loop;
	void *zmq;
	struct loop_reader reader;
	socket_fn *fn;
	void *arg;
	struct socket_watch *watch; /* of one that connects */
	bool is_draining, is_pub;
	bool is_closed; /* while draining: freed behind it */
	char endpoint[ENDPOINT_BYTES_MAX];
	struct socket_path path; /* of one that binds */
};

static void *context; /* of the process; does not survive fork() */
static bool has_zap;  /* somebody decides which keys come in */

/* --- making ------------------------------------------------------------------------- */

/* libzmq starts its threads with the first socket. They inherit our mask, and no signal
 * may end up there: it would not interrupt the loop's sleep. */
static void *
open_socket(int type)
{
	sigset_t all, before;
	void *zmq;

	if (context == NULL)
		context = zmq_ctx_new();
	if (context == NULL)
		return NULL;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	zmq = zmq_socket(context, type);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return zmq;
}

static int
set_option(void *zmq, int option, int value)
{
	return zmq_setsockopt(zmq, option, &value, sizeof value);
}

/* To libzmq's heartbeats whole frames alone are signs of life, and a large one of a call takes its
 * time. Who calls and answers sees for himself who lives (inflow.h), and a machine that is gone the
 * kernel finds out, by what is not acknowledged: so there they only clean up. */
static int
set_heartbeats(void *zmq, int type)
{
	bool has_calls = type == ZMQ_ROUTER || type == ZMQ_DEALER;
	int timeout_ms = has_calls ? (int)CROSSING_MS_MAX : SILENT_MS;

	if (set_option(zmq, ZMQ_HEARTBEAT_IVL, HEARTBEAT_EVERY_MS) == -1 ||
	    set_option(zmq, ZMQ_HEARTBEAT_TIMEOUT, timeout_ms) == -1 ||
	    set_option(zmq, ZMQ_HEARTBEAT_TTL, timeout_ms) == -1)
		return -1;
	return has_calls ? set_option(zmq, ZMQ_TCP_MAXRT, SILENT_MS) : 0;
}

static int
set_options(void *zmq, int type, const char *endpoint)
{
	static const struct {
		int option;
		int value;
	} options[] = {
		{ ZMQ_LINGER, 0 },
		{ ZMQ_SNDHWM, QUEUE_MESSAGES_MAX },
		{ ZMQ_RCVHWM, QUEUE_MESSAGES_MAX },
		{ ZMQ_BACKLOG, BACKLOG },
		{ ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS },
		{ ZMQ_CONNECT_TIMEOUT, CONNECT_MS },
		{ ZMQ_RECONNECT_IVL, RECONNECT_MS },
		{ ZMQ_RECONNECT_IVL_MAX, RECONNECT_MS_MAX },
		{ ZMQ_IPV6, 0 },
	};
	/* libzmq keeps what readers send, without a bound, until it is read. */
	int64_t bytes_max = type == ZMQ_XPUB ? READER_BYTES_MAX : BODY_BYTES_MAX;

	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		if (set_option(zmq, options[i].option, options[i].value) == -1)
			return -1;
	}
	if (set_heartbeats(zmq, type) == -1)
		return -1;
	if ((type == ZMQ_PUB || type == ZMQ_XPUB) &&
	    set_option(zmq, ZMQ_SNDHWM, PUBLISHED_MESSAGES_MAX) == -1)
		return -1;
	if (zmq_setsockopt(zmq, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max) == -1)
		return -1;
	/* Not always: where the kernel has no IPv6, it would break IPv4 as well. */
	if (strchr(endpoint, '[') != NULL && set_option(zmq, ZMQ_IPV6, 1) == -1)
		return -1;
	if (type == ZMQ_ROUTER)
		return set_option(zmq, ZMQ_ROUTER_MANDATORY, 1);
	return 0;
}

static bool
binds(int type)
{
	return type == ZMQ_ROUTER || type == ZMQ_PUB || type == ZMQ_XPUB ||
	       type == ZMQ_REP;
}

bool
socket_is_inside(const char *endpoint)
{
	return strncmp(endpoint, "inproc://", strlen("inproc://")) == 0;
}

/* Inside of the process there is nobody to hide from. Where nobody decides, libzmq would let
 * every key in. */
static int
secure(void *zmq, int type, const char *endpoint)
{
	if (type == ZMQ_REP || socket_is_inside(endpoint))
		return 0;
	if (binds(type) && curve_is_on() && !has_zap) {
		errno = EACCES;
		return -1;
	}
	if (!binds(type))
		return curve_secure(zmq, NULL);
	return curve_secure(zmq, type == ZMQ_ROUTER ? DOMAIN_OF_ROUTER : DOMAIN_OF_PUB);
}

static int
attach(struct socket *socket, int type, const char *endpoint)
{
	size_t room = sizeof socket->endpoint;

	if (!socket_port_fits(endpoint)) {
		errno = EINVAL;
		return -1;
	}
	if (!binds(type)) {
		snprintf(socket->endpoint, room, "%s", endpoint);
		return socket_call_connect(socket->zmq, endpoint);
	}
	if (socket_path_is_taken(endpoint)) {
		errno = EADDRINUSE;
		return -1;
	}
	if (socket_call_bind(socket->zmq, endpoint) == -1 ||
	    zmq_getsockopt(socket->zmq, ZMQ_LAST_ENDPOINT, socket->endpoint, &room) == -1)
		return -1;
	socket->path = socket_path_of(socket->endpoint);
	return 0;
}

static void drain(void *arg);

static struct socket *
socket_new(struct loop *loop, int type, const char *endpoint, socket_fn *fn, void *arg,
    const char **error_r)
{
	struct socket *socket = xcalloc(1, sizeof *socket);

	socket->loop = loop;
	socket->fn = fn;
	socket->arg = arg;
	socket->is_pub = type == ZMQ_PUB || type == ZMQ_XPUB;
	socket->zmq = open_socket(type);
	if (socket->zmq == NULL)
		goto fail;
	if (set_options(socket->zmq, type, endpoint) == -1 ||
	    secure(socket->zmq, type, endpoint) == -1)
		goto fail;
	if (!binds(type))
		socket->watch = socket_watch_new(loop, context, socket->zmq, endpoint);
	if (attach(socket, type, endpoint) == -1)
		goto fail;
	/* PUB too: its subscriptions and lost peers are handled when it is read. */
	socket->reader.socket = socket->zmq;
	socket->reader.drain = drain;
	socket->reader.arg = socket;
	loop_add_reader(loop, &socket->reader);
	return socket;

fail:
	*error_r = socket_trouble(errno);
	socket_watch_destroy(&socket->watch);
	if (socket->zmq != NULL)
		zmq_close(socket->zmq);
	free(socket);
	return NULL;
}

struct socket *
socket_router(struct loop *loop, const char *endpoint, socket_fn *fn, void *arg,
    const char **error_r)
{
	return socket_new(loop, ZMQ_ROUTER, endpoint, fn, arg, error_r);
}

struct socket *
socket_dealer(struct loop *loop, const char *endpoint, socket_fn *fn, void *arg,
    const char **error_r)
{
	return socket_new(loop, ZMQ_DEALER, endpoint, fn, arg, error_r);
}

struct socket *
socket_pub(struct loop *loop, const char *endpoint, socket_fn *fn, void *arg,
    const char **error_r)
{
	return socket_new(
	    loop, fn == NULL ? ZMQ_PUB : ZMQ_XPUB, endpoint, fn, arg, error_r);
}

struct socket *
socket_sub(struct loop *loop, const char *endpoint, socket_fn *fn, void *arg,
    const char **error_r)
{
	return socket_new(loop, ZMQ_SUB, endpoint, fn, arg, error_r);
}

struct socket *
socket_zap(struct loop *loop, const char *endpoint, socket_fn *fn, void *arg,
    const char **error_r)
{
	struct socket *socket = socket_new(loop, ZMQ_REP, endpoint, fn, arg, error_r);

	has_zap = socket != NULL;
	return socket;
}

int
socket_bind_inside(struct socket *socket, const char *endpoint)
{
	assert(socket_is_inside(endpoint));
	return socket_call_bind(socket->zmq, endpoint);
}

int
socket_subscribe(struct socket *socket, const char *prefix)
{
	return zmq_setsockopt(socket->zmq, ZMQ_SUBSCRIBE, prefix, strlen(prefix));
}

int
socket_unsubscribe(struct socket *socket, const char *prefix)
{
	return zmq_setsockopt(socket->zmq, ZMQ_UNSUBSCRIBE, prefix, strlen(prefix));
}

void
socket_close(struct socket **socket_p, int linger_ms)
{
	struct socket *socket = *socket_p;

	if (socket == NULL)
		return;
	*socket_p = NULL;
	loop_remove_reader(socket->loop, &socket->reader);
	socket_watch_destroy(&socket->watch);
	socket_path_remove(&socket->path, socket->endpoint);
	set_option(socket->zmq, ZMQ_LINGER, linger_ms);
	zmq_close(socket->zmq);
	if (socket->is_draining)
		socket->is_closed = true;
	else
		free(socket);
}

const char *
socket_endpoint(const struct socket *socket)
{
	return socket->endpoint;
}

void
socket_shutdown(void)
{
	if (context == NULL)
		return;
	while (zmq_ctx_term(context) == -1 && errno == EINTR)
		;
	context = NULL;
}

static int status_at_end;

static void
on_abort(int number)
{
	(void)number;
	_exit(status_at_end);
}

/* libzmq before 4.3.5 aborts (libzmq#4364) when a closed socket lingers for a peer that has sent something meanwhile and gone, and a
 * heartbeat to it is due. Nothing is left to be done then but to wait. */
void
socket_end(int status)
{
	const struct sigaction action = { .sa_handler = on_abort };
	struct sigaction before;

	status_at_end = status;
	sigaction(SIGABRT, &action, &before);
	socket_shutdown();
	sigaction(SIGABRT, &before, NULL);
}

bool
socket_has_input(struct socket *socket)
{
	socket->reader.is_touched = true;
	return (socket_call_events(socket->zmq) & ZMQ_POLLIN) != 0;
}

/* --- receiving ---------------------------------------------------------------------- */

/* Returns 1 with a whole message, 0 when there is none. libzmq hands out a message only
 * when all its frames are there. */
static int
receive_parts(void *zmq, struct parts *parts, bool *truncated)
{
	zmq_msg_t frame;
	bool more = true;

	*truncated = false;
	while (more) {
		zmq_msg_init(&frame);
		if (socket_call_receive(zmq, &frame) == -1) {
			parts_release(parts);
			return 0;
		}
		more = zmq_msg_more(&frame);
		if (parts->count < PARTS_MAX) {
			zmq_msg_init(&parts->frames[parts->count]);
			zmq_msg_move(&parts->frames[parts->count++], &frame);
		} else {
			*truncated = true;
		}
		zmq_msg_close(&frame);
	}
	return 1;
}

static void
drain(void *arg)
{
	struct socket *socket = arg;
	struct parts parts = { .count = 0 };
	bool truncated;

	if (socket->fn == NULL) {
		socket_call_events(socket->zmq);
		return;
	}
	socket->is_draining = true;
	for (unsigned i = 0; !socket->is_closed; i++) {
		if (i == BATCH) {
			socket->reader.is_touched = true;
			break;
		}
		if (receive_parts(socket->zmq, &parts, &truncated) == 0)
			break;
		socket->fn(socket->arg, &parts, truncated);
		parts_release(&parts);
	}
	socket->is_draining = false;
	if (socket->is_closed)
		free(socket);
}

/* --- sending ------------------------------------------------------------------------ */

/* libzmq sees that a peer has gone when it reads: make it look, that a full pipe to
 * nobody is no longer one. */
static void
notice_lost_peers(void *zmq)
{
	socket_call_events(zmq);
}

/* Only here can a message be refused. A ROUTER that refused the routing id would take the
 * next frame for another. */
static int
send_first(void *zmq, struct parts *parts)
{
	int more = parts->count > 1 ? ZMQ_SNDMORE : 0;

	if (socket_call_send(zmq, &parts->frames[0], more) != -1)
		return 0;
	if (errno != EAGAIN)
		return -1;
	notice_lost_peers(zmq);
	return socket_call_send(zmq, &parts->frames[0], more) == -1 ? -1 : 0;
}

/* The rest goes out even when the peer is lost in the middle: libzmq then drops frames up
 * to the last, and it must be the last of this message. */
static int
send_rest(void *zmq, struct parts *parts)
{
	int result = 0;
	int error = 0;

	for (unsigned i = 1; i < parts->count; i++) {
		int more = i + 1 < parts->count ? ZMQ_SNDMORE : 0;

		if (socket_call_send(zmq, &parts->frames[i], more) == -1) {
			result = -1;
			error = errno;
		}
	}
	if (result == -1)
		errno = error;
	return result;
}

static bool
fits(const struct parts *parts)
{
	for (unsigned i = 0; i < parts->count; i++) {
		if (parts_size(parts, i) > BODY_BYTES_MAX)
			return false;
	}
	return true;
}

int
socket_send(struct socket *socket, struct parts *parts)
{
	int result = -1;
	int error;

	assert(parts->count > 0);
	socket->reader.is_touched = !socket->is_pub || socket->reader.is_touched;
	if (!fits(parts))
		errno = EMSGSIZE;
	else if (send_first(socket->zmq, parts) == 0)
		result = send_rest(socket->zmq, parts);
	error = errno;
	parts_release(parts); /* sent frames are empty by now */
	errno = error;
	return result;
}
