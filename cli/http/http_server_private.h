/* What http_server.c, libmicrohttpd's side, and exchange.c, the owner's side, share of a server. */
#ifndef HTTP_SERVER_PRIVATE_H
#define HTTP_SERVER_PRIVATE_H

#include <microhttpd.h>
#include <sys/queue.h>
#include <uv.h>

#include "http_server.h"

#define HTTP_TOO_MUCH "Too much is going on.\n"

/* A connection. */
struct visitor {
	TAILQ_ENTRY(visitor) link;
	int fd;
	uint64_t since_ms; /* its beginning, last head, or end of the last answer */
	bool is_served;    /* somebody answers: its time is not the visitor's fault */
};

/* A request. Its connection and its fiber use it, each until it ends. */
struct request {
	struct exchange exchange;
	TAILQ_ENTRY(request) link;
	struct http_server *server;
	struct MHD_Connection *connection; /* NULL: gone */
	struct visitor *visitor;
	void *whose;         /* it counts for; NULL: nobody's */
	size_t *own_bodies;  /* of whom counted is among; or NULL */
	struct fiber *fiber; /* that answers; NULL: none, or it has ended */
	uint64_t begun_ms;   /* it was */
	struct packet body;
	size_t counted; /* of body and what was made of it, among the server's */
	size_t
	    answered; /* the same of an answer in one piece, or of what is pending, if that is much */
	size_t kept; /* elsewhere, for a stream, if that is much */
	struct MHD_Response *response;
	unsigned status;
	const struct value *headers; /* [name, value, ...] */
	struct packet pending;       /* of a stream, from taken on */
	size_t taken;
	bool is_stream; /* or large: what is pending is written as it is taken */
	bool is_cut;    /* it was, for who takes what he is given */
	bool is_ended;  /* of a stream: nothing follows */
	bool is_broken; /* and not because that was all: its reader is to see that */
	bool is_queued; /* its answer is libmicrohttpd's */
	bool is_suspended;
	uv_poll_t *watch; /* for who goes away while we wait */
	/* Until it is over, where somebody wants to know of that (request_done.c). */
	char *method, *path;
	unsigned kind;
	uint64_t came_ms;
	uint64_t sent; /* bytes of the answer, of a stream or a large one */
	bool is_whole;
	bool is_gone; /* who asked was, before there was an answer */
};

struct http_server {
	struct loop *loop;
	struct http_server_options options;
	struct MHD_Daemon *daemon;
	TAILQ_HEAD(, visitor) visitors;
	TAILQ_HEAD(, request) requests;
	size_t bodies_bytes, answers_bytes;
	uv_poll_t poll;
	uv_timer_t timer; /* of the daemon's own times, and ours */
	uint64_t look_at; /* for who has gone */
	unsigned open;    /* handles of libuv's */
	bool has_room;    /* a connection was closed */
	bool is_closing;
	char where[128];
};

/* Has the daemon run in the loop's next turn. */
void http_server_run_soon(struct http_server *server);

/* The request that an exchange, its first member, is of. */
static inline struct request *
request_of(const struct exchange *exchange)
{
	return (struct request *)exchange;
}

/* Returns new, in the server's list: of a head that has come. */
struct request *request_new(struct http_server *server, struct MHD_Connection *connection,
    const char *method, const char *path);
/* Counts size more bytes of its body, or of what was made of that. Returns false after answering that this is too much. */
bool request_count(struct request *request, size_t size);
void request_uncount(struct request *request);
/* All of it is there: starts the fiber that answers. */
void request_begin(struct request *request);
void request_answer_text(struct request *request, unsigned status, const char *text);
/* Keeps what is told of it when it is over, and tells it. */
void request_keep(struct request *request);
void request_tell_done(struct request *request);
/* Lets libmicrohttpd go on with its connection, if that was suspended. */
void request_resume(struct request *request);
/* Its connection is gone: its fiber is cancelled. Takes request as soon as nobody uses it. */
void request_leave(struct request *request);

#endif
