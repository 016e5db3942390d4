/* socket: ZeroMQ sockets on the loop.
 *
 * A message is `struct parts`: frames that are moved, never copied. Sending never blocks.
 * No routing ids of our own, MANDATORY on, HANDOVER off, ZMQ_MAXMSGSIZE set, linger
 * bounded, ZMTP heartbeats on. With keys (curve.h) each speaks CURVE; one that connects and
 * is not let in says so in the log. */
#ifndef SOCKET_H
#define SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "bounds.h"
#include "loop.h"
#include "value.h"

#define PARTS_MAX (BODY_FRAMES_MAX + 2u) /* routing id or topic, header, bodies */

/* Frames of one message. Zero-initialised means empty. */
struct parts {
	zmq_msg_t frames[PARTS_MAX];
	unsigned count;
};

void parts_release(struct parts *parts); /* closes every frame; safe to repeat */
const void *parts_data(const struct parts *parts, unsigned index);
size_t parts_size(const struct parts *parts, unsigned index);
/* Appends a copy of data; -1 when PARTS_MAX is reached. */
int parts_add(struct parts *parts, const void *data, size_t size);
/* Appends packet's bytes and takes them (no copy); packet is zeroed. */
int parts_add_packet(struct parts *parts, struct packet *packet);
/* Appends another reference to from's frame (shared bytes, no copy of large ones). */
int parts_add_frame(struct parts *parts, const struct parts *from, unsigned index);

/* The same of a message of one's own. */
int parts_add_shared(struct parts *parts, zmq_msg_t *message);

/* Moves from's frames, from the first'th on, behind to's, as many as there is room for. */
void parts_move(struct parts *to, struct parts *from, unsigned first);

struct socket;

/* Called on the loop's stack for each message; parts is lent and released after the call,
 * the callee may move frames out, and may close the socket. Over-long messages (more than
 * PARTS_MAX frames) arrive cut, with truncated true. */
typedef void socket_fn(void *arg, struct parts *parts, bool truncated);

/* Returns what libzmq knows of who sent frame index, which must be no routing id (those of
 * the first message have none): with CURVE its public key as Z85, lent as long as the frame
 * lives; else NULL. */
const char *parts_sender_key(struct parts *parts, unsigned index);

/* Each returns a new socket bound or connecting to endpoint (tcp:// or ipc://), or NULL
 * with a reason lent for ever. PUB's fn, when there is one, gets what its readers subscribe
 * to: one frame, a byte 1 (with the prefix's first reader) or 0 (its last one has gone) before
 * the prefix. What a send has noticed of that is read when somebody asks socket_has_input: to
 * ask after each send would cost more than the send. SUB gets messages of the subscribed
 * prefixes. */
struct socket *socket_router(struct loop *loop, const char *endpoint, socket_fn *fn,
    void *arg, const char **error_r);
struct socket *socket_dealer(struct loop *loop, const char *endpoint, socket_fn *fn,
    void *arg, const char **error_r);
struct socket *socket_pub(struct loop *loop, const char *endpoint, socket_fn *fn,
    void *arg, const char **error_r);
struct socket *socket_sub(struct loop *loop, const char *endpoint, socket_fn *fn,
    void *arg, const char **error_r);
int socket_subscribe(struct socket *socket, const char *prefix);
/* Takes one subscription to prefix back. */
int socket_unsubscribe(struct socket *socket, const char *prefix);
/* True for inproc://: who is there is in this process. */
bool socket_is_inside(const char *endpoint);
/* Binds one that is bound already to endpoint (inproc://) as well, for who is in this process and connects by
 * socket_dealer: without CURVE, and so without a sender's key. Returns 0, or -1 with errno. */
int socket_bind_inside(struct socket *socket, const char *endpoint);
/* For zap alone: a REP inside of the process; each message wants one answer at once. With
 * keys there must be one before any socket binds, and until the last of these is closed. */
struct socket *socket_zap(struct loop *loop, const char *endpoint, socket_fn *fn,
    void *arg, const char **error_r);

/* Takes *socket_p; what was sent last still goes out for up to linger_ms. NULL is fine.
 */
void socket_close(struct socket **socket_p, int linger_ms);

/* Sends parts' frames and empties it. Returns 0; -1 when it cannot go out now (EAGAIN:
 * peer's pipe is full; EHOSTUNREACH: no such peer; EMSGSIZE: a frame is over
 * BODY_BYTES_MAX, peers would hang up on it; parts is emptied all the same). All of a
 * message goes or nothing. Never blocks. 0 means that libzmq took it, not that it
 * arrives. */
int socket_send(struct socket *socket, struct parts *parts);

/* True when there is something to read right now. Asks libzmq: what a lost peer had sent
 * before it was lost is counted. */
bool socket_has_input(struct socket *socket);

/* Lends the endpoint really bound ("tcp://127.0.0.1:41234" for a port of 0). */
const char *socket_endpoint(const struct socket *socket);

/* Ends the process's ZeroMQ context; after the last socket_close. Waits for what their
 * linger still allows to go out. */
void socket_shutdown(void);
/* The same, at the end of a process: where libzmq aborts meanwhile (socket.c says when), it exits with status. */
void socket_end(int status);

#endif
