#include "coordinator.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>
#include <zmq.h>

#include "floor.h"
#include "memory.h"

#define LIBRARY "bench/floor/commit.lua"
#define LIBRARY_BYTES_MAX 4096
#define COMMITS 8u /* of a run: a message each */
#define KEY_BYTES 32u
#define CHECK_BATCH 100u
#define FIRST_MESSAGE                                                                    \
	"{\"role\":\"user\",\"content\":\"What is three times seventeen? Work it out, "  \
	"then check it twice.\"}"

struct run {
	uint16_t step;     /* commits that Redis has, or is asked for */
	char *thread;      /* its messages, with commas between them */
	size_t size, last; /* where the last message begins */
	double begin_ms;
};

struct coordinator {
	void *socket;
	redisContext *redis;
	uint32_t first; /* number of the first run of this round: part of the keys */
	struct run *runs;
	size_t count, begun, ended, called;
	uint32_t *commits; /* whose answers are awaited, in order: a ring */
	size_t commit_head, commit_tail;
	double *latencies_ms;
};

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct run *
run_of(const struct coordinator *coordinator, uint32_t number)
{
	return &coordinator->runs[number - coordinator->first];
}

/* --- a run's way ------------------------------------------------------------------------- */

static void
append_message(struct run *run, const void *message, size_t size)
{
	run->thread = xreallocarray(run->thread, run->size + size + 2, 1);
	if (run->size > 0)
		run->thread[run->size++] = ',';
	run->last = run->size;
	memcpy(run->thread + run->size, message, size);
	run->size += size;
}

/* An odd step answers to the model's message, an even one calls the model. */
static const char *
node_behind(const struct run *run)
{
	if (run->step == COMMITS)
		return "end";
	return run->step % 2 == 1 ? "model" : "tools";
}

/* Goes out with all others that are ready. */
static void
commit(struct coordinator *coordinator, uint32_t number, const char *message, size_t size)
{
	struct run *run = run_of(coordinator, number);
	char key[KEY_BYTES], messages[KEY_BYTES];
	const char *words[] = { "FCALL", "floor_commit", "2", key, messages, "1", NULL,
		NULL };
	size_t sizes[8];
	int i;

	append_message(run, message, size);
	run->step++;
	words[6] = node_behind(run);
	words[7] = run->thread + run->last;
	snprintf(key, sizeof key, "t:%u", number);
	snprintf(messages, sizeof messages, "t:%u:m", number);
	for (i = 0; i < 7; i++)
		sizes[i] = strlen(words[i]);
	sizes[7] = size;
	redisAppendCommandArgv(coordinator->redis, 8, words, sizes);
	coordinator->commits[coordinator->commit_head++ % coordinator->count] = number;
}

static void
begin(struct coordinator *coordinator)
{
	uint32_t number = coordinator->first + (uint32_t)coordinator->begun++;

	run_of(coordinator, number)->begin_ms = now_ms();
	commit(coordinator, number, FIRST_MESSAGE, sizeof FIRST_MESSAGE - 1);
}

static void
end(struct coordinator *coordinator, struct run *run)
{
	if (coordinator->latencies_ms != NULL)
		coordinator->latencies_ms[coordinator->ended] = now_ms() - run->begin_ms;
	coordinator->ended++;
	free(run->thread);
	run->thread = NULL;
	if (coordinator->begun < coordinator->count)
		begin(coordinator);
}

static void
dispatch(struct coordinator *coordinator, uint32_t number)
{
	const struct run *run = run_of(coordinator, number);
	bool model = run->step % 2 == 1;
	const struct floor_envelope envelope = {
		.kind = FLOOR_CALL,
		.service = model ? FLOOR_MODEL : FLOOR_TOOLS,
		.step = run->step,
		.run = number,
	};

	coordinator->called++;
	if (model)
		floor_send(coordinator->socket, &envelope, run->thread, run->size);
	else
		floor_send(coordinator->socket, &envelope, run->thread + run->last,
		    run->size - run->last);
}

