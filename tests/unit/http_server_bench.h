/* http_server_bench: the HTTP server on a loop with real sockets, with an owner that answers by the path, and
 * clients that ask. */
#ifndef HTTP_SERVER_BENCH_H
#define HTTP_SERVER_BENCH_H

#include <uv.h>

#include "http_server.h"
#include "value.h"

#define BODY_MAX 10000u
#define HEAD_MAX 8192u
#define CLIENTS 4u
#define PIECE ((size_t)65536)
#define HEAP_END "the end"
#define HEAP (16u << 20) /* of a stream, at once */

/* Who asks: a socket, what is still to be sent, and what has come. */
struct client {
	int fd;
	struct packet out, in; /* in: NUL-terminated */
	size_t sent;
	bool reads, has_ended;
	uv_poll_t *poll;
};

struct http_server_bench {
	struct loop *loop;
	struct arena *arena;
	struct http_server *server;
	struct http_server_options options;
	struct client clients[CLIENTS];
	int segment; /* of a client that is dialled: TCP_MAXSEG, SO_RCVBUF; 0: as the kernel has them */
	/* What the owner of the server has seen. */
	unsigned asked, ended, cancelled, gone, waited;
	size_t written;
	struct exchange *held; /* that waits */
	struct fiber *holder;
	bool lets_go;
};

extern struct http_server_bench hs;

/* A checked fixture: a server with those bounds, which waits long. */
void hs_open(void);
void hs_close(void);

/* One with other options than before: between the two. */
void hs_end_server(void);
void hs_serve(void);

/* --- who asks ----------------------------------------------------------------------------- */

struct client *hs_dial(unsigned number);
void hs_hang_up(struct client *client);

void hs_send(struct client *client, const char *text);
void hs_get(struct client *client, const char *path);
void hs_post(struct client *client, const char *path, size_t size);

/* From now on what comes is read, or is not. */
void hs_set_reading(struct client *client, bool reads);

/* --- waiting ------------------------------------------------------------------------------ */

/* Waits until text has come, and empties what has come. Returns all that came. */
const char *hs_await(struct client *client, const char *text);
const char *hs_await_end(struct client *client);

/* For loop_run_until. */
bool hs_has_held(void *arg);
bool hs_all_have_ended(void *arg);

/* Lets go on what goes on by itself. */
void hs_run_a_little(void);

/* Who holds answers. */
void hs_let_go(void);

#endif
