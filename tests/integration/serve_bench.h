/* serve_bench: a fleet, with `flotilla serve` beside it, asked over HTTP. What goes wrong ends the test with a message. Texts
 * and values are in the fleet's arena; bodies have ' for ". */
#ifndef SERVE_BENCH_H
#define SERVE_BENCH_H

#include "fleet_up.h"

/* What the agent `talker` says after it has called a tool, word by word. */
#define SERVE_TALK                                                                       \
	"Once there was a small boat that carried letters from one island to the next, " \
	"and whoever waited for one stood at the shore in the evening and looked out."

/* The one of a test's process. */
extern struct serve_bench {
	struct fleet_up fleet;
	struct cli_job *server;
	const char *url; /* "http://127.0.0.1:PORT" */
} serve_bench;

/* Fixtures of a case: a fleet, with agents more, and a server. */
void serve_open(void);
/* The same, with these flags of `flotilla up` more (NULL-ended). */
void serve_open_with(const char *const *flags);
void serve_close(void);

/* Starts another one, with these flags behind --listen (NULL-ended, or NULL); returns its URL. */
const char *serve_start(struct cli_job **server_r, const char *const *flags);
/* Ends it by SIGTERM, which it must take well. */
void serve_stop(struct cli_job **server_p);

/* Returns text with " for ', formatted. */
const char *serve_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends a request by a connection of its own, which takes little that is not read; returns its descriptor. head: "POST /path". */
int serve_dial(const char *url, const char *head, const char *body);

/* A frame of a stream. */
struct serve_frame {
	const char *event, *id, *text;
	const struct value *data;
};

struct serve_question {
	const char *url;    /* NULL: the bench's server */
	const char *method; /* NULL: GET, or POST where there is a body */
	const char *path, *body;
	const char *headers[4]; /* "Name: value"; up to the first NULL */
	/* Gets each frame of a stream as it comes; false: hangs up. Not given: the body is no stream. */
	bool (*on_frame)(void *arg, const struct serve_frame *frame);
	void *arg;
};

struct serve_answer {
	long status; /* 0: there was none, or it broke off before its head */
	bool is_whole;
	const char *head, *body;
	const struct value *json; /* of the body; NULL: it is none */
};
struct serve_answer serve_ask(struct serve_question question);
#define ASK(...) serve_ask((struct serve_question){ __VA_ARGS__ })
/* What a run is begun with, in a body. */
#define HI "'input': {'messages': [{'role': 'user', 'content': 'Hi'}]}"

/* Asks, requires that status, and returns the body's JSON. */
const struct value *serve_get(const char *path, long status);
const struct value *serve_post(const char *path, const char *body, long status);
/* The value of a header of an answer, or NULL. */
const char *serve_header(const struct serve_answer *answer, const char *name);

/* Makes a thread; returns its id. */
const char *serve_thread(void);
/* How many threads there are. */
int64_t serve_thread_count(void);
/* Begins a run on thread, with more keys in its body ("" or "'key': value"); returns its id. */
const char *serve_run(const char *thread, const char *agent, const char *keys);
/* Waits until it has ended; returns its status. */
const char *serve_run_end(const char *thread, const char *run);
/* Waits until the run has that status. */
void serve_run_wait(const char *thread, const char *run, const char *status);

/* The text of the last message of a state's values. */
const char *serve_last_text(const struct value *values);

void serve_pause(void); /* between two looks */
#define SERVE_LOOKS 3000

#endif