static void
on_result(struct coordinator *coordinator, const char *data, size_t size)
{
	struct floor_envelope envelope;

	memcpy(&envelope, data, sizeof envelope);
	if (envelope.step != run_of(coordinator, envelope.run)->step)
		errx(EXIT_FAILURE, "a result of another step");
	commit(coordinator, envelope.run, data + sizeof envelope, size - sizeof envelope);
}

static void
on_committed(struct coordinator *coordinator, const redisReply *reply)
{
	uint32_t number =
	    coordinator->commits[coordinator->commit_tail++ % coordinator->count];
	struct run *run = run_of(coordinator, number);

	if (reply->type != REDIS_REPLY_STATUS)
		errx(EXIT_FAILURE, "a commit: %s", reply->str);
	if (run->step == COMMITS)
		end(coordinator, run);
	else
		dispatch(coordinator, number);
}

/* --- the loop ---------------------------------------------------------------------------- */

static void
take_results(struct coordinator *coordinator)
{
	zmq_msg_t message;

	zmq_msg_init(&message);
	while (zmq_msg_recv(&message, coordinator->socket, ZMQ_DONTWAIT) != -1)
		on_result(coordinator, zmq_msg_data(&message), zmq_msg_size(&message));
	zmq_msg_close(&message);
}

static void
flush(const struct coordinator *coordinator)
{
	int done = 0;

	while (!done)
		if (redisBufferWrite(coordinator->redis, &done) == REDIS_ERR)
			errx(EXIT_FAILURE, "Redis: %s", coordinator->redis->errstr);
}

static void
take_replies(struct coordinator *coordinator)
{
	redisReply *reply;

	if (redisBufferRead(coordinator->redis) == REDIS_ERR)
		errx(EXIT_FAILURE, "Redis: %s", coordinator->redis->errstr);
	while (redisGetReplyFromReader(coordinator->redis, (void **)&reply) == REDIS_OK &&
	       reply != NULL) {
		on_committed(coordinator, reply);
		freeReplyObject(reply);
	}
}

static void
turn(struct coordinator *coordinator)
{
	zmq_pollitem_t items[] = {
		{ .socket = coordinator->socket, .events = ZMQ_POLLIN },
		{ .fd = coordinator->redis->fd, .events = ZMQ_POLLIN },
	};

	flush(coordinator);
	if (zmq_poll(items, 2, -1) == -1)
		errx(EXIT_FAILURE, "poll: %s", zmq_strerror(zmq_errno()));
	if (items[0].revents != 0)
		take_results(coordinator);
	if (items[1].revents != 0)
		take_replies(coordinator);
}

static void
new_round(struct coordinator *coordinator, size_t runs)
{
	coordinator->first += (uint32_t)coordinator->count;
	free(coordinator->runs);
	free(coordinator->commits);
	coordinator->runs = xcalloc(runs, sizeof *coordinator->runs);
	coordinator->commits = xcalloc(runs, sizeof *coordinator->commits);
	coordinator->count = runs;
	coordinator->begun = coordinator->ended = coordinator->called = 0;
	coordinator->commit_head = coordinator->commit_tail = 0;
}

double
coordinator_run(
    struct coordinator *coordinator, size_t runs, size_t in_flight, double *latencies_ms)
{
	double begin_ms = now_ms();

	new_round(coordinator, runs);
	coordinator->latencies_ms = latencies_ms;
	while (coordinator->begun < runs && coordinator->begun < in_flight)
		begin(coordinator);
	while (coordinator->ended < runs)
		turn(coordinator);
	return (now_ms() - begin_ms) / 1e3;
}

void
coordinator_begin(struct coordinator *coordinator, size_t runs)
{
	new_round(coordinator, runs);
	while (coordinator->begun < runs)
		begin(coordinator);
	while (coordinator->called < runs)
		turn(coordinator);
}

