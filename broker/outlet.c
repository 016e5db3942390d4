#include "outlet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gathered.h"
#include "log.h"
#include "memory.h"

#define LOST_MS 250
#define LINGER_MS 1000
#define ROUTING_ID_BYTES 5u

struct outlet {
	struct loop *loop;
	struct socket *router;
	struct gathered *gathered;
	struct timer *acks_timer; /* while there may be some gathered */
	uint64_t *lost;           /* peers that cannot be sent to any more */
	size_t lost_count, lost_room;
	uint64_t lost_ms; /* when the first of them was noted */
	/* The SEEK that was sent last in this step: it goes to a thousand workers. */
	zmq_msg_t seek;
	const struct wire_call *sought; /* its calls, or NULL: there is none */
	unsigned seek_flags;
};

/* --- peers: the routing ids libzmq gives, as numbers ---------------------------------- */

uint64_t
outlet_peer(const struct parts *message)
{
	const unsigned char *id = parts_data(message, 0);
	uint32_t number;

	if (parts_size(message, 0) != ROUTING_ID_BYTES || id[0] != 0)
		return 0;
	memcpy(&number, id + 1, sizeof number);
	return (uint64_t)1 << 32 | number;
}

static void
parts_add_peer(struct parts *parts, uint64_t peer)
{
	unsigned char id[ROUTING_ID_BYTES] = { 0 };
	uint32_t number = (uint32_t)peer;

	memcpy(id + 1, &number, sizeof number);
	parts_add(parts, id, sizeof id);
}

/* --- peers that are gone -------------------------------------------------------------- */

/* Whoever owns a message sends it again. These two have no owner: a coordinator that missed
 * one has to begin anew. */
static bool
is_unowned(enum message_type type)
{
	return type == MSG_OFFER || type == MSG_WITHDRAW;
}

/* It is gone, but what it said last may be unread yet: a result, or that it gives its calls
 * back. Until that is read it counts as alive. */
static void
note_lost(struct outlet *outlet, uint64_t peer)
{
	if (outlet->lost_count == 0)
		outlet->lost_ms = loop_now_ms(outlet->loop);
	if (outlet->lost_count == outlet->lost_room) {
		outlet->lost_room = outlet->lost_room == 0 ? 16 : 2 * outlet->lost_room;
		outlet->lost =
		    xreallocarray(outlet->lost, outlet->lost_room, sizeof *outlet->lost);
	}
	outlet->lost[outlet->lost_count++] = peer;
}

/* Sockets are fair: on a busy one a lost peer's words are read long before LOST_MS. */
size_t
outlet_lost_count(const struct outlet *outlet)
{
	if (outlet->lost_count > 0 && socket_has_input(outlet->router) &&
	    loop_now_ms(outlet->loop) < outlet->lost_ms + LOST_MS)
		return 0;
	return outlet->lost_count;
}

uint64_t
outlet_lost(const struct outlet *outlet, size_t index)
{
	return outlet->lost[index];
}

void
outlet_forget_lost(struct outlet *outlet, size_t count)
{
	if (count == 0)
		return;
	outlet->lost_count -= count;
	memmove(outlet->lost, outlet->lost + count,
	    outlet->lost_count * sizeof *outlet->lost);
}

/* --- sending -------------------------------------------------------------------------- */

static void
send_parts(
    struct outlet *outlet, uint64_t peer, enum message_type type, struct parts *parts)
{
	if (socket_send(outlet->router, parts) == 0)
		return;
	if (errno == EHOSTUNREACH || is_unowned(type))
		note_lost(outlet, peer);
	else
		log_debug("unsent type=%s errno=%d", wire_message_name(type), errno);
}

void
outlet_step_over(struct outlet *outlet)
{
	if (outlet == NULL || outlet->sought == NULL)
		return;
	outlet->sought = NULL;
	zmq_msg_close(&outlet->seek);
	zmq_msg_init(&outlet->seek);
}

