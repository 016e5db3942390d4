#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "memory.h"

#define LINGER_MS 1000
#define RETRY_MS 20
#define STALE_MS 1000u /* a socket file that is still there belongs to nobody */
#define IPC "ipc://"

struct status {
	struct loop *loop;
	char endpoint[ENDPOINT_BYTES_MAX];
	struct socket *socket; /* NULL: not bound again yet */
	struct timer *retry;
	uint64_t closed_ms;
};

struct status *
status_new(struct loop *loop, const char *endpoint, const char **error_r)
{
	struct status *status = xcalloc(1, sizeof *status);

	status->loop = loop;
	status->socket = socket_pub(loop, endpoint, error_r);
	if (status->socket == NULL) {
		free(status);
		return NULL;
	}
	snprintf(status->endpoint, sizeof status->endpoint, "%s",
	    socket_endpoint(status->socket));
	return status;
}

void
status_destroy(struct status **status_p)
{
	struct status *status = *status_p;

	if (status == NULL)
		return;
	*status_p = NULL;
	timer_stop(&status->retry);
	socket_close(&status->socket, LINGER_MS);
	free(status);
}

const char *
status_endpoint(const struct status *status)
{
	return status->endpoint;
}

void
status_send(struct status *status, struct parts *parts)
{
	if (status->socket != NULL)
		socket_send(status->socket, parts);
	else
		parts_release(parts);
}

/* The I/O thread removes the old listener's file some time after the socket was closed: it
 * must not be ours. */
static bool
is_free(const struct status *status)
{
	if (strncmp(status->endpoint, IPC, strlen(IPC)) != 0)
		return true;
	return access(status->endpoint + strlen(IPC), F_OK) == -1 ||
	       loop_now_ms(status->loop) > status->closed_ms + STALE_MS;
}

static void
on_retry(void *arg)
{
	struct status *status = arg;
	const char *error;

	if (!is_free(status))
		return;
	status->socket = socket_pub(status->loop, status->endpoint, &error);
	if (status->socket == NULL)
		return; /* the old listener has the port still */
	timer_stop(&status->retry);
	log_info("the status channel is bound anew endpoint=%s", status->endpoint);
}

void
status_renew(struct status *status)
{
	if (status->socket == NULL)
		return;
	socket_close(&status->socket, 0);
	status->closed_ms = loop_now_ms(status->loop);
	status->retry = timer_start(status->loop, RETRY_MS, RETRY_MS, on_retry, status);
}
