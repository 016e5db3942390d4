/* The HTTP server on a loop with real sockets: answers, streams, who goes away, and what is too much. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber.h"
#include "has.h"
#include "repeated.h"

/* Interface under test */
#include "http_server.h"

TCase *tcase_http_server(void);

#define BODY_MAX 10000u
#define BODIES_MAX 15000u
#define HEAD_MAX 8192u
#define LONG_MS 600000u
#define CLIENTS 4u
#define PIECE ((size_t)65536)

/* Who asks: a socket, what is still to be sent, and what has come. */
struct client {
	int fd;
	struct packet out, in; /* in: NUL-terminated */
	size_t sent;
	bool reads, has_ended;
	uv_poll_t *poll;
};

static struct {
	struct loop *loop;
	struct arena *arena;
	struct http_server *server;
	struct http_server_options options;
	struct client clients[CLIENTS];
	/* What the owner of the server has seen. */
	unsigned asked, ended, cancelled, gone;
	size_t written;
	struct exchange *held; /* that waits */
	struct fiber *holder;
	bool lets_go;
} t;

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
	t.held = exchange;
	t.holder = fiber_current();
	while (!t.lets_go && fiber_wait() == 0)
		continue;
	t.cancelled += fiber_cancelled();
	t.gone += exchange_is_gone(exchange);
	t.holder = NULL;
	if (t.lets_go)
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
		t.written += PIECE;
	t.cancelled += fiber_cancelled();
	t.gone += exchange_is_gone(exchange);
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
			t.written += PIECE;
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
	{ "/nothing", say_nothing },
	{ "/twice", answer_twice },
	{ "/forget", forget },
};

static void
on_request(void *arg, struct exchange *exchange)
{
	size_t i;

	ck_assert_ptr_eq(arg, &t);
	t.asked++;
	for (i = 0; i < sizeof paths / sizeof paths[0]; i++)
		if (strcmp(paths[i].path, exchange->path) == 0)
			paths[i].answer(exchange);
	t.ended++;
}

/* Looks at the head alone. */
static void
on_head(void *arg, struct exchange *exchange)
{
	ck_assert_ptr_eq(arg, &t);
	ck_assert_ptr_null(exchange->body);
	if (strcmp(exchange->path, "/closed") == 0)
		say(exchange, 401, "no key");
}

static void
serve(void)
{
	const char *error = "";
	bool is_usage;

	t.server = http_server_new(t.loop, &t.options, &error, &is_usage);
	ck_assert_msg(t.server != NULL, "%s", error);
}

static void
destroy(void *arg)
{
	(void)arg;
	http_server_destroy(&t.server);
}

static bool
is_alone(void *arg)
{
	(void)arg;
	return fiber_count(t.loop) == 0;
}

