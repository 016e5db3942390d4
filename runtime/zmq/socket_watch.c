#include "socket_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "bounds.h"
#include "curve.h"
#include "log.h"
#include "memory.h"
#include "socket_call.h"

#define EVENTS                                                                           \
	(ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |          \
	    ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
#define EVENT_BYTES 6u
#define CUT_MIN 3u /* cut handshakes one after the other: no broker that just died */
#define SAID_MS 60000u
#define HISTORIES 32u /* endpoints; of more the oldest are forgotten */

enum refusal { LET_IN, KEY_REFUSED, OTHER_MECHANISM, CUT };

/* Of an endpoint, for as long as the process lives: sockets are made anew all the time. */
struct history {
	char endpoint[ENDPOINT_BYTES_MAX];
	enum refusal last;
	unsigned cut;
	uint64_t said_ms;
};

struct socket_watch {
	struct loop *loop;
	void *zmq;
	void *monitor;
	struct loop_reader reader;
	struct history *history;
};

static struct history histories[HISTORIES];
static unsigned next_history;
static unsigned next_name;

static struct history *
history_of(const char *endpoint)
{
	size_t i;
	struct history *history;

	for (i = 0; i < HISTORIES; i++)
		if (strcmp(histories[i].endpoint, endpoint) == 0)
			return &histories[i];
	history = &histories[next_history++ % HISTORIES];
	*history = (struct history){ .last = LET_IN };
	snprintf(history->endpoint, sizeof history->endpoint, "%s", endpoint);
	return history;
}

bool
socket_watch_refused(const char *endpoint)
{
	size_t i;

	for (i = 0; i < HISTORIES; i++)
		if (strcmp(histories[i].endpoint, endpoint) == 0)
			return histories[i].last != LET_IN;
	return false;
}

static const char *
sentence(enum refusal refusal)
{
	switch (refusal) {
	case KEY_REFUSED:
		return "the broker refused this key: it is not on its allow list, or not "
		       "for this";
	case OTHER_MECHANISM:
		return curve_is_on()
			   ? "the broker has no keys (it runs without --key), and we "
			     "have: leave --key away, or give it one"
			   : "the broker wants a key: give --key FILE and --broker-key";
	case CUT:
		return curve_is_on()
			   ? "the handshake is cut each time: the broker's key is "
			     "another than --broker-key says, or the broker has no keys "
			     "(it runs without --key)"
			   : "the handshake is cut each time: the broker wants a key "
			     "(--key FILE and --broker-key), or what listens there is "
			     "no broker";
	case LET_IN:
		break;
	}
	return "";
}

static void
tell(struct socket_watch *watch, enum refusal refusal)
{
	struct history *history = watch->history;
	uint64_t now_ms = loop_now_ms(watch->loop);

	/* A handshake that was refused is cut, too, and which of the two libzmq sees first is chance. */
	bool is_known = history->last == refusal ||
			(refusal == CUT && history->last != LET_IN) ||
			(refusal == OTHER_MECHANISM && history->last == CUT);

	if (is_known && now_ms < history->said_ms + SAID_MS)
		return;
	history->last = refusal;
	history->said_ms = now_ms;
	log_warnx("not let in at %s: %s", history->endpoint, sentence(refusal));
}

static void
handle(struct socket_watch *watch, unsigned event)
{
	switch (event) {
	case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
		watch->history->last = LET_IN;
		watch->history->cut = 0;
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
		tell(watch, KEY_REFUSED);
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
		tell(watch, OTHER_MECHANISM);
		break;
	default:
		/* Who cannot read what we encrypted for another hangs up. */
		if (++watch->history->cut >= CUT_MIN)
			tell(watch, CUT);
		break;
	}
}

/* Two frames: the event's number with a value, and an address. Returns the number, 0 when
 * nothing is there. */
static unsigned
next_event(void *monitor)
{
	unsigned event = 0;
	bool first = true, more = true;
	zmq_msg_t frame;

	while (more) {
		uint16_t number;

		zmq_msg_init(&frame);
		if (socket_call_receive(monitor, &frame) == -1) {
			zmq_msg_close(&frame);
			return event;
		}
		if (first && zmq_msg_size(&frame) == EVENT_BYTES) {
			memcpy(&number, zmq_msg_data(&frame), sizeof number);
			event = number;
		}
		first = false;
		more = zmq_msg_more(&frame);
		zmq_msg_close(&frame);
	}
	return event;
}

static void
drain(void *arg)
{
	struct socket_watch *watch = arg;
	unsigned event;

	while ((event = next_event(watch->monitor)) != 0)
		handle(watch, event);
}

struct socket_watch *
socket_watch_new(struct loop *loop, void *context, void *zmq, const char *endpoint)
{
	struct socket_watch *watch = xcalloc(1, sizeof *watch);
	char name[64];
	int none = 0;

	watch->loop = loop;
	watch->zmq = zmq;
	watch->history = history_of(endpoint);
	watch->monitor = zmq_socket(context, ZMQ_PAIR);
	/* A name is free again only some time after its monitor ended: each has its own. */
	snprintf(name, sizeof name, "inproc://monitor-%u", next_name++);
	if (watch->monitor == NULL || zmq_socket_monitor(zmq, name, EVENTS) == -1)
		goto fail;
	zmq_setsockopt(watch->monitor, ZMQ_LINGER, &none, sizeof none);
	if (socket_call_connect(watch->monitor, name) == -1)
		goto fail;
	watch->reader.socket = watch->monitor;
	watch->reader.drain = drain;
	watch->reader.arg = watch;
	loop_add_reader(loop, &watch->reader);
	return watch;

fail:
	if (watch->monitor != NULL)
		zmq_close(watch->monitor);
	free(watch);
	return NULL;
}

void
socket_watch_destroy(struct socket_watch **watch_p)
{
	struct socket_watch *watch = *watch_p;

	if (watch == NULL)
		return;
	*watch_p = NULL;
	loop_remove_reader(watch->loop, &watch->reader);
	zmq_socket_monitor(watch->zmq, NULL, 0);
	zmq_close(watch->monitor);
	free(watch);
}
