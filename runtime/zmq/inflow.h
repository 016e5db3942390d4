/* inflow: whether a message is under way to us whose bytes come, though it is not whole yet.
 *
 * libzmq hands out whole messages. One of 12 MiB takes two seconds of 50 Mbit/s, in which its
 * sender lives and is not heard: its heartbeats stand behind it. The kernel counts what has come by a
 * connection, and libzmq tells which connection a message came by (ZMQ_SRCFD), so the bytes can be
 * asked for. Only of TCP: what comes by ipc:// or inside of the process does not take long.
 *
 * What little libzmq says by itself, its own heartbeats, does not count: its thread says it for a
 * process whose loop does not turn, too. */
#ifndef INFLOW_H
#define INFLOW_H

#include <stdbool.h>
#include <stdint.h>

struct parts;

#define INFLOW_BYTES_MIN                                                                 \
	16384u /* within the time in which a silent peer is called dead */

/* By value. Zero-initialised: of nothing that could be asked, and never goes on. */
struct inflow {
	uint64_t
	    cookie; /* the socket's, for as long as the kernel runs: descriptors are used anew */
	uint64_t bytes,
	    since_ms; /* what had come when it was looked at first behind that time */
	int fd;       /* libzmq's; only asked */
};

/* Returns that of the connection by which frame index came, which must be no routing id (as
 * parts_sender_key). */
struct inflow inflow_of(struct parts *parts, unsigned index);

/* heard_ms: when the last whole message came. Returns true when INFLOW_BYTES_MIN have come since
 * the first time that it was asked behind that: the peer was alive just now. Ask again and again while it is silent. */
bool inflow_goes_on(struct inflow *inflow, uint64_t heard_ms);

#endif
