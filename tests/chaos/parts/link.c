#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CHUNK_BYTES 16384u
#define FLOW_BYTES_MAX (256u << 10) /* then the sender waits */
#define PIECE_PAUSE_MS 1u

static void
set_reset(int fd)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

/* --- connections ------------------------------------------------------------------------- */

/* with_reset: the ends see a connection reset, not an orderly end. */
static void
connection_close(struct connection *connection, bool with_reset)
{
	enum direction way;

	for (way = UP; way < DIRECTIONS; way++) {
		struct chunks *chunks = &connection->flows[way].chunks;
		struct chunk *chunk;

		while ((chunk = STAILQ_FIRST(chunks)) != NULL) {
			STAILQ_REMOVE_HEAD(chunks, entries);
			free(chunk);
		}
		if (connection->fds[way] == -1)
			continue;
		if (with_reset)
			set_reset(connection->fds[way]);
		close(connection->fds[way]);
	}
	TAILQ_REMOVE(&connection->link->connections, connection, entries);
	free(connection);
}

static int
connect_target(const char *target)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	struct sockaddr_in port = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	bool is_path = target[0] == '/';
	int fd = socket(
	    is_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int answer;

	if (fd == -1)
		return -1;
	snprintf(path.sun_path, sizeof path.sun_path, "%s", target);
	port.sin_port = htons((uint16_t)strtoul(target, NULL, 10));
	answer = is_path ? connect(fd, (struct sockaddr *)&path, sizeof path)
			 : connect(fd, (struct sockaddr *)&port, sizeof port);
	if (answer == -1 && errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

static void
watch(struct connection *connection, enum direction way, int epoll_fd)
{
	struct epoll_event event = { .events = EPOLLIN,
		.data.ptr = &connection->ends[way] };

	connection->ends[way] = (struct end){ connection, way, EPOLLIN };
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, connection->fds[way], &event);
}

static void
connection_new(struct link *link, int fd, int epoll_fd)
{
	struct connection *connection = calloc(1, sizeof *connection);
	int target = -1;

	if (connection == NULL)
		abort();
	if (link->refuses ||
	    (!link->half_open && (target = connect_target(link->target)) == -1)) {
		set_reset(fd);
		close(fd);
		free(connection);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	connection->link = link;
	connection->fds[UP] = fd;
	connection->fds[DOWN] = target;
	STAILQ_INIT(&connection->flows[UP].chunks);
	STAILQ_INIT(&connection->flows[DOWN].chunks);
	TAILQ_INSERT_TAIL(&link->connections, connection, entries);
	if (target == -1)
		return; /* half open: nobody will read it */
	watch(connection, UP, epoll_fd);
	watch(connection, DOWN, epoll_fd);
}

void
link_accept(struct link *link, int epoll_fd)
{
	int fd;

	while ((fd = accept4(
		    link->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) != -1)
		connection_new(link, fd, epoll_fd);
}

/* --- bytes --------------------------------------------------------------------------------- */

static bool
is_half_open(const struct connection *connection)
{
	return connection->fds[DOWN] == -1;
}

static bool
may_read(const struct connection *connection, enum direction way)
{
	const struct flow *flow = &connection->flows[way];

	return !flow->ended && flow->held < FLOW_BYTES_MAX &&
	       !connection->link->faults[way].hole && !is_half_open(connection);
}

void
end_read(struct end *end, uint64_t now_ms)
{
	struct connection *connection = end->connection;
	struct flow *flow = &connection->flows[end->reads];
	unsigned delay = connection->link->faults[end->reads].delay_ms;
	struct chunk *chunk;
	ssize_t size;

	if (!may_read(connection, end->reads))
		return;
	chunk = malloc(sizeof *chunk + CHUNK_BYTES);
	if (chunk == NULL)
		abort();
	size = read(connection->fds[end->reads], chunk->data, CHUNK_BYTES);
	if (size <= 0) {
		free(chunk);
		flow->ended = size == 0 || (errno != EAGAIN && errno != EINTR);
		return;
	}
	*chunk = (struct chunk){ .size = (size_t)size,
		.due_ms = now_ms + delay +
			  (delay > 1 ? now_ms * 2654435761u % (delay / 2 + 1) : 0) };
	flow->held += chunk->size;
	STAILQ_INSERT_TAIL(&flow->chunks, chunk, entries);
}

/* How much of size may be written at once. */
static size_t
portion(const struct fault_of_direction *fault, size_t size)
{
	if (fault->piece > 0 && size > fault->piece)
		size = fault->piece;
	if (fault->rate > 0 && size > fault->rate / 50 + 1)
		size = fault->rate / 50 + 1;
	return size;
}

/* Writes of chunk what may be written now. Returns how much, 0 when it has to wait, -1 when
 * nobody takes it. */
static ssize_t
write_chunk(struct flow *flow, struct chunk *chunk,
    const struct fault_of_direction *fault, int fd, uint64_t now_ms)
{
	ssize_t written;

	if (chunk->due_ms > now_ms || flow->next_ms > now_ms)
		return 0;
	written = send(fd, chunk->data + chunk->at,
	    portion(fault, chunk->size - chunk->at), MSG_NOSIGNAL);
	if (written == -1)
		return errno == EAGAIN || errno == EINTR || errno == ENOTCONN ? 0 : -1;
	chunk->at += (size_t)written;
	flow->held -= (size_t)written;
	if (fault->rate > 0)
		flow->next_ms = now_ms + (uint64_t)written * 1000 / fault->rate;
	else if (fault->piece > 0)
		flow->next_ms = now_ms + PIECE_PAUSE_MS;
	return written;
}

static uint64_t
flow_due(const struct flow *flow)
{
	const struct chunk *chunk = STAILQ_FIRST(&flow->chunks);

	if (chunk == NULL)
		return UINT64_MAX;
	return chunk->due_ms > flow->next_ms ? chunk->due_ms : flow->next_ms;
}

/* Returns false when the connection is no good any more. */
static bool
flow_pump(struct connection *connection, enum direction way, uint64_t now_ms)
{
	struct flow *flow = &connection->flows[way];
	const struct fault_of_direction *fault = &connection->link->faults[way];
	int to = connection->fds[way == UP ? DOWN : UP];
	struct chunk *chunk, *next;
	ssize_t written = 1;

	if (fault->hole)
		return true;
	for (chunk = STAILQ_FIRST(&flow->chunks); chunk != NULL && written > 0;
	     chunk = next) {
		next = STAILQ_NEXT(chunk, entries);
		written = write_chunk(flow, chunk, fault, to, now_ms);
		if (chunk->at < chunk->size) {
			next = chunk;
			continue;
		}
		STAILQ_REMOVE_HEAD(&flow->chunks, entries);
		free(chunk);
	}
	if (written == -1)
		return false;
	if (flow->ended && !flow->shut && STAILQ_EMPTY(&flow->chunks)) {
		shutdown(to, SHUT_WR);
		flow->shut = true;
	}
	return true;
}

/* A hang-up is always told: an end that nothing is wanted of is taken out. */
static void
set_interest(
    struct connection *connection, enum direction way, int epoll_fd, uint64_t now_ms)
{
	enum direction other = way == UP ? DOWN : UP;
	const struct flow *towards = &connection->flows[other];
	struct end *end = &connection->ends[way];
	struct epoll_event event = { .data.ptr = end };
	int verb = end->interest == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (may_read(connection, way))
		event.events |= EPOLLIN;
	if (!STAILQ_EMPTY(&towards->chunks) && flow_due(towards) <= now_ms &&
	    !connection->link->faults[other].hole)
		event.events |= EPOLLOUT;
	if (event.events == end->interest)
		return;
	epoll_ctl(epoll_fd, event.events == 0 ? EPOLL_CTL_DEL : verb,
	    connection->fds[way], &event);
	end->interest = event.events;
}

/* Returns when connection has something to do next; it may be gone then. */
static uint64_t
connection_pump(struct connection *connection, int epoll_fd, uint64_t now_ms)
{
	uint64_t due = UINT64_MAX;
	enum direction way;

	if (is_half_open(connection))
		return due;
	if (!flow_pump(connection, UP, now_ms) || !flow_pump(connection, DOWN, now_ms)) {
		connection_close(connection, true);
		return due;
	}
	if (connection->flows[UP].shut && connection->flows[DOWN].shut) {
		connection_close(connection, false);
		return due;
	}
	for (way = UP; way < DIRECTIONS; way++) {
		uint64_t one = flow_due(&connection->flows[way]);

		set_interest(connection, way, epoll_fd, now_ms);
		if (!connection->link->faults[way].hole && one > now_ms && one < due)
			due = one;
	}
	return due;
}

uint64_t
link_pump(struct link *link, int epoll_fd, uint64_t now_ms)
{
	struct connection *connection, *next;
	uint64_t due = UINT64_MAX;

	for (connection = TAILQ_FIRST(&link->connections); connection != NULL;
	     connection = next) {
		uint64_t one;

		next = TAILQ_NEXT(connection, entries);
		one = connection_pump(connection, epoll_fd, now_ms);
		due = one < due ? one : due;
	}
	return due;
}

/* --- faults ---------------------------------------------------------------------------------- */

static void
close_all(struct link *link, bool half_open_alone)
{
	struct connection *connection, *next;

	for (connection = TAILQ_FIRST(&link->connections); connection != NULL;
	     connection = next) {
		next = TAILQ_NEXT(connection, entries);
		if (!half_open_alone || is_half_open(connection))
			connection_close(connection, true);
	}
}

/* The far ends see their connections end, the near ones see nothing. */
static void
half_open(struct link *link, int epoll_fd)
{
	struct connection *connection;

	link->half_open = true;
	TAILQ_FOREACH(connection, &link->connections, entries) {
		if (is_half_open(connection))
			continue;
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, connection->fds[UP], NULL);
		close(connection->fds[DOWN]);
		connection->fds[DOWN] = -1;
	}
}

static void
heal(struct link *link)
{
	memset(link->faults, 0, sizeof link->faults);
	link->refuses = link->half_open = false;
	close_all(link, true); /* a half-open end hears of it as soon as it speaks */
}

int
link_command(struct link *link, int epoll_fd, const char *command)
{
	char verb[32] = "";
	unsigned value[DIRECTIONS] = { 0 };
	enum direction way;

	if (sscanf(command, "%31s %u %u", verb, &value[UP], &value[DOWN]) < 1)
		return -1;
	for (way = UP; way < DIRECTIONS; way++) {
		struct fault_of_direction *fault = &link->faults[way];

		if (strcmp(verb, "delay") == 0)
			fault->delay_ms = value[way];
		else if (strcmp(verb, "split") == 0)
			fault->piece = value[way];
		else if (strcmp(verb, "rate") == 0)
			fault->rate = value[way];
		else if (strcmp(verb, "hole") == 0)
			fault->hole = value[way] != 0;
	}
	if (strcmp(verb, "half-open") == 0)
		half_open(link, epoll_fd);
	else if (strcmp(verb, "reset") == 0 || strcmp(verb, "refuse") == 0)
		close_all(link, false);
	else if (strcmp(verb, "heal") == 0)
		heal(link);
	if (strcmp(verb, "refuse") == 0)
		link->refuses = true;
	return strstr(" delay split rate hole half-open reset refuse heal ", verb) != NULL
		   ? 0
		   : -1;
}

int
link_open(struct link *link, int epoll_fd, const char *address)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t size = sizeof any;
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = &link->end };

	TAILQ_INIT(&link->connections);
	if (inet_pton(AF_INET, address, &any.sin_addr) != 1) {
		errno = EINVAL;
		return -1;
	}
	link->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (link->listen_fd == -1 ||
	    bind(link->listen_fd, (struct sockaddr *)&any, sizeof any) == -1 ||
	    listen(link->listen_fd, 128) == -1 ||
	    getsockname(link->listen_fd, (struct sockaddr *)&any, &size) == -1)
		return -1;
	link->port = ntohs(any.sin_port);
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, link->listen_fd, &event);
}