static void
end_server(void)
{
	ck_assert_ptr_nonnull(fiber_start(t.loop, "end", destroy, NULL));
	loop_run_until(t.loop, is_alone, NULL);
	ck_assert_ptr_null(t.server);
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

/* From now on what comes is read, or is not. */
static void
set_reading(struct client *client, bool reads)
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

static void
hang_up(struct client *client)
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

static struct client *
dial(unsigned number)
{
	struct client *client = &t.clients[number];
	const char *port = strrchr(http_server_where(t.server), ':') + 1;
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(
	    connect(client->fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(fcntl(client->fd, F_SETFL, O_NONBLOCK), 0);
	packet_append(&client->in, "", 1);
	client->poll = calloc(1, sizeof *client->poll);
	uv_poll_init(loop_uv(t.loop), client->poll, client->fd);
	client->poll->data = client;
	set_reading(client, true);
	return client;
}

static void
send_text(struct client *client, const char *text)
{
	packet_append(&client->out, text, strlen(text));
	set_reading(client, client->reads);
}

static void
get(struct client *client, const char *path)
{
	send_text(
	    client, arena_printf(t.arena, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path));
}

static void
post(struct client *client, const char *path, size_t size)
{
	send_text(
	    client, arena_printf(t.arena,
			"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
			path, size, repeated(t.arena, "b", size)));
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

/* Waits until text has come, and empties what has come. Returns all that came. */
static const char *
await(struct client *client, const char *text)
{
	struct text_wait wait = { client, text };
	const char *all;

	loop_run_until(t.loop, has_text, &wait);
	ck_assert_has(client->in.data, text);
	all = arena_strdup(t.arena, client->in.data);
	client->in.size = 0;
	packet_append(&client->in, "", 1);
	return all;
}

static bool
has_ended(void *arg)
{
	return ((struct client *)arg)->has_ended;
}

static const char *
await_end(struct client *client)
{
	loop_run_until(t.loop, has_ended, client);
	return client->in.data;
}

static bool
has_held(void *arg)
{
	(void)arg;
	return t.holder != NULL;
}

static bool
all_has_ended(void *arg)
{
	(void)arg;
	return t.asked == t.ended;
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

/* Lets go on what goes on by itself. */
static void
run_a_little(void)
{
	bool is_over = false;
	struct timer *timer = timer_start(t.loop, 50, 0, on_time, &is_over);

	loop_run_until(t.loop, is_time_over, &is_over);
	timer_stop(&timer);
}

static void
let_go(void)
{
	t.lets_go = true;
	fiber_wake(t.holder);
}

/* --- fixture ------------------------------------------------------------------------------ */

static void
setup(void)
{
	memset(&t, 0, sizeof t);
	t.loop = loop_new();
	t.arena = arena_new();
	t.options = (struct http_server_options){ .listen = "127.0.0.1:0",
		.connections_max = 3,
		.head_bytes_max = HEAD_MAX,
		.body_bytes_max = BODY_MAX,
		.bodies_bytes_max = BODIES_MAX,
		.idle_s = 600,
		.request_ms = LONG_MS,
		.on_head = on_head,
		.on_request = on_request,
		.arg = &t };
	serve();
}

static void
teardown(void)
{
	unsigned i;

	if (t.server != NULL)
		end_server();
	for (i = 0; i < CLIENTS; i++)
		hang_up(&t.clients[i]);
	run_a_little();
	loop_destroy(&t.loop);
	arena_destroy(&t.arena);
}

/* --- answers ------------------------------------------------------------------------------ */

START_TEST(a_request_is_read_and_answered)
{
	struct client *client = dial(0);
	const char *said;

	send_text(client, "PUT /echo%20it?q=a%26b&q=&r&q=%C3%A9 HTTP/1.1\r\nHost: x\r\n"
			  "X-MINE: yes\r\nContent-Length: 5\r\n\r\nab\xc3\xa9!");
	said = await(client, "!");
	ck_assert_has(said, "HTTP/1.1 200 OK\r\n");
	ck_assert_has(said, "\r\nX-Yours: yes\r\n");
	ck_assert_has(said, "\r\nContent-Type: text/plain\r\n");
	ck_assert_has(said, "\r\nX-Content-Type-Options: nosniff\r\n");
	ck_assert_has_not(said, "X-Split");
	ck_assert_has_not(said, "X-Bad");
	ck_assert_has(said, "\r\n\r\nPUT /echo it q=a&b,,\xc3\xa9 5:ab\xc3\xa9!");
}
END_TEST

START_TEST(a_request_without_more_has_none)
{
	struct client *client = dial(0);
	const char *said;

	get(client, "/echo");
	said = await(client, "0:");
	ck_assert_has(said, "\r\nX-Yours: none\r\n");
	ck_assert_has(said, "GET /echo q=none 0:");
}
END_TEST

START_TEST(a_body_may_come_in_pieces)
{
	struct client *client = dial(0);

	send_text(client, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
			  "chunked\r\n\r\n2\r\nab\r\n");
	run_a_little();
	send_text(client, "3\r\ncde\r\n0\r\n\r\n");
	ck_assert_has(await(client, "5:abcde"), "POST /echo");
	send_text(
	    client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
	run_a_little();
	ck_assert_uint_eq(t.asked, 1);
	send_text(client, "cd");
	ck_assert_has(await(client, "4:abcd"), "POST /echo");
}
END_TEST

START_TEST(one_connection_asks_as_often_as_it_likes)
{
	struct client *client = dial(0);
	unsigned i;

	for (i = 0; i < 300; i++) {
		if (i % 3 == 0)
			post(client, "/echo", 9);
		else
			get(client, i % 3 == 1 ? "/echo" : "/pieces");
		await(client, i % 3 == 0   ? "9:bbbbbbbbb"
			      : i % 3 == 1 ? " 0:"
					   : "0\r\n\r\n");
	}
	ck_assert_uint_eq(t.asked, 300);
	/* Several at once, too. */
	get(client, "/echo");
	get(client, "/pieces");
	get(client, "/twice");
	ck_assert_has(await(client, "first"), "three");
}
END_TEST

START_TEST(an_answer_may_have_no_body)
{
	struct client *client = dial(0);
	const char *said;

	get(client, "/nothing");
	said = await(client, "\r\n\r\n");
	ck_assert_has(said, "HTTP/1.1 204 ");
	ck_assert_has_not(said, "Content-Type:");
}
END_TEST

START_TEST(the_first_answer_counts)
{
	struct client *client = dial(0);

	get(client, "/twice");
	ck_assert_has_not(await(client, "first"), "second");
}
END_TEST

START_TEST(no_answer_is_an_error)
{
	struct client *client = dial(0);

	get(client, "/forget");
	ck_assert_has(await(client, "No answer."), "HTTP/1.1 500 ");
}
END_TEST

START_TEST(head_has_the_head_alone)
{
	struct client *client = dial(0);
	const char *said;

	send_text(client, "HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n");
	said = await(client, "\r\n\r\n");
	ck_assert_has(said, "HTTP/1.1 200 OK\r\n");
	ck_assert_has(said, "\r\nContent-Length: 20\r\n");
	ck_assert_has_not(said, "HEAD /echo");
	send_text(client, "HEAD /pieces HTTP/1.1\r\nHost: x\r\n\r\n");
	ck_assert_has_not(await(client, "\r\n\r\n"), "one");
	send_text(client, "HEAD /flood HTTP/1.1\r\nHost: x\r\n\r\n");
	await(client, "\r\n\r\n");
	loop_run_until(t.loop, all_has_ended, NULL);
	get(client, "/echo");
	await(client, "GET /echo");
}
END_TEST

START_TEST(who_is_not_let_in_is_answered_before_the_body)
{
	struct client *client = dial(0);

	send_text(client, "POST /closed HTTP/1.1\r\nHost: x\r\nContent-Length: "
			  "1000000\r\n\r\nb");
	ck_assert_has(await(client, "no key"), "HTTP/1.1 401 ");
	ck_assert_uint_eq(t.asked, 0);
}
END_TEST

/* --- streams ------------------------------------------------------------------------------ */

START_TEST(a_stream_comes_in_pieces)
{
	struct client *client = dial(0);
	const char *said;

	get(client, "/pieces");
	said = await(client, "0\r\n\r\n");
	ck_assert_has(said, "\r\nTransfer-Encoding: chunked\r\n");
	ck_assert_has(said, "one ");
	ck_assert_has(said, "two ");
	ck_assert_has(said, "three");
}
END_TEST

/* The head, too: nobody waits for what is not there yet. */
START_TEST(a_piece_is_there_at_once)
{
	struct client *client = dial(0);

	get(client, "/hold-stream");
	ck_assert_has(await(client, "begun\n"), "HTTP/1.1 200 OK\r\n");
	ck_assert_ptr_nonnull(t.holder);
	let_go();
	await(client, "0\r\n\r\n");
}
END_TEST

START_TEST(an_old_client_gets_a_stream_to_the_connections_end)
{
	struct client *client = dial(0);

	send_text(client, "GET /pieces HTTP/1.0\r\n\r\n");
	ck_assert_has(await_end(client), "\r\n\r\none two three");
}
END_TEST

static size_t
bytes_come(const struct client *client)
{
	return client->in.size - 1;
}

static bool
has_come_much(void *arg)
{
	return bytes_come(arg) > (8u << 20);
}

/* Else whoever reads slowly would fill our memory. What the kernel takes is beside it. */
START_TEST(who_does_not_read_is_waited_for)
{
	struct client *client = dial(0);
	size_t written;

	set_reading(client, false);
	get(client, "/flood");
	do {
		written = t.written;
		run_a_little();
	} while (written != t.written || t.asked == 0);
	ck_assert_uint_eq(t.ended, 0);
	ck_assert_uint_lt(written, 64u << 20);
	set_reading(client, true);
	loop_run_until(t.loop, has_come_much, client);
	ck_assert_uint_gt(t.written, written);
	set_reading(client, false);
	hang_up(client);
	loop_run_until(t.loop, all_has_ended, NULL);
	ck_assert_uint_eq(t.cancelled, 1);
	ck_assert_uint_eq(t.gone, 1);
}
END_TEST

static bool
has_written_all(void *arg)
{
	(void)arg;
	return t.ended == 1;
}

START_TEST(all_of_a_long_stream_comes)
{
	struct client *client = dial(0);
	const char *said;
	size_t count = 0;

	get(client, "/much");
	loop_run_until(t.loop, has_written_all, NULL);
	ck_assert_uint_eq(t.written, 32 * PIECE);
	for (said = await(client, "0\r\n\r\n"); *said != '\0'; said++)
		count += *said == 'x';
	ck_assert_uint_ge(count, 32 * PIECE); /* and that of the head */
	ck_assert_uint_le(count, 32 * PIECE + 10);
}
END_TEST

/* --- who goes away ------------------------------------------------------------------------ */

START_TEST(who_hangs_up_in_a_stream_has_its_fiber_cancelled)
{
	struct client *client = dial(0);

	get(client, "/hold-stream");
	await(client, "begun\n");
	hang_up(client);
	loop_run_until(t.loop, all_has_ended, NULL);
	ck_assert_uint_eq(t.cancelled, 1);
	ck_assert_uint_eq(t.gone, 1);
}
END_TEST

/* As a browser does whose page goes: some that ask are gone, the others are none the worse. */
START_TEST(who_hangs_up_disturbs_nobody)
{
	struct client *one = dial(0), *other = dial(1);

	get(one, "/flood");
	get(other, "/hold-stream");
	await(other, "begun\n");
	hang_up(one);
	one = dial(0);
	get(one, "/echo");
	await(one, "GET /echo");
	let_go();
	await(other, "0\r\n\r\n");
	loop_run_until(t.loop, all_has_ended, NULL);
	ck_assert_uint_eq(t.ended, 3);
}
END_TEST

START_TEST(who_hangs_up_before_the_answer_gets_none)
{
	struct client *client = dial(0);

	get(client, "/hold");
	loop_run_until(t.loop, has_held, NULL);
	hang_up(client);
	run_a_little();
	let_go();
	loop_run_until(t.loop, all_has_ended, NULL);
	client = dial(0);
	get(client, "/echo");
	await(client, "GET /echo");
}
END_TEST

START_TEST(who_hangs_up_in_a_body_has_asked_nothing)
{
	struct client *client = dial(0);

	send_text(
	    client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab");
	run_a_little();
	hang_up(client);
	client = dial(1);
	get(client, "/echo");
	await(client, "GET /echo");
	ck_assert_uint_eq(t.asked, 1);
}
END_TEST

/* --- what is too much --------------------------------------------------------------------- */

START_TEST(a_body_over_the_bound_is_refused)
{
	struct client *client = dial(0);

	post(client, "/echo", BODY_MAX);
	ck_assert_has(await(client, "10000:bbb"), "HTTP/1.1 200 ");
	client = dial(1);
	post(client, "/echo", BODY_MAX + 1);
	ck_assert_has(await(client, "The body is too large."), "HTTP/1.1 413 ");
	ck_assert_uint_eq(t.asked, 1);
}
END_TEST

/* One that says it in advance, and one that does not. */
START_TEST(a_body_without_a_size_has_the_bound_too)
{
	struct client *client = dial(0);

	send_text(client, arena_printf(t.arena,
			      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
			      "chunked\r\n\r\n2711\r\n%s\r\n0\r\n\r\n",
			      repeated(t.arena, "b", 0x2711)));
	ck_assert_has(await(client, "The body is too large."), "HTTP/1.1 413 ");
}
END_TEST

/* While the first one's is held, there is no room for a second. */
START_TEST(all_bodies_together_have_a_bound)
{
	struct client *one = dial(0), *other = dial(1);

	post(one, "/hold", BODY_MAX);
	loop_run_until(t.loop, has_held, NULL);
	post(other, "/echo", BODY_MAX);
	ck_assert_has(await(other, "Too much is going on."), "HTTP/1.1 503 ");
	let_go();
	await(one, "let go");
	other = (hang_up(other), dial(1));
	post(other, "/echo", BODY_MAX);
	await(other, "10000:bbb");
}
END_TEST

START_TEST(a_head_over_the_bound_is_refused)
{
	struct client *client = dial(0);

	send_text(client,
	    arena_printf(t.arena, "GET /echo HTTP/1.1\r\nHost: x\r\nX-Mine: %s\r\n\r\n",
		repeated(t.arena, "h", HEAD_MAX)));
	await(client, "HTTP/1.1 431 ");
	ck_assert_uint_eq(t.asked, 0);
}
END_TEST

/* They wait in the kernel. */
START_TEST(connections_over_the_bound_are_served_later)
{
	struct client *clients[CLIENTS];
	unsigned i;

	for (i = 0; i < CLIENTS; i++) {
		clients[i] = dial(i);
		get(clients[i], "/echo");
	}
	for (i = 0; i < 3; i++)
		await(clients[i], "GET /echo");
	run_a_little();
	ck_assert_uint_eq(t.asked, 3);
	for (i = 0; i < 3; i++)
		hang_up(clients[i]);
	await(clients[3], "GET /echo");
}
END_TEST

/* --- who is slow -------------------------------------------------------------------------- */

static void
serve_quickly(void)
{
	end_server();
	t.options.request_ms = 300;
	serve();
}

START_TEST(a_request_that_does_not_come_is_cut_off)
{
	static const char *const slow[] = {
		"",
		"GET /echo HTTP/1.1\r\nHo",
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
	};
	unsigned i;

	serve_quickly();
	for (i = 0; i < 3; i++)
		send_text(dial(i), slow[i]);
	for (i = 0; i < 3; i++)
		await_end(&t.clients[i]);
	ck_assert_uint_eq(t.asked, 0);
}
END_TEST

/* One that is cut off before it has asked comes again. */
START_TEST(who_does_not_take_an_answer_is_cut_off)
{
	serve_quickly();
	do {
		hang_up(&t.clients[0]);
		dial(0);
		set_reading(&t.clients[0], false);
		get(&t.clients[0], "/flood");
		run_a_little();
	} while (t.asked == 0);
	loop_run_until(t.loop, all_has_ended, NULL);
	ck_assert_uint_eq(t.cancelled, t.asked);
}
END_TEST

/* An answer that takes its time is not the fault of who waits for it. */
START_TEST(who_waits_is_not_slow)
{
	struct client *client, *other;

	serve_quickly();
	client = dial(0);
	get(client, "/hold");
	loop_run_until(t.loop, has_held, NULL);
	other = dial(1); /* which is cut off, so that time has passed */
	await_end(other);
	let_go();
	await(client, "let go");
}
END_TEST

START_TEST(who_reads_a_stream_that_is_silent_is_not_slow)
{
	struct client *client, *other;

	serve_quickly();
	client = dial(0);
	get(client, "/hold-stream");
	await(client, "begun\n");
	other = dial(1);
	await_end(other);
	ck_assert_uint_eq(t.cancelled, 0);
	let_go();
	await(client, "0\r\n\r\n");
}
END_TEST

/* --- nonsense ----------------------------------------------------------------------------- */

static const char *const nonsense[] = {
	"\r\n\r\n\r\n",
	"\xff\xfe nonsense\r\n\r\n",
	"GET\r\n\r\n",
	"GET /echo HTTP/9.9\r\nHost: x\r\n\r\n",
	"GET /echo HTTP/1.1\r\n\r\n", /* no Host */
	"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
	"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
	"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	"GET /%00%ff%zz?%00=%&&&=%x HTTP/1.1\r\nHost: x\r\n\r\n",
};

START_TEST(nonsense_harms_nobody)
{
	struct client *client = dial(0), *other = dial(1);

	send_text(client, nonsense[_i]);
	run_a_little();
	get(other, "/echo");
	await(other, "GET /echo");
}
END_TEST

/* --- its end ------------------------------------------------------------------------------ */

/* Those that wait, those that stream, those that do not read, those that have not asked yet. */
START_TEST(who_is_there_at_the_end_is_cut_off)
{
	struct client *clients[3] = { dial(0), dial(1), dial(2) };

	get(clients[0], "/hold-stream");
	await(clients[0], "begun\n");
	set_reading(clients[1], false);
	get(clients[1], "/flood");
	send_text(clients[2], "GET /echo HTTP/1.1\r\nHo");
	run_a_little();
	end_server();
	ck_assert_uint_eq(t.asked, 2);
	ck_assert_uint_eq(t.ended, 2);
	ck_assert_uint_eq(t.cancelled, 2);
	await_end(clients[0]);
	await_end(clients[2]);
}
END_TEST

START_TEST(who_waits_at_the_end_is_cut_off)
{
	struct client *client = dial(0);

	post(client, "/hold", 100);
	loop_run_until(t.loop, has_held, NULL);
	end_server();
	ck_assert_uint_eq(t.cancelled, 1);
	await_end(client);
}
END_TEST

static const struct {
	const char *listen, *words;
	bool is_usage;
} addresses[] = {
	{ "9464", "must be HOST:PORT", true },
	{ "127.0.0.1:", "must be HOST:PORT", true },
	{ "127.0.0.1:65536", "must be HOST:PORT", true },
	{ "192.0.2.1:9464", "Cannot assign requested address", false },
};

START_TEST(an_address_that_is_none_is_refused)
{
	struct http_server_options options = t.options;
	const char *error = "";
	bool is_usage = !addresses[_i].is_usage;

	options.listen = addresses[_i].listen;
	ck_assert_ptr_null(http_server_new(t.loop, &options, &error, &is_usage));
	ck_assert_has(error, addresses[_i].words);
	ck_assert(is_usage == addresses[_i].is_usage);
}
END_TEST

TCase *
tcase_http_server(void)
{
	TCase *tcase = tcase_create("http_server");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_request_is_read_and_answered);
	tcase_add_test(tcase, a_request_without_more_has_none);
	tcase_add_test(tcase, a_body_may_come_in_pieces);
	tcase_add_test(tcase, one_connection_asks_as_often_as_it_likes);
	tcase_add_test(tcase, an_answer_may_have_no_body);
	tcase_add_test(tcase, the_first_answer_counts);
	tcase_add_test(tcase, no_answer_is_an_error);
	tcase_add_test(tcase, head_has_the_head_alone);
	tcase_add_test(tcase, who_is_not_let_in_is_answered_before_the_body);
	tcase_add_test(tcase, a_stream_comes_in_pieces);
	tcase_add_test(tcase, a_piece_is_there_at_once);
	tcase_add_test(tcase, an_old_client_gets_a_stream_to_the_connections_end);
	tcase_add_test(tcase, who_does_not_read_is_waited_for);
	tcase_add_test(tcase, all_of_a_long_stream_comes);
	tcase_add_test(tcase, who_hangs_up_in_a_stream_has_its_fiber_cancelled);
	tcase_add_test(tcase, who_hangs_up_disturbs_nobody);
	tcase_add_test(tcase, who_hangs_up_before_the_answer_gets_none);
	tcase_add_test(tcase, who_hangs_up_in_a_body_has_asked_nothing);
	tcase_add_test(tcase, a_body_over_the_bound_is_refused);
	tcase_add_test(tcase, a_body_without_a_size_has_the_bound_too);
	tcase_add_test(tcase, all_bodies_together_have_a_bound);
	tcase_add_test(tcase, a_head_over_the_bound_is_refused);
	tcase_add_test(tcase, connections_over_the_bound_are_served_later);
	tcase_add_test(tcase, a_request_that_does_not_come_is_cut_off);
	tcase_add_test(tcase, who_does_not_take_an_answer_is_cut_off);
	tcase_add_test(tcase, who_waits_is_not_slow);
	tcase_add_test(tcase, who_reads_a_stream_that_is_silent_is_not_slow);
	tcase_add_loop_test(
	    tcase, nonsense_harms_nobody, 0, sizeof nonsense / sizeof nonsense[0]);
	tcase_add_test(tcase, who_is_there_at_the_end_is_cut_off);
	tcase_add_test(tcase, who_waits_at_the_end_is_cut_off);
	tcase_add_loop_test(tcase, an_address_that_is_none_is_refused, 0,
	    sizeof addresses / sizeof addresses[0]);
	return tcase;
}
