#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "body.h"
#include "log.h"
#include "memory.h"
#include "wishes.h"

#define LINGER_MS 1000
#define RETRY_MS 20
#define STALE_MS 1000u /* a socket file that is still there belongs to nobody */
#define LOOK_MS 20u    /* how long what a send has noticed of readers may stay unread */
#define IPC "ipc://"

struct status {
	struct loop *loop;
	char endpoint[ENDPOINT_BYTES_MAX];
	struct socket *socket; /* NULL: not bound again yet */
	struct timer *retry;
	uint64_t closed_ms;
	struct wishes *wishes;
	struct body *wanted[2]; /* what publishers are told: prefixes, or whether */
	void (*on_change)(void *arg);
	void *arg;
	bool has_sent; /* since looked_ms */
	uint64_t looked_ms;
};

/* --- what is wanted ------------------------------------------------------------------- */

static void
pack_wanted(struct status *status, bool whether)
{
	struct parts parts = { .count = 0 };
	struct packet packet = { 0 };
	size_t bytes;

	wishes_pack(status->wishes, whether, &packet);
	parts_add_packet(&parts, &packet);
	if (status->wanted[whether] != NULL)
		body_free(status->wanted[whether]);
	status->wanted[whether] = body_take(&parts, 0, &bytes);
}

static void
pack_both(struct status *status)
{
	pack_wanted(status, false);
	pack_wanted(status, true);
}

static void
on_reader(void *arg, struct parts *parts, bool truncated)
{
	struct status *status = arg;

	if (!truncated && parts->count == 1)
		wishes_hear(status->wishes, parts_data(parts, 0), parts_size(parts, 0),
		    loop_now_ms(status->loop));
}

/* The end of each turn, which comes at least with each tick. */
static void
on_turn_end(void *arg)
{
	struct status *status = arg;
	uint64_t now_ms = loop_now_ms(status->loop);

	if (status->has_sent && now_ms >= status->looked_ms + LOOK_MS) {
		status->has_sent = false;
		status->looked_ms = now_ms;
		if (status->socket != NULL)
			socket_has_input(status->socket);
	}
	if (!wishes_changed(status->wishes, now_ms))
		return;
	pack_both(status);
	status->on_change(status->arg);
}

struct body *
status_wanted(const struct status *status, bool whether)
{
	return status->wanted[whether];
}

/* --- life ----------------------------------------------------------------------------- */

struct status *
status_new(struct loop *loop, const char *endpoint, void (*on_change)(void *arg),
    void *arg, const char **error_r)
{
	struct status *status = xcalloc(1, sizeof *status);

	status->loop = loop;
	status->socket = socket_pub(loop, endpoint, on_reader, status, error_r);
	if (status->socket == NULL) {
		free(status);
		return NULL;
	}
	snprintf(status->endpoint, sizeof status->endpoint, "%s",
	    socket_endpoint(status->socket));
	status->on_change = on_change;
	status->arg = arg;
	status->wishes = wishes_new();
	pack_both(status);
	loop_add_flush(loop, on_turn_end, status);
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
	loop_remove_flush(status->loop, on_turn_end, status);
	socket_close(&status->socket, LINGER_MS);
	wishes_destroy(&status->wishes);
	body_free(status->wanted[false]);
	body_free(status->wanted[true]);
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
	status->has_sent = true;
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
	status->socket =
	    socket_pub(status->loop, status->endpoint, on_reader, status, &error);
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
	wishes_clear(status->wishes, status->closed_ms);
	status->retry = timer_start(status->loop, RETRY_MS, RETRY_MS, on_retry, status);
}
