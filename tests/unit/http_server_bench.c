#include "http_server_bench.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber.h"
#include "has.h"
#include "repeated.h"

#define BODIES_MAX 15000u
#define LONG_MS 600000u

struct http_server_bench hs;

/* --- the server's owner ------------------------------------------------------------------- */

static void
say(struct exchange *exchange, unsigned status, const char *text)
{
	exchange_answer(exchange, status, "text/plain", text, strlen(text));
}

static void
echo(struct exchange *exchange)
{
	const char *header = exchange_header(exchange, "x-mine");
	const char *query = exchange_query(exchange, "q");

	exchange_add_header(exchange, "X-Yours", header != NULL ? header : "none");
	exchange_add_header(exchange, "X-Split", "a\r\nX-Bad: 1");
	say(exchange, 200,
	    arena_printf(exchange->arena, "%s %s q=%s %zu:%s", exchange->method,
		exchange->path, query != NULL ? query : "none", exchange->body_size,
		exchange->body));
}

/* Until it is let go, or cancelled. */
static void
hold(struct exchange *exchange)
{
	hs.held = exchange;
	hs.holder = fiber_current();
	while (!hs.lets_go && fiber_wait() == 0)
		continue;
	hs.cancelled += fiber_cancelled();
	hs.gone += exchange_is_gone(exchange);
	hs.holder = NULL;
	if (hs.lets_go)
		say(exchange, 200, "let go");
}

/* A head, and then until it is let go, or cancelled. */
static void
hold_stream(struct exchange *exchange)
{
	exchange_stream(exchange, 200, "text/event-stream");
	exchange_write(exchange, "begun\n", 6);
	hold(exchange);
}

static void
write_pieces(struct exchange *exchange)
{
	exchange_stream(exchange, 200, "text/plain");
	exchange_write(exchange, "one ", 4);
	fiber_yield();
	exchange_write(exchange, "", 0);
	exchange_write(exchange, "two ", 4);
	exchange_write(exchange, "three", 5);
}

/* As much as anybody takes, until he is gone. */
static void
flood(struct exchange *exchange)
{
	char *piece = arena_alloc(exchange->arena, PIECE);

	memset(piece, 'x', PIECE);
	exchange_stream(exchange, 200, "text/plain");
	while (exchange_write(exchange, piece, PIECE) == 0)
		hs.written += PIECE;
	hs.cancelled += fiber_cancelled();
	hs.gone += exchange_is_gone(exchange);
}

/* The same, to an end. */
static void
write_much(struct exchange *exchange)
{
	char *piece = arena_alloc(exchange->arena, PIECE);
	unsigned i;

	memset(piece, 'x', PIECE);
	exchange_stream(exchange, 200, "text/plain");
	for (i = 0; i < 32; i++)
		if (exchange_write(exchange, piece, PIECE) == 0)
			hs.written += PIECE;
}

/* More than the kernel takes for a client, at once. */
static char *
new_heap(struct exchange *exchange)
{
	char *heap = arena_alloc(exchange->arena, HEAP);

	memset(heap, 'x', HEAP);
	memcpy(heap + HEAP - strlen(HEAP_END), HEAP_END, strlen(HEAP_END));
	return heap;
}

static void
say_heap(struct exchange *exchange)
{
	exchange_answer(exchange, 200, "text/plain", new_heap(exchange), HEAP);
	hs.written += HEAP;
}

/* As much as is sent from one piece. */
static void
say_lump(struct exchange *exchange)
{
	exchange_answer(
	    exchange, 200, "text/plain", new_heap(exchange), HTTP_STREAM_BYTES_MAX);
}

/* At once, or by and by, and what is not written yet is kept. */
static void
write_heap(struct exchange *exchange)
{
	const char *heap = new_heap(exchange);
	bool keeps = exchange_query(exchange, "kept") != NULL;
	size_t piece = keeps ? PIECE : HEAP, at;

	exchange_stream(exchange, 200, "text/plain");
	exchange_keep(exchange, keeps ? HEAP : 0);
	hs.written += HEAP;
	for (at = 0; at < HEAP; at += piece)
		if (exchange_write(exchange, heap + at, piece) == -1)
			break;
	exchange_keep(exchange, 0);
}

