/* link: one way between two parties of the fleet, with what is wrong with it at the moment.
 *
 * A link listens on TCP and connects on to a unix socket, or to a TCP port of this machine.
 * Directions: 0 up, from who connects to who is connected to; 1 down. Nothing is lost inside
 * of a connection that lives: TCP loses no bytes either; what is held comes later, or the
 * connection breaks. */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum direction { UP, DOWN, DIRECTIONS };

struct fault_of_direction {
	unsigned delay_ms; /* of each piece, and up to half as much again */
	unsigned piece;    /* bytes written at once; 0: all */
	unsigned rate;     /* bytes a second; 0: all */
	bool hole;         /* nothing passes; it waits at the sender */
};

struct chunk {
	STAILQ_ENTRY(chunk) entries;
	uint64_t due_ms;
	size_t size, at;
	char data[];
};
STAILQ_HEAD(chunks, chunk);

struct flow {
	struct chunks chunks;
	size_t held;
	uint64_t next_ms; /* nothing is written before */
	bool ended;       /* the sender has closed its side */
	bool shut;        /* and the receiver knows it */
};

struct connection;
struct end {
	struct connection *connection;
	enum direction reads; /* the direction whose bytes are read from here */
	uint32_t interest;    /* what epoll is asked about; 0: it does not know the fd */
};

struct connection {
	TAILQ_ENTRY(connection) entries;
	struct link *link;
	int fds[DIRECTIONS]; /* [UP] who connected, [DOWN] who was connected to; or -1 */
	struct end ends[DIRECTIONS];
	struct flow flows[DIRECTIONS];
};
TAILQ_HEAD(connections, connection);

struct link {
	char name[64];
	char target[108]; /* a path, or a port */
	int listen_fd;
	unsigned port;
	struct fault_of_direction faults[DIRECTIONS];
	bool half_open; /* connections are accepted, and that is all */
	bool refuses;   /* connections are reset as soon as they are there */
	struct connections connections;
	struct end end; /* connection NULL: what epoll says about listen_fd */
};

/* Listens at address, any port. Returns 0, or -1 with errno. */
int link_open(struct link *link, int epoll_fd, const char *address);

/* Carries out "delay UP DOWN", "split UP DOWN", "rate UP DOWN", "hole UP DOWN" (0 or 1),
 * "half-open", "refuse", "reset"; "heal" ends them, and lets flow what was held. Returns 0, or -1 when it is none of these. */
int link_command(struct link *link, int epoll_fd, const char *command);

void link_accept(struct link *link, int epoll_fd);

/* Reads what has come from an end. */
void end_read(struct end *end, uint64_t now_ms);

/* Writes what is due, and closes what has ended. Returns when something is due next,
 * UINT64_MAX: only when something comes. */
uint64_t link_pump(struct link *link, int epoll_fd, uint64_t now_ms);

#endif
