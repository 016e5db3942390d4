#include "socket_call.h"

#include <errno.h>
#include <stddef.h>

/* Of messages that libzmq has told of once its descriptor does not tell again: who is not answered here may wait for ever. */
int
socket_call_events(void *zmq)
{
	int events = 0, status;
	size_t size = sizeof events;

	do
		status = zmq_getsockopt(zmq, ZMQ_EVENTS, &events, &size);
	while (status == -1 && errno == EINTR);
	return events;
}

int
socket_call_receive(void *zmq, zmq_msg_t *frame)
{
	int size;

	do
		size = zmq_msg_recv(frame, zmq, ZMQ_DONTWAIT);
	while (size == -1 && errno == EINTR);
	return size;
}

int
socket_call_send(void *zmq, zmq_msg_t *frame, int flags)
{
	int size;

	do
		size = zmq_msg_send(frame, zmq, flags | ZMQ_DONTWAIT);
	while (size == -1 && errno == EINTR);
	return size;
}

int
socket_call_bind(void *zmq, const char *endpoint)
{
	int status;

	do
		status = zmq_bind(zmq, endpoint);
	while (status == -1 && errno == EINTR);
	return status;
}

int
socket_call_connect(void *zmq, const char *endpoint)
{
	int status;

	do
		status = zmq_connect(zmq, endpoint);
	while (status == -1 && errno == EINTR);
	return status;
}