static void
wait_for_room(struct exchange *exchange)
{
	hs.waited = 0;
	for (; !exchange_has_room(exchange); hs.waited++)
		if (fiber_sleep(10) == -1)
			return;
	say(exchange, 200, "room");
}

static void
say_nothing(struct exchange *exchange)
{
	exchange_answer(exchange, 204, NULL, NULL, 0);
}

/* The second answer is none. */
static void
answer_twice(struct exchange *exchange)
{
	say(exchange, 200, "first");
	say(exchange, 500, "second");
}

static void
forget(struct exchange *exchange)
{
	(void)exchange;
}

static const struct {
	const char *path;
	void (*answer)(struct exchange *exchange);
} paths[] = {
	{ "/echo", echo },
	{ "/echo it", echo },
	{ "/hold", hold },
	{ "/hold-stream", hold_stream },
	{ "/pieces", write_pieces },
	{ "/flood", flood },
	{ "/much", write_much },
	{ "/heap", write_heap },
	{ "/heap-at-once", say_heap },
	{ "/lump", say_lump },
	{ "/room", wait_for_room },
	{ "/nothing", say_nothing },
	{ "/twice", answer_twice },
	{ "/forget", forget },
};

static void
on_request(void *arg, struct exchange *exchange)
{
	size_t i;

	ck_assert_ptr_eq(arg, &hs);
	hs.asked++;
	for (i = 0; i < sizeof paths / sizeof paths[0]; i++)
		if (strcmp(paths[i].path, exchange->path) == 0)
			paths[i].answer(exchange);
	hs.ended++;
}

/* Looks at the head alone. */
static void
on_head(void *arg, struct exchange *exchange)
{
	ck_assert_ptr_eq(arg, &hs);
	ck_assert_ptr_null(exchange->body);
	if (strcmp(exchange->path, "/closed") == 0)
		say(exchange, 401, "no key");
}

void
hs_serve(void)
{
	const char *error = "";
	bool is_usage;

	hs.server = http_server_new(hs.loop, &hs.options, &error, &is_usage);
	ck_assert_msg(hs.server != NULL, "%s", error);
}

static void
destroy(void *arg)
{
	(void)arg;
	http_server_destroy(&hs.server);
}

static bool
is_alone(void *arg)
{
	(void)arg;
	return fiber_count(hs.loop) == 0;
}

void
hs_end_server(void)
{
	ck_assert_ptr_nonnull(fiber_start(hs.loop, "end", destroy, NULL));
	loop_run_until(hs.loop, is_alone, NULL);
	ck_assert_ptr_null(hs.server);
}

/* --- who asks ----------------------------------------------------------------------------- */

static void
receive(struct client *client)
{
	char bytes[65536];
	ssize_t got = recv(client->fd, bytes, sizeof bytes, 0);

	if (got > 0) {
		client->in.size -= client->in.size > 0;
		packet_append(&client->in, bytes, (size_t)got);
		packet_append(&client->in, "", 1);
	} else if (got == 0 || errno != EAGAIN) {
		client->has_ended = true;
		uv_poll_stop(client->poll);
	}
}

static void
on_socket(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;

	while (status < 0 && !client->has_ended) /* the connection is broken */
		receive(client);
	if ((events & UV_WRITABLE) != 0 && client->sent < client->out.size) {
		ssize_t sent = send(client->fd, client->out.data + client->sent,
		    client->out.size - client->sent, MSG_NOSIGNAL);

		client->sent += sent > 0 ? (size_t)sent : 0;
		if (sent == -1 && errno != EAGAIN)
			client->sent = client->out.size; /* it hears no more */
	}
	if ((events & UV_READABLE) != 0 && client->reads)
		receive(client);
	if (!client->has_ended)
		uv_poll_start(poll,
		    (client->reads ? UV_READABLE : 0) |
			(client->sent < client->out.size ? UV_WRITABLE : 0),
		    on_socket);
}

void
hs_set_reading(struct client *client, bool reads)
{
	client->reads = reads;
	uv_poll_start(client->poll,
	    (reads ? UV_READABLE : 0) |
		(client->sent < client->out.size ? UV_WRITABLE : 0),
	    on_socket);
}

static void
on_closed(uv_handle_t *handle)
{
	free(handle);
}

