/* floor: what a fleet of this shape costs at the least, as a yardstick: a ZeroMQ ROUTER between a
 * coordinator and two workers (a model worker on libcurl, a tool worker), and one commit to Redis
 * before each call: the epoch is checked, the messages are appended, the head is set. That is all: no leases, no
 * retries, no inbox, no middleware, no streams, no recovery. Who dies is not missed.
 *
 * A message is an envelope and a body behind it, one frame. A body of a model call is the
 * thread's messages as JSON, with commas between them; its result is the model's message. A body of a tool call
 * is the message that asks for it. */
#ifndef FLOOR_H
#define FLOOR_H

#include <stddef.h>
#include <stdint.h>

#define FLOOR_TOOL_ANSWER "51"
#define FLOOR_ID_BYTES 4

enum floor_kind { FLOOR_HELLO, FLOOR_CALL, FLOOR_RESULT };
enum floor_service { FLOOR_MODEL, FLOOR_TOOLS, FLOOR_SERVICES };

struct floor_envelope {
	uint8_t kind, service;
	uint16_t step;
	uint32_t run;
	char caller[FLOOR_ID_BYTES]; /* set by the broker */
};

/* Returns a new DEALER of that identity, connected. */
void *floor_dealer(const char *endpoint, const char id[FLOOR_ID_BYTES]);

/* Sends an envelope with a body behind it. */
void floor_send(
    void *socket, const struct floor_envelope *envelope, const void *body, size_t size);

/* Says HELLO and waits until the broker has it, then READY=1. */
void floor_hello(void *socket, enum floor_service service);

/* The programs; they end by a signal. */
int floor_broker(const char *endpoint);
int floor_model_worker(const char *endpoint, const char *url);
int floor_tool_worker(const char *endpoint);

#endif