static void
add_header(struct parts *parts, const struct header *header)
{
	struct packet packet = { 0 };

	wire_encode(&packet, header);
	parts_add_packet(parts, &packet);
}

/* Equal calls at one place are the same as long as the step lasts. */
static void
add_seek(struct outlet *outlet, struct parts *parts, const struct header *header)
{
	struct parts one = { .count = 0 };

	if (outlet->sought != header->calls || outlet->seek_flags != header->flags) {
		add_header(&one, header);
		zmq_msg_move(&outlet->seek, &one.frames[0]);
		parts_release(&one);
		outlet->sought = header->calls;
		outlet->seek_flags = header->flags;
	}
	parts_add_shared(parts, &outlet->seek);
}

static void
begin_parts(struct outlet *outlet, struct parts *parts, uint64_t peer,
    const struct header *header)
{
	parts_add_peer(parts, peer);
	if (header->type == MSG_SEEK)
		add_seek(outlet, parts, header);
	else
		add_header(parts, header);
}

void
outlet_send(
    struct outlet *outlet, uint64_t peer, const struct header *header, struct body *body)
{
	struct parts parts = { .count = 0 };

	begin_parts(outlet, &parts, peer, header);
	parts_add_body(&parts, body);
	send_parts(outlet, peer, header->type, &parts);
}

void
outlet_send_packet(struct outlet *outlet, uint64_t peer, const struct header *header,
    struct packet *body)
{
	struct parts parts = { .count = 0 };

	begin_parts(outlet, &parts, peer, header);
	parts_add_packet(&parts, body);
	send_parts(outlet, peer, header->type, &parts);
}

static void
send_gathered(void *arg, uint64_t peer, const struct header *header)
{
	outlet_send(arg, peer, header, NULL);
}

static void
on_acks_due(void *arg)
{
	struct outlet *outlet = arg;

	timer_stop(&outlet->acks_timer);
	gathered_send(outlet->gathered);
}

void
outlet_gather(
    struct outlet *outlet, uint64_t peer, const struct header *header, struct body *body)
{
	uint64_t now_ms = loop_now_ms(outlet->loop);

	if (gathered_keep(outlet->gathered, peer, header, now_ms)) {
		if (outlet->acks_timer == NULL)
			outlet->acks_timer = timer_start(
			    outlet->loop, ACK_WAIT_MS, 0, on_acks_due, outlet);
		return;
	}
	gathered_before(outlet->gathered, peer, header, now_ms);
	outlet_send(outlet, peer, header, body);
}

/* --- life ----------------------------------------------------------------------------- */

struct outlet *
outlet_new(struct loop *loop, const char *endpoint, socket_fn *fn, void *arg,
    const char **error_r)
{
	struct outlet *outlet = xcalloc(1, sizeof *outlet);

	outlet->loop = loop;
	outlet->router = socket_router(loop, endpoint, fn, arg, error_r);
	if (outlet->router == NULL) {
		free(outlet);
		return NULL;
	}
	outlet->gathered = gathered_new(send_gathered, outlet);
	zmq_msg_init(&outlet->seek);
	return outlet;
}

int
outlet_bind_inside(struct outlet *outlet, const char *endpoint)
{
	return socket_bind_inside(outlet->router, endpoint);
}

void
outlet_destroy(struct outlet **outlet_p)
{
	struct outlet *outlet = *outlet_p;

	if (outlet == NULL)
		return;
	timer_stop(&outlet->acks_timer);
	gathered_send(outlet->gathered);
	gathered_destroy(&outlet->gathered);
	outlet_step_over(outlet);
	zmq_msg_close(&outlet->seek);
	socket_close(&outlet->router, LINGER_MS);
	free(outlet->lost);
	free(outlet);
	*outlet_p = NULL;
}

const char *
outlet_endpoint(const struct outlet *outlet)
{
	return socket_endpoint(outlet->router);
}