void
hs_hang_up(struct client *client)
{
	if (client->poll == NULL)
		return;
	uv_poll_stop(client->poll);
	uv_close((uv_handle_t *)client->poll, on_closed);
	client->poll = NULL;
	close(client->fd);
	packet_release(&client->in);
	packet_release(&client->out);
	*client = (struct client){ 0 };
}

struct client *
hs_dial(unsigned number)
{
	struct client *client = &hs.clients[number];
	const char *port = strrchr(http_server_where(hs.server), ':') + 1;
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (hs.segment > 0) {
		setsockopt(
		    client->fd, IPPROTO_TCP, TCP_MAXSEG, &hs.segment, sizeof hs.segment);
		setsockopt(
		    client->fd, SOL_SOCKET, SO_RCVBUF, &hs.segment, sizeof hs.segment);
	}
	ck_assert_int_eq(
	    connect(client->fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(fcntl(client->fd, F_SETFL, O_NONBLOCK), 0);
	packet_append(&client->in, "", 1);
	client->poll = calloc(1, sizeof *client->poll);
	uv_poll_init(loop_uv(hs.loop), client->poll, client->fd);
	client->poll->data = client;
	hs_set_reading(client, true);
	return client;
}

void
hs_send(struct client *client, const char *text)
{
	packet_append(&client->out, text, strlen(text));
	hs_set_reading(client, client->reads);
}

void
hs_get(struct client *client, const char *path)
{
	hs_send(
	    client, arena_printf(hs.arena, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path));
}

void
hs_post(struct client *client, const char *path, size_t size)
{
	hs_send(
	    client, arena_printf(hs.arena,
			"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
			path, size, repeated(hs.arena, "b", size)));
}

/* --- waiting ------------------------------------------------------------------------------ */

struct text_wait {
	struct client *client;
	const char *text;
};

static bool
has_text(void *arg)
{
	struct text_wait *wait = arg;

	return wait->client->has_ended ||
	       strstr(wait->client->in.data, wait->text) != NULL;
}

const char *
hs_await(struct client *client, const char *text)
{
	struct text_wait wait = { client, text };
	const char *all;

	loop_run_until(hs.loop, has_text, &wait);
	ck_assert_has(client->in.data, text);
	all = arena_strdup(hs.arena, client->in.data);
	client->in.size = 0;
	packet_append(&client->in, "", 1);
	return all;
}

static bool
has_ended(void *arg)
{
	return ((struct client *)arg)->has_ended;
}

const char *
hs_await_end(struct client *client)
{
	loop_run_until(hs.loop, has_ended, client);
	return client->in.data;
}

bool
hs_has_held(void *arg)
{
	(void)arg;
	return hs.holder != NULL;
}

bool
hs_all_have_ended(void *arg)
{
	(void)arg;
	return hs.asked == hs.ended;
}

static bool
is_time_over(void *arg)
{
	return *(bool *)arg;
}

static void
on_time(void *arg)
{
	*(bool *)arg = true;
}

void
hs_run_a_little(void)
{
	bool is_over = false;
	struct timer *timer = timer_start(hs.loop, 50, 0, on_time, &is_over);

	loop_run_until(hs.loop, is_time_over, &is_over);
	timer_stop(&timer);
}

void
hs_let_go(void)
{
	hs.lets_go = true;
	fiber_wake(hs.holder);
}

/* --- fixture ------------------------------------------------------------------------------ */

void
hs_open(void)
{
	memset(&hs, 0, sizeof hs);
	hs.loop = loop_new();
	hs.arena = arena_new();
	hs.options = (struct http_server_options){ .listen = "127.0.0.1:0",
		.connections_max = 3,
		.head_bytes_max = HEAD_MAX,
		.body_bytes_max = BODY_MAX,
		.bodies_bytes_max = BODIES_MAX,
		.idle_s = 600,
		.request_ms = LONG_MS,
		.on_head = on_head,
		.on_request = on_request,
		.arg = &hs };
	hs_serve();
}

void
hs_close(void)
{
	unsigned i;

	if (hs.server != NULL)
		hs_end_server();
	for (i = 0; i < CLIENTS; i++)
		hs_hang_up(&hs.clients[i]);
	hs_run_a_little();
	loop_destroy(&hs.loop);
	arena_destroy(&hs.arena);
}
