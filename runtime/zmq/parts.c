#include "socket.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

void
parts_release(struct parts *parts)
{
	for (unsigned i = 0; i < parts->count; i++)
		zmq_msg_close(&parts->frames[i]);
	parts->count = 0;
}

/* libzmq reads a message's data through a pointer that it does not promise to keep const.
 */
static zmq_msg_t *
frame_of(const struct parts *parts, unsigned index)
{
	assert(index < parts->count);
	return (zmq_msg_t *)&parts->frames[index];
}

const void *
parts_data(const struct parts *parts, unsigned index)
{
	return zmq_msg_data(frame_of(parts, index));
}

size_t
parts_size(const struct parts *parts, unsigned index)
{
	return zmq_msg_size(frame_of(parts, index));
}

static void
check_memory(int result)
{
	if (result == -1)
		fatal("zmq_msg_init");
}

int
parts_add(struct parts *parts, const void *data, size_t size)
{
	zmq_msg_t *frame;

	if (parts->count == PARTS_MAX)
		return -1;
	frame = &parts->frames[parts->count++];
	check_memory(zmq_msg_init_size(frame, size));
	if (size > 0)
		memcpy(zmq_msg_data(frame), data, size);
	return 0;
}

/* Maybe on libzmq's own thread. */
static void
free_packet(void *data, void *hint)
{
	(void)hint;
	free(data);
}

int
parts_add_packet(struct parts *parts, struct packet *packet)
{
	zmq_msg_t *frame;

	if (parts->count == PARTS_MAX)
		return -1;
	frame = &parts->frames[parts->count++];
	check_memory(
	    zmq_msg_init_data(frame, packet->data, packet->size, free_packet, NULL));
	*packet = (struct packet){ 0 };
	return 0;
}

int
parts_add_shared(struct parts *parts, zmq_msg_t *message)
{
	zmq_msg_t *frame;

	if (parts->count == PARTS_MAX)
		return -1;
	frame = &parts->frames[parts->count++];
	zmq_msg_init(frame);
	check_memory(zmq_msg_copy(frame, message));
	return 0;
}

int
parts_add_frame(struct parts *parts, const struct parts *from, unsigned index)
{
	return parts_add_shared(parts, frame_of(from, index));
}

void
parts_move(struct parts *to, struct parts *from, unsigned first)
{
	zmq_msg_t *frame;

	for (; first < from->count && to->count < PARTS_MAX; first++) {
		frame = &to->frames[to->count++];
		zmq_msg_init(frame);
		zmq_msg_move(frame, &from->frames[first]);
	}
}

const char *
parts_sender_key(struct parts *parts, unsigned index)
{
	return index < parts->count ? zmq_msg_gets(&parts->frames[index], "User-Id")
				    : NULL;
}