/* --- checking ---------------------------------------------------------------------------- */

static bool
is_right(const redisReply *messages)
{
	static const char *const roles[COMMITS] = { "user", "assistant", "tool",
		"assistant", "tool", "assistant", "tool", "assistant" };
	char role[KEY_BYTES];
	size_t i;

	if (messages->type != REDIS_REPLY_ARRAY || messages->elements != COMMITS)
		return false;
	for (i = 0; i < COMMITS; i++) {
		const char *text = messages->element[i]->str;

		snprintf(role, sizeof role, "\"role\":\"%s\"", roles[i]);
		if (strstr(text, role) == NULL)
			return false;
		if (strcmp(roles[i], "tool") == 0 &&
		    strstr(text, "\"content\":\"" FLOOR_TOOL_ANSWER "\"") == NULL)
			return false;
	}
	return true;
}

static redisReply *
reply_of(redisContext *redis)
{
	void *reply;

	if (redisGetReply(redis, &reply) == REDIS_ERR)
		errx(EXIT_FAILURE, "Redis: %s", redis->errstr);
	return reply;
}

static size_t
check_some(const struct coordinator *coordinator, size_t from, size_t to)
{
	size_t wrong = 0, i;

	for (i = from; i < to; i++) {
		redisAppendCommand(coordinator->redis, "HGET t:%u head",
		    coordinator->first + (unsigned)i);
		redisAppendCommand(coordinator->redis, "LRANGE t:%u:m 0 -1",
		    coordinator->first + (unsigned)i);
	}
	for (i = from; i < to; i++) {
		redisReply *head = reply_of(coordinator->redis);
		redisReply *messages = reply_of(coordinator->redis);

		if (head->type != REDIS_REPLY_STRING || strcmp(head->str, "end") != 0 ||
		    !is_right(messages))
			wrong++;
		freeReplyObject(head);
		freeReplyObject(messages);
	}
	return wrong;
}

size_t
coordinator_check(struct coordinator *coordinator)
{
	size_t wrong = 0, from;

	for (from = 0; from < coordinator->count; from += CHECK_BATCH) {
		size_t to = from + CHECK_BATCH;

		wrong += check_some(
		    coordinator, from, to < coordinator->count ? to : coordinator->count);
	}
	return wrong;
}

/* --- life -------------------------------------------------------------------------------- */

static void
load_library(redisContext *redis)
{
	char text[LIBRARY_BYTES_MAX];
	FILE *file = fopen(LIBRARY, "re");
	redisReply *reply;
	size_t size;

	if (file == NULL)
		err(EXIT_FAILURE, "%s", LIBRARY);
	size = fread(text, 1, sizeof text, file);
	fclose(file);
	reply = redisCommand(redis, "FUNCTION LOAD REPLACE %b", text, size);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		errx(EXIT_FAILURE, "%s: %s", LIBRARY,
		    reply == NULL ? redis->errstr : reply->str);
	freeReplyObject(reply);
}

struct coordinator *
coordinator_new(const char *redis_path, const char *endpoint)
{
	struct coordinator *coordinator = xcalloc(1, sizeof *coordinator);

	coordinator->redis = redisConnectUnix(redis_path);
	if (coordinator->redis == NULL || coordinator->redis->err != 0)
		errx(EXIT_FAILURE, "%s does not answer", redis_path);
	load_library(coordinator->redis);
	coordinator->socket = floor_dealer(endpoint, "coor");
	return coordinator;
}

void
coordinator_destroy(struct coordinator **coordinator_p)
{
	struct coordinator *coordinator = *coordinator_p;
	size_t i;

	for (i = 0; i < coordinator->count; i++)
		free(coordinator->runs[i].thread);
	free(coordinator->runs);
	free(coordinator->commits);
	redisFree(coordinator->redis);
	zmq_close(coordinator->socket);
	free(coordinator);
	*coordinator_p = NULL;
}
