#include "intruder.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "patience.h"
#include "wire.h"

#define WAIT_S (30L * PATIENCE)
#define DEALER 5
#define SUB 2
#define GREETING_BYTES 64

struct bytes {
	unsigned char data[1024];
	size_t size;
};

static void
add(struct bytes *bytes, const void *data, size_t size)
{
	ck_assert_uint_le(bytes->size + size, sizeof bytes->data);
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

static void
add_byte(struct bytes *bytes, size_t byte)
{
	add(bytes, &(unsigned char){ (unsigned char)byte }, 1);
}

/* --- what it says --------------------------------------------------------------------- */

static void
add_signature(struct bytes *bytes)
{
	add(bytes, "\xff\0\0\0\0\0\0\0\0\x7f", 10);
}

static void
add_greeting(struct bytes *bytes, const char *mechanism)
{
	char name[20] = { 0 }, rest[32] = { 0 };

	strncpy(name, mechanism, sizeof name - 1);
	add_signature(bytes);
	add(bytes, "\x03\0", 2);
	add(bytes, name, sizeof name);
	add(bytes, rest, sizeof rest); /* not a server, and nothing */
}

static void
add_ready(struct bytes *bytes, const char *type)
{
	static const char ready[] = "\x05READY\x0bSocket-Type\0\0\0";

	add_byte(bytes, 4);
	add_byte(bytes, sizeof ready + strlen(type));
	add(bytes, ready, sizeof ready - 1);
	add_byte(bytes, strlen(type));
	add(bytes, type, strlen(type));
}

static void
begin(struct bytes *bytes, enum intruder_way way, unsigned char type)
{
	const char *name = type == DEALER ? "DEALER" : "SUB";

	switch (way) {
	case INTRUDER_ZMTP_1:
		add(bytes, "\x01\0", 2);
		break;
	case INTRUDER_ZMTP_2:
		add_signature(bytes);
		add_byte(bytes, 1);
		add_byte(bytes, type);
		add(bytes, "\0\0", 2);
		break;
	case INTRUDER_NULL:
	case INTRUDER_CLAIMS:
		add_greeting(bytes, way == INTRUDER_NULL ? "NULL" : "CURVE");
		add_ready(bytes, name);
		break;
	case INTRUDER_WAYS:
		break;
	}
}

static void
add_message(struct bytes *bytes, enum intruder_way way, const void *data, size_t size)
{
	ck_assert_uint_lt(size, 255);
	if (way == INTRUDER_ZMTP_1) {
		add_byte(bytes, size + 1);
		add_byte(bytes, 0);
	} else {
		add_byte(bytes, 0);
		add_byte(bytes, size);
	}
	add(bytes, data, size);
}

static void
add_hello(struct bytes *bytes, enum intruder_way way)
{
	const struct header header = {
		.type = MSG_HELLO,
		.session = "0123456789abcdef0123456789abcdef",
		.name = "intruder",
		.role = ROLE_COORDINATOR,
		.protocol_min = WIRE_VERSION,
		.protocol_max = WIRE_VERSION,
	};
	struct packet packet = { 0 };

	wire_encode(&packet, &header);
	add_message(bytes, way, packet.data, packet.size);
	packet_release(&packet);
}

static void
add_subscription(struct bytes *bytes, enum intruder_way way)
{
	add_message(bytes, way, "\x01", 1);
}

/* --- the connection ------------------------------------------------------------------- */

static int
connect_ipc(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_uint_lt(strlen(path), sizeof address.sun_path);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static int
connect_tcp(const char *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static int
open_connection(const char *endpoint)
{
	const struct timeval wait = { .tv_sec = WAIT_S };
	bool is_ipc = strncmp(endpoint, "ipc://", strlen("ipc://")) == 0;
	int fd = is_ipc ? connect_ipc(endpoint + strlen("ipc://"))
			: connect_tcp(strrchr(endpoint, ':') + 1);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	return fd;
}

/* Who is refused at once hears nothing more: that is not an error here. */
static void
say(int fd, const struct bytes *bytes)
{
	send(fd, bytes->data, bytes->size, MSG_NOSIGNAL);
}

/* libzmq takes what comes before its own READY is out for a breach of the protocol. */
static void
await_ready(int fd)
{
	char buffer[512];
	ssize_t heard = 0, size;

	while (heard <= GREETING_BYTES && (size = recv(fd, buffer, sizeof buffer, 0)) > 0)
		heard += size;
}

static int
knock(const char *endpoint, enum intruder_way way, unsigned char type,
    void (*add_words)(struct bytes *bytes, enum intruder_way way))
{
	struct bytes first = { .size = 0 }, then = { .size = 0 };
	int fd = open_connection(endpoint);

	begin(&first, way, type);
	add_words(&then, way);
	say(fd, &first);
	if (way == INTRUDER_NULL)
		await_ready(fd);
	say(fd, &then);
	return fd;
}

int
intruder_knock(const char *endpoint, enum intruder_way way)
{
	return knock(endpoint, way, DEALER, add_hello);
}

int
intruder_subscribe(const char *endpoint, enum intruder_way way)
{
	return knock(endpoint, way, SUB, add_subscription);
}

size_t
intruder_await_refusal(int fd)
{
	char buffer[512];
	size_t heard = 0;
	ssize_t size;

	while ((size = recv(fd, buffer, sizeof buffer, 0)) > 0)
		heard += (size_t)size;
	ck_assert_msg(size == 0 || errno == ECONNRESET, "nobody hung up on the intruder");
	close(fd);
	return heard;
}
