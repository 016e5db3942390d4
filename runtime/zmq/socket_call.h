/* socket_call: calls of libzmq that begin with a look into the socket's own mailbox. A signal may
 * interrupt that, and nothing is done by then: they are made again. Part of socket, and the loop's. */
#ifndef SOCKET_CALL_H
#define SOCKET_CALL_H

#include <zmq.h>

/* Returns zmq's ZMQ_EVENTS. What has come for it meanwhile, new and lost peers among it, is handled. */
int socket_call_events(void *zmq);

/* As zmq_msg_recv and zmq_msg_send; neither waits. */
int socket_call_receive(void *zmq, zmq_msg_t *frame);
int socket_call_send(void *zmq, zmq_msg_t *frame, int flags);

/* As zmq_bind and zmq_connect. */
int socket_call_bind(void *zmq, const char *endpoint);
int socket_call_connect(void *zmq, const char *endpoint);

#endif
