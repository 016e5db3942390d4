#include "inflow.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "socket.h"

/* Returns 0 for what is no socket, or of a kernel that does not say. */
static uint64_t
cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof cookie;

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == -1)
		return 0;
	return cookie;
}

/* Returns 0; -1 when the connection is no more. libzmq's thread may close it at any time, and
 * something else be there by its number: if it is still the same behind the question, it was so before. */
static int
received(const struct inflow *inflow, uint64_t *bytes_r)
{
	struct tcp_info info = { .tcpi_bytes_received = 0 };
	socklen_t size = sizeof info;

	if (getsockopt(inflow->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == -1 ||
	    cookie_of(inflow->fd) != inflow->cookie)
		return -1;
	*bytes_r = info.tcpi_bytes_received;
	return 0;
}

struct inflow
inflow_of(struct parts *parts, unsigned index)
{
	struct inflow inflow = { .since_ms = UINT64_MAX, .fd = -1 };

	if (index < parts->count)
		inflow.fd = zmq_msg_get(&parts->frames[index], ZMQ_SRCFD);
	if (inflow.fd != -1)
		inflow.cookie = cookie_of(inflow.fd);
	return inflow;
}

bool
inflow_goes_on(struct inflow *inflow, uint64_t heard_ms)
{
	uint64_t bytes;

	if (inflow->cookie == 0)
		return false;
	if (received(inflow, &bytes) == -1) {
		inflow->cookie = 0;
		return false;
	}
	if (inflow->since_ms != heard_ms) {
		inflow->since_ms = heard_ms;
		inflow->bytes = bytes;
	}
	return bytes - inflow->bytes >= INFLOW_BYTES_MIN;
}
