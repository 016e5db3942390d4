/* intruder: somebody without keys who speaks ZMTP by hand, as no libzmq of ours would, and says HELLO as a coordinator
 * that is named "intruder". */
#ifndef INTRUDER_H
#define INTRUDER_H

#include <stddef.h>

enum intruder_way {
	INTRUDER_ZMTP_1, /* neither of these two knows of keys */
	INTRUDER_ZMTP_2,
	INTRUDER_NULL,   /* ZMTP 3 with the mechanism NULL */
	INTRUDER_CLAIMS, /* says that it has CURVE, and goes on with NULL */
	INTRUDER_WAYS
};

/* Connects to endpoint (ipc:// or tcp://127.0.0.1:PORT) and says all it has to say. Returns the connection. */
int intruder_knock(const char *endpoint, enum intruder_way way);
/* The same to a status channel: subscribes to everything. */
int intruder_subscribe(const char *endpoint, enum intruder_way way);

/* Waits until the other side hangs up, closes fd; returns how many bytes it had said. Fails the test when it never
 * does. */
size_t intruder_await_refusal(int fd);

#endif
